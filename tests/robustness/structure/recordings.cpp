#include "tests/robustness/structure/recordings.h"

#include <sndfile.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>

namespace runnel::test {
namespace {

// Written to memory that has a name.
Bytes written(int format, int channels) {
  const int file = memfd_create("recording", 0);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  SF_INFO info{};
  info.samplerate = 16000;
  info.channels = channels;
  info.format = format;
  Bytes bytes;
  if (SNDFILE* const sound = sf_open(path.c_str(), SFM_WRITE, &info); sound != nullptr) {
    sf_set_string(sound, SF_STR_TITLE, "a tone");
    std::vector<float> samples;
    for (int i = 0; i < 400 * channels; ++i) samples.push_back(0.5f * std::sin(0.1f * static_cast<float>(i)));
    sf_writef_float(sound, samples.data(), 400);
    sf_close(sound);
    const off_t size = lseek(file, 0, SEEK_END);
    bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    if (pread(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) bytes.clear();
  }
  close(file);
  return bytes;
}

}  // namespace

std::vector<Recording> recordings() {
  struct Kind {
    const char* name;
    int format, channels;
  };
  static constexpr Kind kKinds[] = {
      {"pcm16.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1},
      {"float.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 2},
      {"ulaw.wav", SF_FORMAT_WAV | SF_FORMAT_ULAW, 1},
      {"adpcm.wav", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, 1},
      {"extensible.wav", SF_FORMAT_WAVEX | SF_FORMAT_PCM_24, 2},
      {"big.wav", SF_ENDIAN_BIG | SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1},
      {"long.wav", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 1},
      {"pcm16.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 1},
      {"float.aiff", SF_FORMAT_AIFF | SF_FORMAT_FLOAT, 1},
      {"pcm16.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16, 1},
      {"pcm16.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 1},
  };
  std::vector<Recording> all;
  for (const Kind& kind : kKinds) {
    Bytes file = written(kind.format, kind.channels);
    if (!file.empty()) all.push_back({kind.name, std::move(file)});
  }
  return all;
}

}  // namespace runnel::test
