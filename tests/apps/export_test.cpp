// runnel export after runnel quantize: the target goes from one to the other.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// The bundled model was quantized by the build, for the ESP32; nobody says so again.
TEST(ExportVerb, TheTargetIsThatOfQuantize) {
  const runnel::test::TemporaryFolder folder;
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--chunk", "4"}}) {
    const std::string out = folder.path() / "digits.espdl";
    std::vector<std::string> arguments = {"export", model(), "-o", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_THAT(call_well(arguments).err, HasSubstr("operators for c, "));
    EXPECT_THAT(call_well({"check", out}).out, HasSubstr("\"exact\":true"));
  }
}

TEST(ExportVerb, AWarmUpThatIsTooShortOrHasNoChunkIsRefused) {
  const runnel::test::TemporaryFolder folder;
  refusal({"export", model(), "-o", folder.path() / "a.espdl", "--warm-up", "3"}, "expected --chunk, too");
  EXPECT_TRUE(names_in(folder.path()).empty());
}

// A network with strides and padding between its layers.
TEST(ExportVerb, StridedNetworksWithInnerPaddingStreamWithAWarmUp) {
  RUNNEL_NEEDS_DATA();
  const runnel::test::TemporaryFolder folder;
  const auto file = [&](const char* name) { return (folder.path() / name).string(); };
  const auto data = [](const char* name) { return (runnel::test::data_folder() / name).string(); };
  call_well({"quantize", data("trained/M1s.onnx"), "--shape", "feats=1x40x98", "--calib",
             data("trained/calib_64_fbank_norm.f32"), "--clips", "8", "--methods", "none", "--target",
             "esp32", "-o", file("m1s.rnl"), "--quiet"});
  refusal({"export", file("m1s.rnl"), "-o", file("no.espdl"), "--chunk", "2"},
          "cannot be written as .espdl for c");
  refusal({"export", file("m1s.rnl"), "-o", file("no.espdl"), "--chunk", "2", "--warm-up", "1"},
          "cannot be written as .espdl for c");
  const Output output =
      call_well({"export", file("m1s.rnl"), "-o", file("m1s.espdl"), "--chunk", "2", "--warm-up", "100"});
  EXPECT_THAT(output.err, HasSubstr("frames are warm-up; of a whole recording's result the first"));
  EXPECT_THAT(call_well({"check", file("m1s.espdl")}).out, HasSubstr("\"exact\":true"));
  EXPECT_FALSE(fs::exists(file("no.espdl")));
}

}  // namespace
}  // namespace runnel::apps::test
