// Calibration reads its recordings one by one: ten times as many take no more memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

// Peak memory in MiB of the largest child process so far.
double peak_of_children() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

TEST(QuantizeMemory, OfAThousandClipsIsThatOfAHundred) {
  const runnel::test::TemporaryFolder folder;
  const std::vector<std::int16_t> sound = tone_words(2, 16000);
  int written = 0;
  double before = 0;
  for (const int count : {100, 1000}) {
    for (; written < count; ++written) {
      // A second of it, from another place and at another level each time.
      std::vector<std::int16_t> clip(sound.begin() + written * 16, sound.begin() + written * 16 + 16000);
      for (std::int16_t& sample : clip) sample = static_cast<std::int16_t>(sample * (1 + written % 8) / 8);
      char name[32];
      std::snprintf(name, sizeof name, "clip%04d.wav", written);
      std::filesystem::create_directories(folder.path() / "clips");
      write_wav(folder.path() / "clips" / name, clip);
    }
    const Output output = runnel::test::run_program(
        {runnel::test::program(), "quantize", RUNNEL_SOURCE_FOLDER "/models/digits/digits.onnx", "--calib",
         (folder.path() / "clips").string(), "--frontend",
         "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600", "--target", "esp32", "--quiet",
         "-o", (folder.path() / "out.rnl").string()},
        550);
    ASSERT_EQ(output.exit_code, 0) << output.err;
    const double peak = peak_of_children();
    std::printf("peak memory with %d clips: %.0f MiB\n", count, peak);
    EXPECT_LT(peak, 1024) << count << " clips";
    if (count == 100)
      before = peak;
    else
      EXPECT_LT(peak, before + 64) << "from " << before << " MiB";
  }
}

}  // namespace
}  // namespace runnel::apps::test
