#include "pipeline/nodes/model/infer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "compiler/import/load.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;

class Infer : public testing::Test {
 protected:
  GraphOptions options(std::int64_t tick = 1024) {
    GraphOptions result;
    result.nodes = test_nodes();
    result.tick = tick;
    result.models = &loader_;
    result.operators = all_operators();
    return result;
  }
  static fs::path digits() { return runnel::test::data_folder() / "digits"; }
  static std::string model() { return (digits() / "digits_c_s8.espdl").string(); }
  static std::string front_end() {
    return "fbank preset=kaldi scale=int16 num_mel_bins=40 low_freq=20 high_freq=7600";
  }
  compiler::FileLoader loader_;
};

// A source whose samples arrive in packets of the sizes given, in turn.
class Packets final : public Node {
 public:
  static const NodeType type;
  static std::vector<float> samples;
  static std::vector<Loss> losses;
  static std::vector<std::int64_t> sizes;

  Status prepare(NodeContext& context) noexcept override {
    context.output.kind = Kind::audio;
    context.output.dtype = DType::float32;
    context.output.channels = 1;
    context.output.clock.sample_rate = 16000;
    context.output.source = "packets";
    context.max_output = context.max_input;
    return {};
  }
  Status process(const Block&, Output& out) noexcept override {
    if (lost_ < losses.size() && position_ >= losses[lost_].at) {
      out.lost = losses[lost_].count;
      position_ += losses[lost_++].count;
    }
    const std::int64_t end = lost_ < losses.size() ? losses[lost_].at : std::ssize(samples);
    out.count = std::min({out.capacity, sizes[packet_++ % sizes.size()], end - position_});
    std::copy_n(samples.begin() + position_, out.count, out.as<float>());
    position_ += out.count;
    out.end = position_ == std::ssize(samples);
    return {};
  }

 private:
  std::size_t packet_ = 0, lost_ = 0;
  std::int64_t position_ = 0;
};
const NodeType Packets::type = {.name = "packets",
                                .help = "Samples.",
                                .input = {},
                                .output = {static_cast<Kinds>(Kind::audio), "test"},
                                .parameters = {},
                                .make = make_node<Packets>};
std::vector<float> Packets::samples;
std::vector<Loss> Packets::losses;
std::vector<std::int64_t> Packets::sizes;

constexpr const char* kLabels = "labels=0,1,2,3,4,5,6,7,8,9,silence,unknown ";

TEST_F(Infer, GivesTheSameFramesWhateverTickAndChunk) {
  RUNNEL_NEEDS_DATA();
  const fs::path wav = fs::directory_iterator(digits() / "eval_wav")->path();
  const std::string source = "wav path=" + wav.string() + " ! " + front_end();
  run_graph(source + " ! keep", options());
  const auto frames = static_cast<std::int64_t>(Keep::indices.size());
  std::vector<float> expected;
  for (const auto& [tick, chunk] :
       {std::pair<std::int64_t, int>{100000, 128}, {1, 1}, {160, 4}, {1000, 1}, {16000, 7}, {333, 0}}) {
    SCOPED_TRACE(testing::Message() << "tick " << tick << " chunk " << chunk);
    run_graph(source + " ! infer model=" + model() + " chunk=" + std::to_string(chunk) + " ! keep",
              options(tick));
    EXPECT_EQ(Keep::format.dtype, DType::int8);
    EXPECT_EQ(Keep::format.channels, 12);
    EXPECT_EQ(Keep::format.clock.rate(), 100);
    ASSERT_EQ(Keep::indices.size(), static_cast<std::size_t>(frames));
    EXPECT_EQ(Keep::indices.front(), 0);
    EXPECT_EQ(Keep::indices.back(), frames - 1);
    if (expected.empty()) expected = Keep::values;
    EXPECT_EQ(Keep::values, expected);
  }
  const float scale = std::ldexp(1.0f, Keep::format.exponent);
  run_graph(source + " ! infer dequantize=true model=" + model() + " ! keep", options());
  EXPECT_EQ(Keep::format.dtype, DType::float32);
  for (float& value : expected) value *= scale;
  EXPECT_EQ(Keep::values, expected);
}

// Packets of any size, as from a socket: larger blocks where as many frames have arrived, and the smallest
// for the rest, with gaps in between.
TEST_F(Infer, GivesTheSameFramesWhateverArrivesAtATime) {
  RUNNEL_NEEDS_DATA();
  std::mt19937 random(12);
  std::vector<float> samples;
  for (const std::int16_t sample : make_samples(80000)) samples.push_back(static_cast<float>(sample) / 32768);
  for (const bool gaps : {false, true}) {
    Lossy::sample_rate = 16000;
    Lossy::losses = gaps ? std::vector<Loss>{{20000, 1600}, {50000, 333}} : std::vector<Loss>{};
    std::vector<float> expected;
    std::vector<std::int64_t> indices;
    for (int run = 0; run < 12; ++run) {
      Packets::samples = samples;
      Packets::losses = Lossy::losses;
      Packets::sizes.clear();
      for (int i = 0; i < 64; ++i) Packets::sizes.push_back(run == 0 ? 160 : 1 + random() % (400 << run % 6));
      std::vector<const NodeType*> nodes(test_nodes().begin(), test_nodes().end());
      nodes.push_back(&Packets::type);
      GraphOptions with = options(run == 0 ? 160 : 16000);
      with.nodes = nodes;
      run_graph("packets ! " + front_end() + " ! infer chunk=" + (run == 0 ? "1" : "0") +
                    " model=" + model() + " ! keep",
                with);
      if (run == 0) {
        expected = Keep::values;
        indices = Keep::indices;
      }
      EXPECT_EQ(Keep::values, expected) << "run " << run;
      EXPECT_EQ(Keep::indices, indices) << "run " << run;
    }
    EXPECT_GT(expected.size(), 12U * 400);
  }
}

TEST_F(Infer, NamesBothSidesOfAMismatch) {
  RUNNEL_NEEDS_DATA();
  const fs::path wav = fs::directory_iterator(digits() / "eval_wav")->path();
  const std::string source = "wav path=" + wav.string();
  EXPECT_EQ(failure_of(source + " ! fbank num_mel_bins=80 ! infer model=" + model() + " ! null", options()),
            "fbank gives 80 values per frame, input 'logmel' of " + model() + " takes 40");
  EXPECT_NE(failure_of(source + " ! " + front_end() + " ! infer model=" + model() + " output=nothing ! null",
                       options())
                .find("no such output; it has 'logits'"),
            std::string::npos);
  EXPECT_NE(failure_of(source + " ! " + front_end() + " ! infer model=/no/model ! null", options())
                .find("/no/model"),
            std::string::npos);
  EXPECT_EQ(failure_of(source + " ! " + front_end() + " ! infer model=x ! null", {.nodes = test_nodes()}),
            "infer: this program cannot load models");
}

TEST_F(Infer, DropsInputUpToItsGridBehindAGap) {
  RUNNEL_NEEDS_DATA();
  Lossy::sample_rate = 16000;
  Lossy::samples.clear();
  for (const std::int16_t sample : make_samples(32000))
    Lossy::samples.push_back(static_cast<float>(sample) / 32768);
  Lossy::losses = {{16000, 1600}};
  run_graph("lossy ! " + front_end() + " ! infer chunk=4 model=" + model() + " ! keep", options(1000));
  const std::vector<float> all = Keep::values;
  const std::vector<std::int64_t> indices = Keep::indices;
  Lossy::losses.clear();
  Lossy::samples.erase(Lossy::samples.begin(), Lossy::samples.begin() + 17600);
  run_graph("lossy ! " + front_end() + " ! infer model=" + model() + " ! keep", options(64));
  ASSERT_EQ(indices.size(), 98 + Keep::indices.size()) << "the first piece has 98 whole windows";
  EXPECT_EQ(indices[98], 110);
  EXPECT_TRUE(std::equal(Keep::values.begin(), Keep::values.end(), all.begin() + 98 * 12));
}

// The whole chain on 90 seconds of running speech. Ground truth and figures: the data's own documentation.
TEST_F(Infer, SpotsTheDigitsOfRunningSpeech) {
  RUNNEL_NEEDS_DATA();
  const auto truth = nlohmann::json::parse(read_text(digits() / "stitched_90s.json"));
  std::vector<std::string> labels;
  std::vector<Event> events;
  for (const std::int64_t tick : {1024, 160}) {
    run_graph("wav path=" + (digits() / "stitched_90s.wav").string() + " ! " + front_end() +
                  " ! infer chunk=16 model=" + model() + " ! detect " + kLabels +
                  "smoothing_frames=25 threshold=0.85 release=0.51 refractory_frames=25 ! keep",
              options(tick));
    if (!events.empty()) {
      EXPECT_EQ(Keep::labels, labels);
    }
    labels = Keep::labels;
    events = Keep::events;
  }
  int digits_said = 0, hits = 0;
  std::vector<bool> used(events.size(), false);
  for (const auto& word : truth["events"]) {
    if (word["label"] == "unknown") continue;
    ++digits_said;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const double time = static_cast<double>(events[i].end) / 16000;
      if (used[i] || labels[i] != word["label"] || time < word["start"] ||
          time > static_cast<double>(word["end"]) + 0.5)
        continue;
      used[i] = true;
      ++hits;
      EXPECT_LT(events[i].begin, events[i].end);
      EXPECT_GE(static_cast<double>(events[i].begin) / 16000, static_cast<double>(word["start"]) - 0.03)
          << "the span begins within the word";
      EXPECT_LE(static_cast<double>(events[i].begin) / 16000, static_cast<double>(word["end"]) + 0.25);
      break;
    }
  }
  EXPECT_EQ(digits_said, 44);
  EXPECT_EQ(hits, 44);
  EXPECT_EQ(events.size(), 45u) << "and one false alarm";
}

TEST_F(Infer, DecidesClips) {
  RUNNEL_NEEDS_DATA();
  std::string labels = read_text(digits() / "labels.csv");
  int right = 0, clips = 0;
  for (const auto& entry : fs::directory_iterator(digits() / "eval_wav")) {
    if (++clips > 60) break;
    run_graph("wav path=" + entry.path().string() + " ! " + front_end() +
                  " ! infer chunk=32 model=" + model() + " ! detect mode=clip " + kLabels + " ! keep",
              options());
    ASSERT_EQ(Keep::events.size(), 1u);
    const std::size_t line = labels.find(entry.path().filename().string());
    ASSERT_NE(line, std::string::npos);
    const std::size_t comma = labels.find(',', line);
    right += labels.substr(comma + 1, Keep::labels[0].size()) == Keep::labels[0] ? 1 : 0;
    EXPECT_EQ(Keep::events[0].begin, 0);
  }
  EXPECT_GE(right, 55);
}

}  // namespace
}  // namespace runnel::pipeline::test
