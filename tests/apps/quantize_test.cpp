// runnel quantize: recordings and a float model in, an integer model that proves itself out.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kFrontEnd = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600";

class QuantizeVerb : public testing::Test {
 protected:
  static std::string data(const std::string& name) { return (runnel::test::data_folder() / name).string(); }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  // A few of the calibration recordings.
  std::string recordings(int count) const {
    const fs::path to = folder_.path() / "calib";
    fs::create_directories(to);
    for (const auto& entry : fs::directory_iterator(data("digits/calib_wav"))) {
      if (count-- > 0) fs::create_symlink(entry.path(), to / entry.path().filename());
    }
    return to.string();
  }
  Output refused(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "quantize");
    arguments.insert(arguments.end(), {"-o", file("bad.rnl"), "--quiet"});
    const Output output = call(arguments);
    EXPECT_EQ(output.exit_code, 1) << output.err;
    EXPECT_FALSE(fs::exists(file("bad.rnl")));
    EXPECT_FALSE(fs::exists(file("bad.rnl.part")));
    return output;
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(QuantizeVerb, RecordingsThroughTheFrontEndThatTheModelKeeps) {
  RUNNEL_NEEDS_DATA();
  const Output output = call_well({"quantize", data("digits/digits.onnx"), "--calib", recordings(12), "--frontend", kFrontEnd, "--without", "search", "--without", "equalize", "-o", file("digits.rnl"),
                                   "--report", file("report.json"), "--decision", "detect mode=clip", "--target", "esp32p4", "--quiet"});
  EXPECT_THAT(output.err, HasSubstr("methods used: round, bias"));
  const Json report = Json::parse(std::ifstream(file("report.json")), nullptr, false);
  EXPECT_LT(report["outputs"][0]["noise_to_signal"].get<double>(), 0.03);
  EXPECT_EQ(report["operators"].size(), 15u);
  const Json checked = Json::parse(call_well({"check", file("digits.rnl")}).out, nullptr, false);
  EXPECT_EQ(checked["exact"], true) << checked.dump();
  EXPECT_THAT(call_well({"inspect", file("digits.rnl")}).out, testing::AllOf(HasSubstr("fbank preset=kaldi"), HasSubstr("num_mel_bins=40"), HasSubstr("preemphasis_coefficient=0.97")));
  // The model decides on recordings with what it carries.
  call_well({"batch", file("digits.rnl"), data("digits/calib_wav"), "-o", file("out.jsonl")});
  EXPECT_GT(fs::file_size(file("out.jsonl")), 1000u);
}

TEST_F(QuantizeVerb, ArraysAndAccuracyOfFloatIntegersAndStream) {
  RUNNEL_NEEDS_DATA();
  const Output output = call_well({"quantize", data("trained/M3.onnx"), "--shape", "feats=1x40x98", "--calib", data("trained/calib_64_fbank_norm.f32"), "--clips", "16", "--with", "round", "--without", "search",
                                   "-o", file("m3.rnl"), "--eval", data("trained/eval_300_fbank_norm.f32"), "--labels", data("trained/labels.csv"), "--quiet"});
  EXPECT_THAT(output.err, HasSubstr("evaluation: 300 clips, correct: float 261, quantized 2"));
  EXPECT_THAT(output.err, HasSubstr("streamed 2"));
  EXPECT_EQ(output.out, "");
}

TEST_F(QuantizeVerb, BadInputsGiveSentencesAndNoFile) {
  RUNNEL_NEEDS_DATA();
  const std::string model = data("trained/M1.onnx"), calibration = data("trained/calib_64_fbank_norm.f32");
  EXPECT_THAT(refused({model, "--calib", calibration}).err, HasSubstr("input feats has no fixed size; give it with --shape"));
  EXPECT_THAT(refused({model, "--calib", calibration, "--shape", "feats=1x40x97"}).err, HasSubstr("expected a multiple of"));
  EXPECT_THAT(refused({model, "--calib", file("nothing")}).err, HasSubstr("there is no such file or folder"));
  EXPECT_THAT(refused({model, "--calib", calibration, "--shape", "feats=1x40x98", "--target", "esp8266"}).err, HasSubstr("expected generic, esp32"));
  EXPECT_THAT(refused({model, "--calib", calibration, "--shape", "feats=1x40x98", "--without", "magic"}).err, HasSubstr("expected equalize, round"));
  EXPECT_THAT(refused({model, "--calib", calibration, "--shape", "feats=1x40x98", "--bits-of", "nobody=16", "--without", "search"}).err, HasSubstr("no operator \"nobody\""));
  EXPECT_THAT(refused({model, "--calib", calibration, "--shape", "feats=1x40x98", "--scheme", "affine", "--target", "esp32p4"}).err, HasSubstr("shifts only"));
  EXPECT_THAT(refused({model, "--calib", recordings(2), "--frontend", "fbank preset=kaldi num_mel_bins=23"}).err, HasSubstr("23 values per frame, input feats is"));
  std::ofstream(file("silent.f32"), std::ios::binary) << std::string(40 * 98 * 4 * 3, '\0');
  EXPECT_THAT(refused({model, "--calib", file("silent.f32"), "--shape", "feats=1x40x98"}).err, HasSubstr("silent.f32 clip 0: the same value throughout"));
}

}  // namespace
}  // namespace runnel::apps::test
