#include "tests/support/wav.h"

#include <cstring>

#include "tests/support/data.h"

namespace runnel::test {

std::vector<float> Wav::floats() const {
  std::vector<float> out;
  out.reserve(samples.size());
  for (const std::int16_t sample : samples) out.push_back(static_cast<float>(sample) / 32768.0F);
  return out;
}

Wav read_wav(const std::filesystem::path& path) {
  const std::vector<std::byte> file = read_file(path);
  Wav wav;
  const auto number = [&](std::size_t at, int bytes) {
    std::uint32_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | static_cast<std::uint32_t>(file[at + static_cast<std::size_t>(i)]);
    return value;
  };
  const auto is = [&](std::size_t at, const char* name) { return std::memcmp(file.data() + at, name, 4) == 0; };
  if (file.size() < 12 || !is(0, "RIFF") || !is(8, "WAVE")) {
    ADD_FAILURE() << path << " is not a WAVE file";
    return wav;
  }
  for (std::size_t at = 12; at + 8 <= file.size();) {
    const std::size_t size = std::min<std::size_t>(number(at + 4, 4), file.size() - at - 8);
    if (is(at, "fmt ") && size >= 16) {
      if (number(at + 8, 2) != 1 || number(at + 10, 2) != 1 || number(at + 22, 2) != 16) {
        ADD_FAILURE() << path << " is not 16-bit mono PCM";
        return {};
      }
      wav.rate = static_cast<int>(number(at + 12, 4));
    } else if (is(at, "data")) {
      wav.samples.resize(size / 2);
      if (!wav.samples.empty()) std::memcpy(wav.samples.data(), file.data() + at + 8, wav.samples.size() * 2);
    }
    at += 8 + size + (size & 1);
  }
  return wav;
}

}  // namespace runnel::test
