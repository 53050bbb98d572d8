// The digits network, quantized from recordings with every method and by default: decisions, and how long it
// takes. Prints rows for docs/quantization.md.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

class QuantizedDigits : public testing::Test {
 protected:
  void SetUp() override {
    RUNNEL_NEEDS_DATA();
    // Classes of the clips, in the order of their names.
    std::ifstream table(data("labels.csv"));
    std::ofstream labels(file("labels.txt"));
    std::string line;
    std::getline(table, line);
    while (std::getline(table, line)) {
      std::istringstream row(line);
      std::string name, label;
      std::getline(row, name, ',');
      std::getline(row, label, ',');
      labels << label << '\n';
    }
  }
  static std::string data(const std::string& name) {
    return (runnel::test::data_folder() / "digits" / name).string();
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  struct Measured {
    int real = 0, correct = 0;
    double seconds = 0;
  };
  Measured measure(const char* target, const char* bits, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {runnel::test::program(),
                                          "quantize",
                                          data("digits.onnx"),
                                          "--calib",
                                          data("calib_wav"),
                                          "--target",
                                          target,
                                          "--bits",
                                          bits,
                                          "--quiet",
                                          "--frontend",
                                          "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600",
                                          "-o",
                                          file("digits.rnl"),
                                          "--report",
                                          file("report.json"),
                                          "--eval",
                                          data("eval_wav"),
                                          "--labels",
                                          file("labels.txt")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto start = std::chrono::steady_clock::now();
    const Output output = runnel::test::run_program(arguments, 550);
    Measured measured;
    measured.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_EQ(output.exit_code, 0) << output.err;
    const Json report = Json::parse(std::ifstream(file("report.json")), nullptr, false),
               evaluation = report["evaluation"];
    EXPECT_EQ(evaluation["clips"], 300);
    EXPECT_EQ(evaluation["streamed_correct"], evaluation["quantized_correct"]);
    measured.real = evaluation["float_correct"].get<int>();
    measured.correct = evaluation["quantized_correct"].get<int>();
    std::printf("| digits | %s | %s | %.3g | | %d | %d | | %s%s |\n", target, bits,
                evaluation["noise_to_signal"].get<double>(), measured.real, measured.correct,
                more.empty() ? "" : "of all: ", report["methods"].get<std::string>().c_str());
    std::fflush(stdout);
    return measured;
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(QuantizedDigits, ByDefaultAreTimedAndRight) {
  for (const char* target : {"c", "esp32p4"}) {
    const Measured measured = measure(target, "8", {});
    std::printf("digits for %s: %.1f s with its evaluation\n", target, measured.seconds);
    EXPECT_GE(measured.correct + 2, measured.real) << target;
  }
}

TEST_F(QuantizedDigits, WithAllMethodsAreRightInAtMostTwoClipsFewer) {
  const std::vector<std::string> all = {"--with", "all"};
  for (const char* target : {"c", "esp32p4"}) {
    const Measured eight = measure(target, "8", all), sixteen = measure(target, "16", all);
    EXPECT_GE(eight.correct + 2, eight.real) << target;
    EXPECT_GE(sixteen.correct, sixteen.real) << target;
  }
}

}  // namespace
}  // namespace runnel::apps::test
