#include "tests/support/wav.h"

#include <cstring>
#include <fstream>

#include "tests/support/data.h"

namespace runnel::test {
namespace {

void append(std::string& bytes, std::uint32_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 255);
}

}  // namespace

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
    for (int i = bytes; i-- > 0;)
      value = value << 8 | static_cast<std::uint32_t>(file[at + static_cast<std::size_t>(i)]);
    return value;
  };
  const auto is = [&](std::size_t at, const char* name) {
    return std::memcmp(file.data() + at, name, 4) == 0;
  };
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

std::string wav_bytes(const std::string& data, int rate, int channels, int bits, int format,
                      std::uint32_t promised) {
  const auto frame = static_cast<std::uint32_t>(channels * bits / 8);
  std::string bytes = "RIFF";
  append(bytes, 36 + promised, 4);
  bytes += "WAVEfmt ";
  append(bytes, 16, 4);
  append(bytes, static_cast<std::uint32_t>(format), 2);
  append(bytes, static_cast<std::uint32_t>(channels), 2);
  append(bytes, static_cast<std::uint32_t>(rate), 4);
  append(bytes, static_cast<std::uint32_t>(rate) * frame, 4);
  append(bytes, frame, 2);
  append(bytes, static_cast<std::uint32_t>(bits), 2);
  bytes += "data";
  append(bytes, promised, 4);
  return bytes + data;
}

void write_wav(const std::filesystem::path& path, const std::vector<std::int16_t>& samples, int rate,
               int channels) {
  const std::string data(reinterpret_cast<const char*>(samples.data()), samples.size() * 2);
  const std::string bytes = wav_bytes(data, rate, channels, 16, 1, static_cast<std::uint32_t>(data.size()));
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace runnel::test
