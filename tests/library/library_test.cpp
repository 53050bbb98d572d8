// librunnel through its C interface: what it says is what the program says, its errors are values, its nodes
// are independent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numbers>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "library/runnel_host.h"
#include "tests/support/data.h"
#include "tests/support/wav.h"

namespace runnel::library::test {
namespace {

using runnel::test::write_wav;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kModel = RUNNEL_BUILD_FOLDER "/models/digits/digits.rnl";
constexpr const char* kFrontEnd = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600";
// A decision that finds something in any sound.
constexpr const char* kEager =
    "detect threshold=0.4 release=0.3 smoothing_frames=10 refractory_frames=10 ignore=\"\"";
const std::string kEagerly = std::string("decision='") + kEager + "'";

std::vector<std::int16_t> tones(double seconds, int rate = 16000) {
  std::vector<std::int16_t> samples;
  for (int i = 0; i < static_cast<int>(seconds * rate); ++i) {
    const double second = i / static_cast<double>(rate);
    const double pitch = 200 + 170 * std::floor(second * 2.5);
    const double loud = second * 2.5 - std::floor(second * 2.5) < 0.6 ? 9000 : 20;
    samples.push_back(static_cast<std::int16_t>(loud * std::sin(2 * std::numbers::pi * pitch * second)));
  }
  return samples;
}

class Program {
 public:
  explicit Program(const std::string& settings = kEagerly, const std::string& path = kModel) {
    EXPECT_EQ(runnel_load_file(path.c_str(), settings.c_str(), &program_), RUNNEL_OK)
        << runnel_last_failure();
  }
  ~Program() { runnel_release(program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  [[nodiscard]] const runnel_program* get() const { return program_; }

 private:
  runnel_program* program_ = nullptr;
};

class Node {
 public:
  explicit Node(const runnel_program* program, const runnel_options* options = nullptr) {
    EXPECT_EQ(runnel_prepare(program, options, &node_), RUNNEL_OK) << runnel_last_failure();
  }
  explicit Node(runnel_node* node) : node_(node) {}
  ~Node() { runnel_close(node_); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  [[nodiscard]] runnel_node* get() const { return node_; }

 private:
  runnel_node* node_ = nullptr;
};

void fetch(runnel_node* node, std::string& lines) {
  runnel_event event;
  while (runnel_poll(node, &event) == 1) lines += std::string(runnel_line(node)) + "\n";
}

// All decisions about samples that come in blocks of this size, as lines.
std::string heard(runnel_node* node, const std::vector<std::int16_t>& samples, std::size_t block,
                  std::size_t channels = 1) {
  std::string lines;
  const std::size_t frames = samples.size() / channels;
  for (std::size_t at = 0; at < frames; at += block) {
    EXPECT_EQ(runnel_push_int16(node, samples.data() + at * channels, std::min(block, frames - at)),
              RUNNEL_OK)
        << runnel_last_failure();
    fetch(node, lines);
  }
  EXPECT_EQ(runnel_end(node), RUNNEL_OK) << runnel_last_failure();
  fetch(node, lines);
  return lines;
}

// The lines of events that the program prints about a recording.
std::string program_says(const std::vector<std::int16_t>& samples, int rate, int channels,
                         const std::vector<std::string>& more) {
  const runnel::test::TemporaryFolder folder;
  const std::filesystem::path wav = folder.path() / "sound.wav";
  write_wav(wav, samples, rate, channels);
  std::vector<std::string> call = {runnel::test::program(), "listen", kModel, "--wav", wav.string()};
  call.insert(call.end(), more.begin(), more.end());
  const runnel::test::Output output = runnel::test::run_program(call);
  EXPECT_EQ(output.exit_code, 0) << output.err;
  std::istringstream in(output.out);
  std::string lines;
  for (std::string line; std::getline(in, line);) {
    if (line.find("\"type\":\"event\"") == std::string::npos) continue;
    const std::string path = wav.string();
    if (const std::size_t at = line.find(path); at != std::string::npos)
      line.replace(at, path.size(), "sound.wav");
    lines += line + "\n";
  }
  return lines;
}

TEST(Library, SaysWhatTheProgramSaysForAnyBlocks) {
  const std::vector<std::int16_t> samples = tones(5);
  const std::string expected = program_says(samples, 16000, 1, {"--decision", kEager});
  ASSERT_GE(std::count(expected.begin(), expected.end(), '\n'), 3);
  const Program program(kEagerly + " source=sound.wav");
  for (const std::size_t block : {1u, 160u, 333u, 5000u, 1000000u})
    EXPECT_EQ(heard(Node(program.get()).get(), samples, block), expected) << block;
}

TEST(Library, ConvertsRateAndChannelsAsTheProgramDoes) {
  const std::vector<std::int16_t> one = tones(4, 8000);
  std::vector<std::int16_t> stereo;
  for (const std::int16_t sample : one)
    stereo.insert(stereo.end(), {sample, static_cast<std::int16_t>(sample / 2)});
  const std::string expected = program_says(stereo, 8000, 2, {"--decision", kEager});
  ASSERT_FALSE(expected.empty());
  const Program program(kEagerly + " source=sound.wav rate=8000 channels=2");
  EXPECT_EQ(heard(Node(program.get()).get(), stereo, 777, 2), expected);
  EXPECT_THAT(runnel_graph_of(program.get()), HasSubstr("! downmix ! resample rate=16000 !"));
}

TEST(Library, FloatsAreTheSameSound) {
  const std::vector<std::int16_t> samples = tones(3);
  std::vector<float> floats;
  for (const std::int16_t sample : samples) floats.push_back(static_cast<float>(sample) / 32768);
  const Program program;
  const Node node(program.get());
  EXPECT_EQ(runnel_push_float(node.get(), floats.data(), floats.size()), RUNNEL_OK);
  EXPECT_EQ(runnel_end(node.get()), RUNNEL_OK);
  std::string lines;
  fetch(node.get(), lines);
  EXPECT_EQ(lines, heard(Node(program.get()).get(), samples, 160));
}

TEST(Library, ModelsInMemoryGraphsAndNamesAreTheSameProgram) {
  const std::vector<std::int16_t> samples = tones(3);
  const std::string expected = heard(Node(Program().get()).get(), samples, 160);
  ASSERT_FALSE(expected.empty());
  std::vector<std::byte> bytes = runnel::test::read_file(kModel);
  runnel_program* program = nullptr;
  ASSERT_EQ(runnel_load_memory(bytes.data(), bytes.size(), kEagerly.c_str(), &program), RUNNEL_OK)
      << runnel_last_failure();
  std::fill(bytes.begin(), bytes.end(), std::byte{0});  // they were copied
  EXPECT_EQ(heard(Node(program).get(), samples, 160), expected);
  runnel_release(program);
  const std::string graph = std::string(kFrontEnd) + " ! infer model='" + kModel + "' ! " + kEager;
  ASSERT_EQ(runnel_load_graph(graph.c_str(), nullptr, &program), RUNNEL_OK) << runnel_last_failure();
  EXPECT_EQ(heard(Node(program).get(), samples, 160), expected);
  runnel_release(program);
  setenv("RUNNEL_MODEL_PATH", RUNNEL_BUILD_FOLDER "/models", 1);
  const Program named(kEagerly, "digits");
  EXPECT_EQ(heard(Node(named.get()).get(), samples, 160), expected);
}

TEST(Library, FactsAreThoseOfTheModel) {
  const Program program("");
  const runnel_facts facts = runnel_facts_of(program.get());
  EXPECT_STREQ(facts.name, "digits");
  EXPECT_EQ(facts.sample_rate, 16000u);
  EXPECT_EQ(facts.channels, 1u);
  EXPECT_EQ(facts.labels, 12u);
  EXPECT_EQ(facts.model_bytes, runnel::test::read_file(kModel).size());
  EXPECT_GT(facts.memory_bytes, 1000u);
  EXPECT_STREQ(runnel_label(program.get(), 3), "3");
  EXPECT_EQ(runnel_label(program.get(), 12), nullptr);
  EXPECT_THAT(runnel_version(), testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+"));
}

// The delay is a bound, and the smallest one: of frames that come sample by sample.
TEST(Library, DelayOfTheOutputIsWhatItTakes) {
  runnel_program* program = nullptr;
  ASSERT_EQ(runnel_load_graph("fbank preset=kaldi", "frames=1000", &program), RUNNEL_OK)
      << runnel_last_failure();
  EXPECT_NEAR(runnel_delay_of(program), 0, 1e-9);  // a frame comes with the last sample of its window
  runnel_release(program);
  const Program model("");
  const double delay = runnel_delay_of(model.get());
  EXPECT_GE(delay, 0);
  EXPECT_LT(delay, 1);
  // Sensors in clips decide at the end only.
  ASSERT_EQ(runnel_load_graph(
                (std::string(kFrontEnd) + " ! infer model='" + kModel + "' ! detect mode=clip").c_str(),
                nullptr, &program),
            RUNNEL_OK)
      << runnel_last_failure();
  EXPECT_EQ(runnel_delay_of(nullptr), -1);
  runnel_release(program);
}

TEST(Library, FramesWaitUntilTheyAreFetched) {
  const std::vector<std::int16_t> samples = tones(2);
  const Program program(kEagerly + " frames=10000");
  const Node node(program.get());
  for (const runnel_stage stage : {RUNNEL_FEATURES, RUNNEL_OUTPUT}) {
    ASSERT_EQ(runnel_reset(node.get()), RUNNEL_OK);
    std::int64_t next = 0;
    runnel_frames frames;
    for (std::size_t at = 0; at < samples.size(); at += 480) {
      ASSERT_EQ(
          runnel_push_int16(node.get(), samples.data() + at, std::min<std::size_t>(480, samples.size() - at)),
          RUNNEL_OK);
      if (at % 1440 != 0) continue;
      while (runnel_poll_frames(node.get(), stage, &frames) == 1) {
        EXPECT_EQ(frames.first, next);
        EXPECT_EQ(frames.values, stage == RUNNEL_FEATURES ? 40 : 12);
        EXPECT_EQ(frames.type, stage == RUNNEL_FEATURES ? RUNNEL_FLOAT32 : RUNNEL_INT8);
        EXPECT_GT(frames.scale, 0);
        next += static_cast<std::int64_t>(frames.count);
      }
    }
    EXPECT_EQ(runnel_end(node.get()), RUNNEL_OK);
    while (runnel_poll_frames(node.get(), stage, &frames) == 1)
      next += static_cast<std::int64_t>(frames.count);
    EXPECT_EQ(next, 1 + (32000 - 400) / 160);
  }
}

TEST(Library, OldestFramesAndDecisionsAreDropped) {
  const std::vector<std::int16_t> samples = tones(5);
  const Program program(kEagerly + " frames=10 events=2");
  const Node node(program.get());
  ASSERT_EQ(runnel_push_int16(node.get(), samples.data(), samples.size()), RUNNEL_OK);
  ASSERT_EQ(runnel_end(node.get()), RUNNEL_OK);
  runnel_frames frames;
  ASSERT_EQ(runnel_poll_frames(node.get(), RUNNEL_FEATURES, &frames), 1);
  EXPECT_EQ(frames.count, 10u);
  EXPECT_EQ(frames.first + 10, 1 + (80000 - 400) / 160);
  EXPECT_EQ(runnel_poll_frames(node.get(), RUNNEL_FEATURES, &frames), 0);
  const runnel_counters counters = runnel_counters_of(node.get());
  EXPECT_GT(counters.events, 2u);
  EXPECT_EQ(counters.dropped_events, counters.events - 2);
  EXPECT_EQ(counters.samples, samples.size());
  runnel_event event;
  EXPECT_EQ(runnel_poll(node.get(), &event), 1);
  EXPECT_EQ(runnel_poll(node.get(), &event), 1);
  EXPECT_EQ(runnel_poll(node.get(), &event), 0);
}

TEST(Library, ObserversSeeWhatIsFetched) {
  struct Seen {
    std::vector<float> features;
    std::int64_t output = 0;
  } seen;
  runnel_options options = {};
  options.user = &seen;
  options.on_frames = [](void* user, runnel_stage stage, const void* frames, size_t count, size_t frame_bytes,
                         int64_t first) {
    auto& to = *static_cast<Seen*>(user);
    const auto* const values = static_cast<const float*>(frames);
    if (stage == RUNNEL_FEATURES)
      to.features.insert(to.features.end(), values, values + count * frame_bytes / sizeof(float));
    else
      to.output = first + static_cast<std::int64_t>(count);
  };
  const std::vector<std::int16_t> samples = tones(1);
  const Program program(kEagerly + " frames=1000");
  const Node node(program.get(), &options);
  ASSERT_EQ(runnel_push_int16(node.get(), samples.data(), samples.size()), RUNNEL_OK);
  ASSERT_EQ(runnel_end(node.get()), RUNNEL_OK);
  runnel_frames frames;
  ASSERT_EQ(runnel_poll_frames(node.get(), RUNNEL_FEATURES, &frames), 1);
  ASSERT_EQ(frames.count * 40, seen.features.size());
  EXPECT_EQ(std::memcmp(frames.data, seen.features.data(), seen.features.size() * sizeof(float)), 0);
  EXPECT_EQ(seen.output, 98);
}

TEST(Library, LostSamplesMoveTheClock) {
  const std::vector<std::int16_t> samples = tones(4);
  const Program program;
  const Node node(program.get());
  std::string before, after;
  ASSERT_EQ(runnel_push_int16(node.get(), samples.data(), samples.size()), RUNNEL_OK);
  fetch(node.get(), before);
  ASSERT_EQ(runnel_lost(node.get(), 16000), RUNNEL_OK);
  ASSERT_EQ(runnel_push_int16(node.get(), samples.data(), samples.size()), RUNNEL_OK);
  ASSERT_EQ(runnel_end(node.get()), RUNNEL_OK);
  const runnel_counters counters = runnel_counters_of(node.get());
  EXPECT_EQ(counters.gaps, 1u);
  EXPECT_EQ(counters.lost, 16000u);
  runnel_event event;
  std::int64_t last = 0;
  while (runnel_poll(node.get(), &event) == 1) last = event.end;
  EXPECT_GT(last, 5 * 16000);
  EXPECT_EQ(runnel_push_int16(node.get(), samples.data(), 1), RUNNEL_INVALID_ARGUMENT);
  EXPECT_STREQ(runnel_last_failure(), "samples after the end of the stream: reset first");
  ASSERT_EQ(runnel_reset(node.get()), RUNNEL_OK);
  EXPECT_EQ(heard(node.get(), samples, 160), heard(Node(program.get()).get(), samples, 160));
}

// Label, score, begin, end and frame of all decisions of a stream that begins at this sample, counted from
// there.
using Decision = std::tuple<std::string, float, std::int64_t, std::int64_t, std::int64_t>;
std::vector<Decision> heard_from(runnel_node* node, std::int64_t first,
                                 const std::vector<std::int16_t>& samples) {
  constexpr std::int64_t kHop = 160;
  std::vector<Decision> out;
  const auto take = [&] {
    runnel_event event;
    while (runnel_poll(node, &event) == 1)
      out.emplace_back(event.label, event.score, event.begin - first, event.end - first,
                       event.frame - first / kHop);
  };
  EXPECT_EQ(runnel_lost(node, static_cast<std::uint64_t>(first)), RUNNEL_OK) << runnel_last_failure();
  for (std::size_t at = 0; at < samples.size(); at += 1000) {
    EXPECT_EQ(runnel_push_int16(node, samples.data() + at, std::min<std::size_t>(1000, samples.size() - at)),
              RUNNEL_OK)
        << runnel_last_failure();
    take();
  }
  EXPECT_EQ(runnel_end(node), RUNNEL_OK) << runnel_last_failure();
  take();
  return out;
}

// Samples and frames pass the ends of 31, 32 and 45 bits: nothing but numbers is another one.
TEST(Library, CountersNearTheirEndChangeNothingButNumbers) {
  const std::vector<std::int16_t> samples = tones(4);
  const Program program;
  const std::vector<Decision> expected = heard_from(Node(program.get()).get(), 160, samples);
  ASSERT_GT(expected.size(), 3U);
  for (const std::int64_t end : {std::int64_t{1} << 31, std::int64_t{1} << 32, std::int64_t{160} << 31,
                                 std::int64_t{160} << 32, std::int64_t{1} << 45}) {
    const std::int64_t first = (end - 32000) / 160 * 160;
    EXPECT_EQ(heard_from(Node(program.get()).get(), first, samples), expected) << first;
  }
}

// The longest stream ends with a sentence, and is not another one.
TEST(Library, StreamsHaveALongestLength) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 46;
  const std::vector<std::int16_t> samples(160);
  const Program program;
  const Node node(program.get());
  for (const std::uint64_t frames :
       {kMost + 1, std::uint64_t{1} << 53, std::uint64_t{1} << 63, ~std::uint64_t{0}})
    EXPECT_EQ(runnel_lost(node.get(), frames), RUNNEL_INVALID_ARGUMENT) << frames;
  ASSERT_EQ(runnel_push_int16(node.get(), samples.data(), 160), RUNNEL_OK);
  ASSERT_EQ(runnel_lost(node.get(), kMost - 480), RUNNEL_OK) << runnel_last_failure();
  EXPECT_EQ(runnel_lost(node.get(), 321), RUNNEL_INVALID_ARGUMENT);
  EXPECT_THAT(runnel_last_failure(), HasSubstr("321 lost samples, expected at most 320"));
  ASSERT_EQ(runnel_push_int16(node.get(), samples.data(), 160), RUNNEL_OK) << runnel_last_failure();
  ASSERT_EQ(runnel_push_int16(node.get(), samples.data(), 160), RUNNEL_OK) << runnel_last_failure();
  EXPECT_EQ(runnel_push_int16(node.get(), samples.data(), 1), RUNNEL_INVALID_ARGUMENT);
  EXPECT_THAT(runnel_last_failure(), HasSubstr("longer than 70368744177664 samples"));
  ASSERT_EQ(runnel_reset(node.get()), RUNNEL_OK);
  EXPECT_EQ(runnel_push_int16(node.get(), samples.data(), 160), RUNNEL_OK);
}

TEST(Library, GateSkipsSilence) {
  const Program program;
  const Node node(program.get());
  ASSERT_EQ(runnel_set_gate(node.get(), {1000, 1600}), RUNNEL_OK);
  const std::vector<std::int16_t> silence(160, 3), sound = tones(0.01);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(runnel_push_int16(node.get(), silence.data(), 160), RUNNEL_OK);
  EXPECT_EQ(runnel_counters_of(node.get()).gated, 16000u);
  ASSERT_EQ(runnel_push_int16(node.get(), sound.data(), 160), RUNNEL_OK);
  EXPECT_EQ(runnel_counters_of(node.get()).gated, 16000u);
  EXPECT_EQ(runnel_counters_of(node.get()).samples, 16160u);
  EXPECT_EQ(runnel_set_gate(node.get(), {-1, 0}), RUNNEL_INVALID_ARGUMENT);
}

// With keys that are trusted, a model must be signed: beside its file, or before its bytes in memory.
TEST(Library, TakesOnlySignedModelsWhereKeysAreTrusted) {
  const runnel::test::TemporaryFolder folder;
  const std::string maker = (folder.path() / "maker").string(),
                    model = (folder.path() / "digits.rnl").string();
  const auto run = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), runnel::test::program());
    return runnel::test::run_program(arguments);
  };
  if (const auto made = run({"sign", "--new-key", maker}); made.exit_code != 0)
    GTEST_SKIP() << "SKIPPED: " << made.err;
  std::filesystem::copy_file(kModel, model);
  const std::string settings = "trust=" + maker + ".pub";
  runnel_program* program = nullptr;
  EXPECT_EQ(runnel_load_file(model.c_str(), settings.c_str(), &program), RUNNEL_INVALID_DATA);
  EXPECT_THAT(runnel_last_failure(), HasSubstr("unsigned, expected a signature of the key maker ("));
  std::vector<std::byte> bytes = runnel::test::read_file(model);
  EXPECT_EQ(runnel_load_memory(bytes.data(), bytes.size(), settings.c_str(), &program), RUNNEL_INVALID_DATA);
  EXPECT_EQ(run({"sign", model, "--key", maker + ".key"}).exit_code, 0);
  ASSERT_EQ(runnel_load_file(model.c_str(), settings.c_str(), &program), RUNNEL_OK) << runnel_last_failure();
  runnel_release(program);
  std::vector<std::byte> both = runnel::test::read_file(model + ".sig");
  both.insert(both.end(), bytes.begin(), bytes.end());
  ASSERT_EQ(runnel_load_memory(both.data(), both.size(), settings.c_str(), &program), RUNNEL_OK)
      << runnel_last_failure();
  runnel_release(program);
  both.back() ^= std::byte{1};
  EXPECT_EQ(runnel_load_memory(both.data(), both.size(), settings.c_str(), &program), RUNNEL_INVALID_DATA);
  EXPECT_THAT(runnel_last_failure(), HasSubstr("changed since it was signed"));
}

// Settings and graphs that are wrong give the sentences of graphs and of the program.
TEST(Library, RefusesWithASentence) {
  runnel_program* program = nullptr;
  const auto refused = [&](const std::string& settings, const std::string& path = kModel) {
    EXPECT_NE(runnel_load_file(path.c_str(), settings.c_str(), &program), RUNNEL_OK) << settings;
    EXPECT_EQ(program, nullptr);
    return std::string(runnel_last_failure());
  };
  EXPECT_THAT(refused("rate=-1"), HasSubstr("from 0 to 768000"));
  EXPECT_THAT(refused("rate=abc"), HasSubstr("abc"));
  EXPECT_THAT(refused("rates=8000"), HasSubstr("did you mean"));
  EXPECT_THAT(refused("threshold=2"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refused("on_gap=wait"), HasSubstr("reset, zeros"));
  EXPECT_THAT(refused("rate=16000 ! detect"), HasSubstr("expected key=value"));
  EXPECT_THAT(refused("decision='detekt'"), HasSubstr("did you mean"));
  EXPECT_THAT(refused("decision=wav"), HasSubstr("pushed"));
  EXPECT_THAT(refused("", "nowhere/model.rnl"), HasSubstr("nowhere/model.rnl"));
  EXPECT_THAT(refused("key_file=/nowhere"), HasSubstr("/nowhere"));
  EXPECT_THAT(refused("trust=/nowhere"), HasSubstr("/nowhere"));
  // The program's sentence for the same mistake.
  const std::string threshold = refused("threshold=0.5 decision='ctc tokens=a'");
  EXPECT_THAT(threshold, HasSubstr("the model's decision has no node `detect`"));
  EXPECT_THAT(runnel::test::run_program({runnel::test::program(), "listen", kModel, "--wav", "a.wav",
                                         "--threshold", "0.5", "--decision", "ctc tokens=a"})
                  .err,
              HasSubstr(threshold));
  EXPECT_EQ(runnel_load_graph("wav path=a.wav ! fbank", nullptr, &program), RUNNEL_UNSUPPORTED);
  EXPECT_THAT(runnel_last_failure(), HasSubstr("samples are pushed"));
  EXPECT_EQ(runnel_load_graph("fbank ! detect ! jsonl", nullptr, &program), RUNNEL_UNSUPPORTED);
  EXPECT_EQ(runnel_load_graph("fbank", "front_end=fbank", &program), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_load_graph("fbank num_mel_bins=0", nullptr, &program), RUNNEL_INVALID_ARGUMENT);
  EXPECT_THAT(runnel_last_failure(), HasSubstr("num_mel_bins"));
  std::vector<std::byte> bytes = runnel::test::read_file(kModel);
  bytes[bytes.size() / 2] ^= std::byte{1};
  EXPECT_EQ(runnel_load_memory(bytes.data(), bytes.size(), nullptr, &program), RUNNEL_INVALID_DATA);
  EXPECT_THAT(runnel_last_failure(), StartsWith("model in memory: "));
  EXPECT_EQ(runnel_load_memory(bytes.data(), 10, nullptr, &program), RUNNEL_INVALID_DATA);
}

TEST(Library, NullPointersAreRefused) {
  runnel_program* program = nullptr;
  runnel_node* node = nullptr;
  runnel_runner* runner = nullptr;
  EXPECT_EQ(runnel_load_file(nullptr, nullptr, &program), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_load_file("a", nullptr, nullptr), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_load_memory(nullptr, 1, nullptr, &program), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_load_graph(nullptr, nullptr, &program), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_prepare(nullptr, nullptr, &node), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_prepare(nullptr, nullptr, nullptr), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_push_int16(nullptr, nullptr, 0), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_push_float(nullptr, nullptr, 0), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_lost(nullptr, 1), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_end(nullptr), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_reset(nullptr), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_clone(nullptr, &node), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_save(nullptr, nullptr, 0), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_restore(nullptr, nullptr, 0), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_saved_bytes(nullptr), 0u);
  EXPECT_EQ(runnel_poll(nullptr, nullptr), 0);
  EXPECT_EQ(runnel_poll_text(nullptr, nullptr), 0);
  EXPECT_EQ(runnel_poll_frames(nullptr, RUNNEL_OUTPUT, nullptr), 0);
  EXPECT_EQ(runnel_line(nullptr), nullptr);
  EXPECT_EQ(runnel_graph_of(nullptr), nullptr);
  EXPECT_EQ(runnel_label(nullptr, 0), nullptr);
  EXPECT_EQ(runnel_facts_of(nullptr).labels, 0u);
  EXPECT_EQ(runnel_counters_of(nullptr).samples, 0u);
  EXPECT_EQ(runnel_open_runner(nullptr, 0, &runner), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_run(nullptr), RUNNEL_INVALID_ARGUMENT);
  EXPECT_EQ(runnel_input_of(nullptr, 0, nullptr), RUNNEL_INVALID_ARGUMENT);
  runnel_release(nullptr);
  runnel_close(nullptr);
  runnel_close_runner(nullptr);
  EXPECT_STREQ(runnel_code_text(RUNNEL_MISMATCH), "mismatch");
  EXPECT_STREQ(runnel_code_text(static_cast<runnel_code>(99)), "unknown code");
}

TEST(Library, ThreadsPushIntoNodesOfOneProgram) {
  const std::vector<std::int16_t> samples = tones(3);
  const Program program;
  const std::string expected = heard(Node(program.get()).get(), samples, 160);
  std::vector<std::string> said(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < said.size(); ++i) {
    threads.emplace_back([&, i] {
      const Node node(program.get());
      runnel_node* copy = nullptr;
      EXPECT_EQ(runnel_clone(node.get(), &copy), RUNNEL_OK) << runnel_last_failure();
      const Node clone(copy);
      said[i] = heard(i % 2 == 0 ? node.get() : clone.get(), samples, 100 + 37 * i);
      EXPECT_EQ(runnel_lost(nullptr, i), RUNNEL_INVALID_ARGUMENT);  // a failure of this thread
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : said) EXPECT_EQ(one, expected);
}

// The digits model as a recogniser whose tokens are its labels: texts, partial ones included, and final ones
// as decisions, whose lines are those of the program.
TEST(Library, TextsAreWhatTheProgramHears) {
  const std::vector<std::int16_t> samples = tones(5);
  const std::string decision = "ctc blank=silence units=words silence_after=0.3";
  const runnel::test::TemporaryFolder folder;
  write_wav(folder.path() / "sound.wav", samples, 16000, 1);
  const runnel::test::Output output =
      runnel::test::run_program({runnel::test::program(), "listen", kModel, "--wav",
                                 (folder.path() / "sound.wav").string(), "--decision", decision});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  std::vector<std::string> final_lines;
  std::int64_t partial = 0;
  std::istringstream in(output.out);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("{\"type\":\"final\"")) final_lines.push_back(line);
    if (line.starts_with("{\"type\":\"partial\"")) ++partial;
  }
  ASSERT_FALSE(final_lines.empty()) << output.out;
  const std::size_t at = final_lines[0].find("\"source\":\"") + 10;
  const std::string source = final_lines[0].substr(at, final_lines[0].find('"', at) - at);
  const Program program("decision='" + decision + "' source='" + source + "'");
  const Node node(program.get());
  std::vector<std::string> lines, texts;
  const auto fetch_all = [&] {
    runnel_text text;
    while (runnel_poll_text(node.get(), &text) == 1) {
      if (text.is_final == 0) --partial;
      if (text.is_final == 0) continue;
      std::string words;
      for (std::size_t i = 0; i < text.word_count; ++i) {
        words += (i == 0 ? "" : " ") + std::string(text.words[i].text);
        EXPECT_LE(text.begin, text.words[i].begin);
        EXPECT_LE(text.words[i].begin, text.words[i].end);
        EXPECT_GE(text.words[i].confidence, 0);
      }
      EXPECT_EQ(words, text.text);
      EXPECT_GE(text.token_count, text.word_count);
      texts.push_back(text.text);
    }
    runnel_event event;
    while (runnel_poll(node.get(), &event) == 1) {
      lines.push_back(runnel_line(node.get()));
      ASSERT_LT(lines.size(), texts.size() + 1);
      EXPECT_EQ(event.label, texts[lines.size() - 1]);
    }
  };
  for (std::size_t i = 0; i < samples.size(); i += 160) {
    ASSERT_EQ(runnel_push_int16(node.get(), samples.data() + i, 160), RUNNEL_OK);
    fetch_all();
  }
  ASSERT_EQ(runnel_end(node.get()), RUNNEL_OK);
  fetch_all();
  EXPECT_EQ(lines, final_lines);
  EXPECT_EQ(partial, 0) << "partial results of the program that the library did not give, or more";
  EXPECT_GT(runnel_saved_bytes(node.get()), 0u);
}

// A run over whole tensors gives what the stream gives, frame by frame.
TEST(Library, RunsOverTensorsEqualTheStream) {
  const std::vector<std::int16_t> samples = tones(1);
  const Program program("frames=1000");
  const Node node(program.get());
  ASSERT_EQ(runnel_push_int16(node.get(), samples.data(), samples.size()), RUNNEL_OK);
  ASSERT_EQ(runnel_end(node.get()), RUNNEL_OK);
  runnel_frames features, output;
  ASSERT_EQ(runnel_poll_frames(node.get(), RUNNEL_FEATURES, &features), 1);
  runnel_runner* runner = nullptr;
  ASSERT_EQ(runnel_open_runner(program.get(), static_cast<std::int64_t>(features.count), &runner), RUNNEL_OK)
      << runnel_last_failure();
  runnel_tensor in, out;
  ASSERT_EQ(runnel_input_of(runner, 0, &in), RUNNEL_OK);
  ASSERT_EQ(runnel_output_of(runner, 0, &out), RUNNEL_OK);
  EXPECT_EQ(runnel_input_of(runner, 1, &in), RUNNEL_NOT_FOUND);
  EXPECT_STREQ(runnel_last_failure(), "input 1: the model has 1");
  ASSERT_EQ(in.type, RUNNEL_INT8);
  ASSERT_EQ(in.bytes, features.count * 40);
  for (std::size_t i = 0; i < in.bytes; ++i) {
    const float value = static_cast<const float*>(features.data)[i] / in.scale;
    static_cast<std::int8_t*>(in.data)[i] =
        static_cast<std::int8_t>(std::min(127.0F, std::max(-128.0F, std::floor(value + 0.5F))));
  }
  ASSERT_EQ(runnel_run(runner), RUNNEL_OK) << runnel_last_failure();
  ASSERT_EQ(runnel_poll_frames(node.get(), RUNNEL_OUTPUT, &output), 1);
  ASSERT_EQ(out.bytes, output.count * 12);
  EXPECT_EQ(std::memcmp(out.data, output.data, out.bytes), 0);
  const std::vector<std::byte> first(static_cast<std::byte*>(out.data),
                                     static_cast<std::byte*>(out.data) + out.bytes);
  ASSERT_EQ(runnel_run(runner), RUNNEL_OK);
  EXPECT_EQ(std::memcmp(out.data, first.data(), first.size()), 0) << "a second run differs";
  runnel_close_runner(runner);
  runnel_program* graph = nullptr;
  ASSERT_EQ(runnel_load_graph("fbank", nullptr, &graph), RUNNEL_OK);
  EXPECT_EQ(runnel_open_runner(graph, 0, &runner), RUNNEL_INVALID_ARGUMENT);
  EXPECT_THAT(runnel_last_failure(), HasSubstr("0 models"));
  runnel_release(graph);
}

}  // namespace
}  // namespace runnel::library::test
