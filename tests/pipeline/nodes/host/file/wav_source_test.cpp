// Bare samples, pieces of recordings, and files that cannot be read.
#include "pipeline/nodes/host/file/wav_source.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <algorithm>
#include <fstream>

#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using Floats = std::vector<float>;

class WavSourceTest : public testing::Test {
 protected:
  void write_text(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  void write(const std::vector<int>& bytes) const {
    std::string text;
    for (const int byte : bytes) text += static_cast<char>(byte);
    write_text(text);
  }
  std::string source(const std::string& parameters) const {
    return "wav path=" + path_.string() + " " + parameters + " ! keep";
  }
  void keep(const std::string& parameters) const {
    run_graph(source(parameters), {.nodes = test_nodes(), .tick = 1000});
  }
  // Without the name of the file.
  std::string failure(const std::string& parameters) const {
    const std::string sentence = failure_of(source(parameters), {.nodes = test_nodes()}),
                      start = "wav: " + path_.string() + ": ";
    EXPECT_EQ(sentence.substr(0, start.size()), start);
    return sentence.substr(std::min(start.size(), sentence.size()));
  }
  runnel::test::TemporaryFolder folder_;
  fs::path path_ = folder_.path() / "a";
};

TEST_F(WavSourceTest, BareSamplesOfEveryType) {
  constexpr float kLaw = 32124.0F / 32768, kALaw = 32256.0F / 32768, kLeast = 8.0F / 32768;  // ITU-T G.711
  const struct {
    const char* name;
    std::size_t width;
    std::vector<int> bytes;
    Floats values;
  } cases[] = {
      {"u8", 1, {0, 128, 192, 255}, {-1, 0, 0.5F, 127.0F / 128}},
      {"s8", 1, {0x80, 0, 0x40, 0x7F}, {-1, 0, 0.5F, 127.0F / 128}},
      {"s16le", 2, {0, 0x80, 0, 0x40, 1, 0}, {-1, 0.5F, 1.0F / 32768}},
      {"s24le", 3, {0, 0, 0x80, 0, 0, 0x40, 1, 0, 0}, {-1, 0.5F, 1.0F / 8388608}},
      {"s32le", 4, {0, 0, 0, 0x80, 0, 0, 0, 0x40, 1, 0, 0, 0}, {-1, 0.5F, 1.0F / 2147483648.0F}},
      {"f32le", 4, {0, 0, 0, 0x3F, 0, 0, 0, 0xC0}, {0.5F, -2}},
      {"f64le", 8, {0, 0, 0, 0, 0, 0, 0xE0, 0x3F, 0, 0, 0, 0, 0, 0, 0, 0xC0}, {0.5F, -2}},
      {"ulaw", 1, {0xFF, 0x80, 0x00}, {0, kLaw, -kLaw}},
      {"alaw", 1, {0xD5, 0x55, 0xAA, 0x2A}, {kLeast, -kLeast, kALaw, -kALaw}},
  };
  for (const auto& one : cases) {
    std::string name = one.name;
    std::vector<int> bytes = one.bytes;
    for (const bool big : {false, true}) {
      if (big && one.width == 1) continue;
      if (big) {
        name.replace(name.size() - 2, 2, "be");
        for (std::size_t i = 0; i < bytes.size(); i += one.width)
          std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                       bytes.begin() + static_cast<std::ptrdiff_t>(i + one.width));
      }
      write(bytes);
      keep("raw=" + name + " rate=12345 channels=1");
      EXPECT_EQ(Keep::values, one.values) << name;
      EXPECT_EQ(Keep::format.clock.sample_rate, 12345);
      EXPECT_EQ(Keep::format.channels, 1);
    }
  }
}

TEST_F(WavSourceTest, BareSamplesHaveChannelsAndPieces) {
  write({0, 0x10, 0, 0x20, 0, 0x30, 0, 0x40, 0, 0x50, 0, 0x60});
  keep("raw=s16le rate=4 channels=2");
  EXPECT_EQ(Keep::values, (Floats{0.125F, 0.25F, 0.375F, 0.5F, 0.625F, 0.75F}));
  EXPECT_EQ(Keep::format.channels, 2);
  keep("raw=s16le rate=4 channels=2 offset=0.25 duration=0.25");
  EXPECT_EQ(Keep::values, (Floats{0.375F, 0.5F}));
}

TEST_F(WavSourceTest, BareSamplesEndWithAWholeOne) {
  write({0, 0x10, 0, 0x20, 0});
  EXPECT_EQ(failure("raw=s16le rate=4 channels=2"),
            "5 bytes, expected a multiple of the 4 bytes of a sample of all channels "
            "(truncated=accept reads whole ones)");
  keep("raw=s16le rate=4 channels=2 truncated=accept");
  EXPECT_EQ(Keep::values, (Floats{0.125F, 0.25F}));
}

TEST_F(WavSourceTest, BareSamplesNeedAllThatAHeaderWouldSay) {
  write({0, 0x10});
  EXPECT_EQ(failure("raw=s16le"), "raw=s16le rate=0 channels=0, expected all three of them");
  EXPECT_EQ(failure("raw=u8 rate=8000"), "raw=u8 rate=8000 channels=0, expected all three of them");
  EXPECT_EQ(failure("raw=u8 channels=1"), "raw=u8 rate=0 channels=1, expected all three of them");
  for (const char* alone : {"rate=8000", "channels=1"})
    EXPECT_EQ(failure(alone), "rate and channels are those of bare samples, which raw= describes");
}

TEST_F(WavSourceTest, PiecesLieInTheRecording) {
  write_recording(path_, make_samples(8000));
  EXPECT_EQ(failure("offset=0.5"), "the piece is samples 8000 to 8000, the recording has 8000");
  EXPECT_EQ(failure("offset=0.25 duration=0.5"),
            "the piece is samples 4000 to 12000, the recording has 8000");
  keep("offset=0.25 duration=0.29");  // up to 50 ms too long
  EXPECT_EQ(Keep::values.size(), 4000U);
}

// A recording of Vorbis has its length in its last page.
TEST_F(WavSourceTest, PiecesNeedALength) {
  write_recording(path_, make_samples(48000), 16000, 1, SF_FORMAT_OGG | SF_FORMAT_VORBIS);
  fs::resize_file(path_, fs::file_size(path_) / 2);
  EXPECT_EQ(failure("offset=0.5 truncated=accept"), "pieces cannot be read, its length is not known");
}

TEST_F(WavSourceTest, PiecesThatHaveBeenCutOffAreNotFound) {
  write_recording(path_, make_samples(160000), 16000, 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  fs::resize_file(path_, fs::file_size(path_) / 2);
  const std::string sentence = failure("offset=9 truncated=accept");
  EXPECT_EQ(sentence.substr(0, sentence.find(" found")), "sample 144000 cannot be") << sentence;
}

// The first page of a process is no memory.
TEST_F(WavSourceTest, AFileThatCannotBeReadIsNoRecording) {
  path_ = "/proc/self/mem";
  if (!std::ifstream(path_)) GTEST_SKIP() << "SKIPPED: this system does not show its memory";
  EXPECT_EQ(failure(""), "cannot be read: Input/output error");
}

TEST_F(WavSourceTest, HeadersWithTooMuchAreRefused) {
  write_recording(path_, make_samples(100));
  std::string bytes = read_text(path_);
  bytes.replace(24, 4, std::string("\x00\x94\x35\x77", 4));
  write_text(bytes);
  EXPECT_EQ(failure(""),
            "1 channels at 2000000000 Hz, 100 samples, expected 1 to 1024 channels at 1 to 10000000 Hz, "
            "at most 70368744177664 samples");
}

}  // namespace
}  // namespace runnel::pipeline::test
