#include "tests/apps/corpus.h"

#include <gtest/gtest.h>
#include <sndfile.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;

struct Kind {
  const char* extension;
  int format;
  int weight;
};
constexpr Kind kKinds[] = {
    {".wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 40},   {".wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 6},
    {".wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 6},     {".wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 3},
    {".wav", SF_FORMAT_WAV | SF_FORMAT_ULAW, 3},      {".wav", SF_FORMAT_WAVEX | SF_FORMAT_PCM_32, 3},
    {".flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 20}, {".ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 3},
    {".aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 6},  {".au", SF_FORMAT_AU | SF_FORMAT_PCM_16, 4},
    {".w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16, 3},    {".caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16, 3}};
constexpr int kRates[] = {16000, 16000, 16000, 16000, 8000, 8000, 11025, 22050, 32000, 44100, 48000};

class Maker {
 public:
  Maker(const fs::path& folder, unsigned seed) : folder_(folder), random_(seed), noise_(1 << 16) {
    for (float& value : noise_) value = static_cast<float>(random_() % 2001) / 1000 - 1;
  }

  void make(std::int64_t index, std::int64_t count) {
    const fs::path where =
        folder_ / ("speaker" + std::to_string(index % 40)) / ("day" + std::to_string(index / 40 % 7));
    fs::create_directories(where);
    const std::string stem = (where / std::to_string(100000 + index)).string();
    ++facts.recordings;
    if (index % 100 == 57) {
      break_one(stem, static_cast<int>(index / 100 % kWaysToBreak));
      ++facts.broken;
      return;
    }
    const bool longest = index == count / 3, empty = index % 250 == 11;
    const int rate = longest ? 8000 : kRates[random_() % std::size(kRates)];
    const int channels = longest ? 1 : random_() % 12 == 0 ? 6 : random_() % 4 == 0 ? 2 : 1;
    const double seconds = longest ? 1800.0 * std::min(1.0, static_cast<double>(count) / 20000)
                           : empty ? 0
                                   : 0.05 + 1.1 * std::pow(static_cast<double>(random_() % 1000) / 1000, 2.0);
    const Kind& kind = longest || empty ? kKinds[0] : choose();
    const auto frames = static_cast<std::int64_t>(seconds * rate);
    write(stem + kind.extension, kind.format, rate, channels, frames);
    facts.bytes += fs::file_size(stem + kind.extension);
    if (frames == 0) ++facts.empty;
    facts.audio_seconds += static_cast<double>(frames) / rate;
  }

  CorpusFacts facts;

 private:
  const Kind& choose() {
    int sum = 0;
    for (const Kind& kind : kKinds) sum += kind.weight;
    int left = static_cast<int>(random_() % static_cast<unsigned>(sum));
    for (const Kind& kind : kKinds) {
      if (left < kind.weight) return kind;
      left -= kind.weight;
    }
    return kKinds[0];
  }

  void write(const std::string& path, int format, int rate, int channels, std::int64_t frames) {
    SF_INFO info{};
    info.samplerate = rate;
    info.channels = channels;
    info.format = format;
    SNDFILE* const file = sf_open(path.c_str(), SFM_WRITE, &info);
    ASSERT_NE(file, nullptr) << path << ": " << sf_strerror(nullptr);
    std::vector<float> block;
    const double pitch = 120.0 + static_cast<double>(random_() % 400);
    for (std::int64_t at = 0; at < frames; at += rate) {
      const std::int64_t here = std::min<std::int64_t>(rate, frames - at);
      block.assign(static_cast<std::size_t>(here * channels), 0);
      for (std::int64_t i = 0; i < here; ++i) {
        const double t = static_cast<double>(at + i) / rate;
        const double voice = std::max(0.0, std::sin(6.28 * 1.7 * t)) * std::sin(6.28 * pitch * t);
        const auto value =
            static_cast<float>(0.3 * voice) + 0.01F * noise_[static_cast<std::size_t>((at + i) & 0xffff)];
        for (int c = 0; c < channels; ++c)
          block[static_cast<std::size_t>(i * channels + c)] = value / static_cast<float>(1 + c);
      }
      ASSERT_EQ(sf_writef_float(file, block.data(), here), here) << path;
    }
    sf_close(file);
  }

  void break_one(const std::string& stem, int way) {
    const std::string name = stem + ".wav";
    const auto words = tone_words(0.5, 16000);
    const std::string sound(reinterpret_cast<const char*>(words.data()), words.size() * 2);
    const std::string whole = wav_bytes(sound, 16000, 1, 16, 1, static_cast<std::uint32_t>(sound.size()));
    facts.broken_seconds += 0.5;
    switch (way) {
      case 0:
        write_text(name, "");
        break;  // nothing at all
      case 1:
        write_text(name, "these are my notes, not a recording\n");
        break;
      case 2:
        write_text(name, whole.substr(0, 30));
        break;  // ends in its header
      case 3:
        write_text(name, whole.substr(0, whole.size() / 2));
        break;  // ends before its header says
      case 4:
        write_text(name, wav_bytes(std::string(100000, '\1'), 16000, 1, 16, 1, 0));
        break;   // never closed
      case 5: {  // no numbers
        const float nan = std::nanf("");
        write_text(name, wav_bytes(std::string(reinterpret_cast<const char*>(&nan), 4), 16000, 1, 32, 3, 4));
        break;
      }
      case 6: {  // noise
        std::string bytes(3000, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random_());
        write_text(name, "\x7f" + bytes);
        break;
      }
      case 7:
        write_text(name, wav_bytes(sound, 16000, 1, 16, 0x7777, static_cast<std::uint32_t>(sound.size())));
        break;  // an unknown encoding
      case 8:
        write_text(name, wav_bytes(sound, 16000, 0, 16, 1, static_cast<std::uint32_t>(sound.size())));
        break;   // no channels
      case 9: {  // a FLAC that was cut
        const std::string flac = stem + ".flac";
        write(flac, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16000, 1, 8000);
        fs::resize_file(flac, fs::file_size(flac) / 2);
        break;
      }
      case 10:
        fs::create_symlink("nowhere/at-all.wav", name);
        break;
      default:
        ASSERT_EQ(mkfifo(name.c_str(), 0666), 0);
        break;
    }
  }

  fs::path folder_;
  std::mt19937 random_;
  std::vector<float> noise_;
};

}  // namespace

CorpusFacts make_corpus(const fs::path& folder, std::int64_t count, unsigned seed) {
  Maker maker(folder, seed);
  for (std::int64_t i = 0; i < count; ++i) maker.make(i, count);
  return maker.facts;
}

}  // namespace runnel::apps::test
