#include "tests/bridges/sound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <sstream>

#include "tests/support/data.h"

namespace runnel::bridges::test {

std::string digits() { return RUNNEL_BUILD_FOLDER "/models/digits/digits.rnl"; }

std::vector<std::int16_t> tones(double seconds, int rate) {
  std::vector<std::int16_t> samples;
  for (int i = 0; i < static_cast<int>(seconds * rate); ++i) {
    const double second = i / static_cast<double>(rate);
    const double pitch = 200 + 170 * std::floor(second * 2.5);
    const double loud = second * 2.5 - std::floor(second * 2.5) < 0.6 ? 9000 : 20;
    samples.push_back(static_cast<std::int16_t>(loud * std::sin(2 * std::numbers::pi * pitch * second)));
  }
  return samples;
}

std::string program_hears(const std::filesystem::path& wav, const std::vector<std::string>& more,
                          const std::string& source) {
  std::vector<std::string> call = {runnel::test::program(), "listen", digits(), "--wav", wav.string()};
  call.insert(call.end(), more.begin(), more.end());
  const runnel::test::Output output = runnel::test::run_program(call);
  EXPECT_EQ(output.exit_code, 0) << output.err;
  std::istringstream in(output.out);
  std::string lines;
  for (std::string line; std::getline(in, line);) {
    if (line.find("\"type\":\"event\"") == std::string::npos) continue;
    const std::string path = wav.string();
    if (const std::size_t at = line.find(path); at != std::string::npos)
      line.replace(at, path.size(), source);
    lines += line + "\n";
  }
  return lines;
}

std::string program_hears(const std::vector<std::int16_t>& samples, int rate, int channels) {
  const runnel::test::TemporaryFolder folder;
  const std::filesystem::path wav = folder.path() / "sound.wav";
  write_wav(wav, samples, rate, channels);
  return program_hears(wav, {"--decision", kEager});
}

}  // namespace runnel::bridges::test
