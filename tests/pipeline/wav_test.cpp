#include <gtest/gtest.h>
#include <sndfile.h>

#include <cmath>
#include <fstream>

#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using runnel::test::TemporaryFolder;

class Wav : public testing::Test {
 protected:
  fs::path file(const std::string& name) const { return folder_.path() / name; }
  std::string source(const std::string& name) const { return "wav path=" + file(name).string(); }
  // Runs `wav ! keep`.
  std::unique_ptr<Graph> keep(const std::string& name, const std::string& parameters = "") {
    return run_graph(source(name) + " " + parameters + " ! keep", options());
  }
  std::string failure(const std::string& name) { return failure_of(source(name) + " ! keep", options()); }
  GraphOptions options() {
    return {.nodes = test_nodes(), .tick = 1000, .note = [this](std::string_view note) {
              notes_.emplace_back(note);
            }};
  }
  void write_bytes(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
  }
  void write_floats(const std::string& name, const std::vector<float>& samples) const {
    SF_INFO info{};
    info.samplerate = 16000;
    info.channels = 1;
    info.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
    SNDFILE* out = sf_open(file(name).c_str(), SFM_WRITE, &info);
    ASSERT_NE(out, nullptr);
    sf_writef_float(out, samples.data(), static_cast<sf_count_t>(samples.size()));
    sf_close(out);
  }

  TemporaryFolder folder_;
  std::vector<std::string> notes_;
};

TEST_F(Wav, SilenceBehindARecording) {
  for (const std::size_t length : {1u, 999u, 1000u, 2500u}) {  // ticks of 1000 samples
    SCOPED_TRACE(length);
    write_floats("a.wav", std::vector<float>(length, 0.25F));
    keep("a.wav", "tail=0.125");
    ASSERT_EQ(Keep::values.size(), length + 2000);
    for (std::size_t i = 0; i < Keep::values.size(); ++i)
      ASSERT_EQ(Keep::values[i], i < length ? 0.25F : 0.0F) << i;
  }
}

// Calls of the system that read, of this process, of threads that have ended too.
std::int64_t reads_so_far() {
  std::ifstream file("/proc/self/io");
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;) {
    if (name == "syscr:") return value;
  }
  return -1;
}

TEST_F(Wav, ReadsLargePiecesWhateverTheTick) {
  if (reads_so_far() < 0) GTEST_SKIP() << "SKIPPED: this system does not count reads";
  const auto samples = make_samples(100'000);
  for (const int format : {SF_FORMAT_PCM_16, SF_FORMAT_FLOAT}) {
    SF_INFO info{};
    info.samplerate = 16000;
    info.channels = 2;
    info.format = SF_FORMAT_WAV | format;
    SNDFILE* out = sf_open(file("a.wav").c_str(), SFM_WRITE, &info);
    ASSERT_NE(out, nullptr);
    sf_writef_short(out, samples.data(), 50'000);
    sf_close(out);
    std::vector<float> expected;
    for (const std::int64_t tick : {50'000, 8192, 160, 7}) {
      GraphOptions with = options();
      with.tick = tick;
      const std::int64_t before = reads_so_far();
      run_graph(source("a.wav") + " ! keep", with);
      EXPECT_LT(reads_so_far() - before, 60) << tick;
      if (expected.empty()) expected = Keep::values;
      ASSERT_EQ(Keep::values.size(), 100'000U);
      EXPECT_EQ(Keep::values, expected) << tick;
      for (const double piece : {0.5, 2.0}) {
        run_graph(source("a.wav") + " offset=1 duration=" + std::to_string(piece) + " ! keep", with);
        const auto frames = static_cast<std::size_t>(16000 * piece);
        ASSERT_EQ(Keep::values.size(), 2 * frames);
        EXPECT_TRUE(std::equal(Keep::values.begin(), Keep::values.end(), expected.begin() + 32'000));
      }
    }
  }
}

TEST_F(Wav, ReadsIntegerFormatsExactly) {
  const auto samples = make_samples(5001);
  const struct {
    const char* name;
    int format;
  } formats[] = {{"a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},   {"b.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24},
                 {"c.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_32},   {"d.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT},
                 {"e.wav", SF_FORMAT_WAV | SF_FORMAT_DOUBLE},   {"a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
                 {"b.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24}, {"a.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
                 {"x.wav", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16}, {"a.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16},
                 {"a.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16}};
  for (const auto& [name, format] : formats) {
    SCOPED_TRACE(name);
    write_recording(file(name), samples, 16000, 1, format);
    keep(name);
    ASSERT_EQ(Keep::values.size(), samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i)
      ASSERT_EQ(Keep::values[i], static_cast<float>(samples[i]) / 32768) << i;
  }
}

TEST_F(Wav, ReadsCompressedFormats) {
  const auto samples = make_samples(16000);
  write_recording(file("a.ogg"), samples, 16000, 1, SF_FORMAT_OGG | SF_FORMAT_VORBIS);
  keep("a.ogg");
  ASSERT_EQ(Keep::values.size(), samples.size());
  double error = 0, power = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double x = samples[i] / 32768.0;
    error += (Keep::values[i] - x) * (Keep::values[i] - x);
    power += x * x;
  }
  EXPECT_LT(error, 0.2 * power);
}

TEST_F(Wav, KeepsRateAndChannels) {
  write_recording(file("a.wav"), make_samples(3000), 44100, 3);
  const auto graph = keep("a.wav");
  EXPECT_EQ(Keep::format.channels, 3);
  EXPECT_EQ(Keep::format.clock.sample_rate, 44100);
  EXPECT_EQ(Keep::format.source, file("a.wav").string());
  EXPECT_EQ(Keep::indices.size(), 1000u);
  EXPECT_EQ(graph->executor().samples(), 1000);
}

TEST_F(Wav, AnEmptyRecordingIsReadWhenAskedFor) {
  write_recording(file("a.wav"), {});
  EXPECT_EQ(failure("a.wav"),
            "wav: " + file("a.wav").string() + ": has no samples (truncated=accept reads it as empty)");
  keep("a.wav", "truncated=accept");
  EXPECT_TRUE(Keep::values.empty());
  run_graph(source("a.wav") + " truncated=accept ! fbank ! npy path=" + file("a.npy").string());
  EXPECT_EQ(read_npy(file("a.npy")).rows, 0);
  EXPECT_EQ(read_npy(file("a.npy")).columns, 23);
}

TEST_F(Wav, RefusesSamplesThatAreNoNumbers) {
  std::vector<float> samples(5000, 0.25f);
  samples[1234] = std::nanf("");
  samples[4000] = -INFINITY;
  write_floats("a.wav", samples);
  EXPECT_EQ(failure("a.wav"),
            "wav: " + file("a.wav").string() +
                ": sample 1234 of channel 0 is not a number (nan=zero replaces such samples by 0)");
  keep("a.wav", "nan=zero");
  samples[1234] = samples[4000] = 0;
  EXPECT_EQ(Keep::values, samples);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0], file("a.wav").string() + ": 2 samples were not finite and were replaced by 0");
}

TEST_F(Wav, FindsTruncatedFiles) {
  const auto samples = make_samples(16000);
  for (const auto& [name, format] : {std::pair{"a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
                                     std::pair{"a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
                                     std::pair{"a.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS},
                                     std::pair{"a.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
                                     std::pair{"a.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16}}) {
    SCOPED_TRACE(name);
    write_recording(file(name), samples, 16000, 1, format);
    fs::resize_file(file(name), fs::file_size(file(name)) / 2);
    const std::string text = failure(name);
    EXPECT_NE(text.find("truncated=accept"), std::string::npos) << text;
    EXPECT_NE(text.find(file(name).string()), std::string::npos) << text;
    keep(name, "truncated=accept");
    EXPECT_LT(Keep::values.size(), samples.size());
  }
}

TEST_F(Wav, TakesHeadersOfStreamsWhoseLengthWasUnknown) {
  const auto samples = make_samples(4000);
  write_recording(file("a.wav"), samples);
  std::string bytes = read_text(file("a.wav"));
  const std::size_t data = bytes.find("data");
  for (const char* size : {"\xff\xff\xff\xff", "\xff\xff\xff\x7f"}) {
    bytes.replace(data + 4, 4, size, 4);
    write_bytes("b.wav", bytes);
    keep("b.wav");
    EXPECT_EQ(Keep::values.size(), 4000u);
  }
}

TEST_F(Wav, RefusesARecordingThatWasNeverClosed) {
  write_recording(file("a.wav"), make_samples(100000));
  std::string bytes = read_text(file("a.wav"));
  bytes.replace(bytes.find("data") + 4, 4, std::string(4, '\0'));
  write_bytes("b.wav", bytes);
  EXPECT_NE(failure("b.wav").find("the header promises no samples, but the file has 200044 bytes"),
            std::string::npos);
}

TEST_F(Wav, RefusesWhatIsNoRecording) {
  write_bytes("text.wav", "this is no recording");
  write_bytes("empty.wav", "");
  write_recording(file("a.wav"), make_samples(100));
  std::string bytes = read_text(file("a.wav"));
  bytes.replace(22, 2, std::string(2, '\0'));
  write_bytes("silent.wav", bytes);
  EXPECT_NE(failure("text.wav").find("not a recording that can be read"), std::string::npos);
  EXPECT_NE(failure("empty.wav").find("not a recording that can be read"), std::string::npos);
  EXPECT_NE(failure("silent.wav").find("Channel count is zero"), std::string::npos);
  EXPECT_EQ(failure("missing.wav"), "wav: " + file("missing.wav").string() + ": there is no such file");
  EXPECT_NE(failure(".").find("is a folder"), std::string::npos);
}

// Damaged headers: any result, but no crash. Without OGG: libsndfile 1.2.0 leaks memory when it refuses such
// a file.
TEST_F(Wav, SurvivesDamage) {
  const auto samples = make_samples(2000);
  std::uint32_t state = 7;
  const auto random = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (const auto& [name, format] : {std::pair{"a.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT},
                                     std::pair{"a.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
                                     std::pair{"a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16}}) {
    write_recording(file(name), samples, 16000, 1, format);
    const std::string whole = read_text(file(name));
    for (int round = 0; round < 150; ++round) {
      std::string bytes = whole;
      for (int i = 0; i < 3; ++i)
        bytes[random() % std::min<std::size_t>(bytes.size(), round % 2 == 0 ? 100 : bytes.size())] =
            static_cast<char>(random());
      if (round % 5 == 0) bytes.resize(random() % bytes.size());
      write_bytes("damaged", bytes);
      Result<std::unique_ptr<Graph>> graph =
          Graph::build(source("damaged") + " ! fbank sample_frequency=16000 ! null", options());
      if (graph.ok()) (void)(*graph)->run();
    }
  }
}

TEST_F(Wav, WritesWhatItSaysAndSaturates) {
  write_floats("in.wav", {0.5f, -1.0f, 2.0f, -3.0f, 1.0f / 32768});
  for (const char* encoding : {"int16", "int24", "float32"}) {
    SCOPED_TRACE(encoding);
    run_graph(source("in.wav") + " ! wav encoding=" + encoding + " path=" + file("out.wav").string());
    EXPECT_FALSE(fs::exists(file("out.wav.part")));
    keep("out.wav");
    ASSERT_EQ(Keep::values.size(), 5u);
    EXPECT_EQ(Keep::values[0], 0.5f);
    EXPECT_EQ(Keep::values[1], -1.0f);
    EXPECT_EQ(Keep::values[4], 1.0f / 32768);
    if (std::string(encoding) == "float32")
      EXPECT_EQ(Keep::values[2], 2.0f);
    else
      EXPECT_NEAR(Keep::values[2], 1.0f, 4e-5f);
  }
}

}  // namespace
}  // namespace runnel::pipeline::test
