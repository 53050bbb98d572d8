// 16-bit mono PCM recordings, for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace runnel::test {

struct Wav {
  int rate = 0;
  std::vector<std::int16_t> samples;
  // Divided by 32768.
  [[nodiscard]] std::vector<float> floats() const;
};

// A test failure and an empty result when the file is missing or in another format.
Wav read_wav(const std::filesystem::path& path);

}  // namespace runnel::test
