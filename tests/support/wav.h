// 16-bit PCM recordings, for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace runnel::test {

struct Wav {
  int rate = 0;
  std::vector<std::int16_t> samples;
  // Divided by 32768.
  [[nodiscard]] std::vector<float> floats() const;
};

// Of one channel. A test failure and an empty result when the file is missing or in another format.
Wav read_wav(const std::filesystem::path& path);

// `samples` are interleaved.
void write_wav(const std::filesystem::path& path, const std::vector<std::int16_t>& samples, int rate = 16000,
               int channels = 1);
// The bytes of a recording, for files that are wrong on purpose. `format` 1: integers, 3: floats; `promised`:
// the length of the data that the header says.
std::string wav_bytes(const std::string& data, int rate, int channels, int bits, int format,
                      std::uint32_t promised);

}  // namespace runnel::test
