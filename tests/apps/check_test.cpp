// runnel check: what counts as reproduced, and what it asks of a model.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// ESP-DL's own test allows one step for int16; three of the recorded files need it.
TEST(CheckVerb, OneStepOfInt16IsWhatEspdlAllowsAndThatIsSaid) {
  RUNNEL_NEEDS_DATA();
  for (const char* target : {"c", "esp32s3", "esp32p4"}) {
    const fs::path file =
        runnel::test::data_folder() / ("espdl/tcn/tcn3_" + std::string(target) + "_s16.espdl");
    const Output output = call_well({"check", file, "--target", target});
    const Json found = json_lines(output.out).at(0);
    EXPECT_EQ(found["vectors"]["exact"], 0) << target;
    EXPECT_EQ(found["vectors"]["passed"], 1) << target;
    EXPECT_EQ(found["vectors"]["largest_difference"], 1.0) << target;
    EXPECT_THAT(found["vectors"]["rule"].get<std::string>(), HasSubstr("int16 within 1 step"));
    EXPECT_THAT(output.err,
                HasSubstr("1 of 1 pass (int16 within 1 step and other integers exact, as in ESP-DL's own "
                          "test); largest difference 1"));
  }
}

TEST(CheckVerb, OtherIntegersAreExact) {
  const Json found = json_lines(call_well({"check", model()}).out).at(0);
  EXPECT_EQ(found["vectors"]["rule"], "integers exact");
}

TEST(CheckVerb, ARecordingNeedsAFrontEnd) {
  RUNNEL_NEEDS_DATA();
  const runnel::test::TemporaryFolder folder;
  const std::string bare = folder.path() / "bare.rnl", wav = folder.path() / "a.wav";
  write_wav(wav, tone_words(1, 16000));
  call_well(
      {"import", runnel::test::data_folder() / "trained/M1.onnx", "--shape", "feats=1x40x98", "-o", bare});
  refusal({"check", bare, wav},
          "the model has no front end for " + wav + "; expected one that was stored with it");
  call_well({"check", model(), wav});
}

}  // namespace
}  // namespace runnel::apps::test
