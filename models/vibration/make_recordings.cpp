// Calibration recordings for the vibration model: make_vibration_recordings FOLDER writes some of every
// state, from seeds that neither training nor tests use.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "models/vibration/signal.h"

namespace {

using runnel::vibration::kRate;

constexpr std::uint64_t kFirstSeed = 9'000'000;
constexpr int kOfEachState = 12;
constexpr double kSeconds = 4;

// One 16-bit channel, little endian.
bool write_wav(const std::filesystem::path& path, const std::vector<std::int16_t>& samples) {
  std::string bytes;
  const auto put = [&](std::uint32_t value, int count) {
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 255);
  };
  const auto size = static_cast<std::uint32_t>(2 * samples.size());
  bytes += "RIFF";
  put(36 + size, 4);
  bytes += "WAVEfmt ";
  put(16, 4);
  put(1, 2);
  put(1, 2);
  put(kRate, 4);
  put(2 * kRate, 4);
  put(2, 2);
  put(16, 2);
  bytes += "data";
  put(size, 4);
  for (const std::int16_t sample : samples) put(static_cast<std::uint16_t>(sample), 2);
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return out.flush().good();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: make_vibration_recordings FOLDER\n", stderr);
    return 1;
  }
  const std::filesystem::path folder = arguments[1];
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (int i = 0; i < kOfEachState; ++i) {
    for (std::size_t state = 0; state < runnel::vibration::kStates.size(); ++state) {
      const auto path =
          folder / (std::string(runnel::vibration::kStates[state]) + "_" + std::to_string(i) + ".wav");
      const auto seed =
          kFirstSeed + static_cast<std::uint64_t>(i) * runnel::vibration::kStates.size() + state;
      if (write_wav(path, runnel::vibration::signal(state, seed, kSeconds))) continue;
      std::fprintf(stderr, "make_vibration_recordings: %s cannot be written\n", path.c_str());
      return 1;
    }
  }
  return 0;
}
