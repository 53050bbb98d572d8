// A model that is skipped during an overload: indices continue, skipped frames are 0 and counted, and it
// comes back.
#include "pipeline/nodes/host/model/live_infer.h"

#include <gtest/gtest.h>

#include "compiler/import/load.h"
#include "pipeline/nodes/host/live/live_source.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

// Samples of `Lossy`, from a source that is overloaded for some of them.
class Busy final : public Node, public LiveSource {
 public:
  static const NodeType type;
  static std::int64_t from, to;

  Status prepare(NodeContext& context) noexcept override {
    context.output.kind = Kind::audio;
    context.output.dtype = DType::float32;
    context.output.channels = 1;
    context.output.clock.sample_rate = 16000;
    context.output.source = "busy";
    context.max_output = context.max_input;
    return {};
  }
  Status process(const Block&, Output& out) noexcept override {
    out.count = std::min(out.capacity, static_cast<std::int64_t>(Lossy::samples.size()) - position_);
    std::copy_n(Lossy::samples.begin() + position_, out.count, out.as<float>());
    position_ += out.count;
    out.end = position_ == static_cast<std::int64_t>(Lossy::samples.size());
    return {};
  }
  CaptureFacts capture_facts() const override { return {.period = 160}; }
  std::int64_t waited_nanoseconds() const noexcept override { return 0; }
  bool overloaded() const noexcept override { return position_ >= from && position_ < to; }

 private:
  std::int64_t position_ = 0;
};
const NodeType Busy::type = {.name = "busy",
                             .help = "Samples.",
                             .input = {},
                             .output = {static_cast<Kinds>(Kind::audio), "test"},
                             .parameters = {},
                             .make = make_node<Busy>};
std::int64_t Busy::from = 0;
std::int64_t Busy::to = 0;

TEST(LiveInfer, SkippedFramesAreZeroAndCounted) {
  RUNNEL_NEEDS_DATA();
  Lossy::samples.clear();
  for (const std::int16_t sample : make_samples(96000))
    Lossy::samples.push_back(static_cast<float>(sample) / 32768);
  compiler::FileLoader loader;
  std::vector<const NodeType*> nodes(test_nodes().begin(), test_nodes().end());
  nodes.push_back(&Busy::type);
  for (const std::int64_t tick : {160, 1000}) {
    GraphOptions options;
    options.nodes = nodes;
    options.tick = tick;
    options.models = &loader;
    options.operators = all_operators();
    const std::string text =
        "busy ! fbank preset=kaldi scale=int16 num_mel_bins=40 low_freq=20 high_freq=7600 ! infer model=" +
        (runnel::test::data_folder() / "digits/digits_c_s8.espdl").string() + " ! keep";
    Busy::from = Busy::to = 0;
    run_graph(text, options);
    const std::vector<float> whole = Keep::values;
    const std::vector<std::int64_t> indices = Keep::indices;
    Busy::from = 16000;
    Busy::to = 32000;
    const auto graph = run_graph(text, options);
    EXPECT_EQ(Keep::indices, indices) << "no frame is missing";
    ASSERT_EQ(Keep::values.size(), whole.size());
    std::int64_t zeros = 0, first = -1, last = -1;
    for (std::size_t frame = 0; frame < indices.size(); ++frame) {
      const auto begin = Keep::values.begin() + static_cast<std::ptrdiff_t>(12 * frame);
      if (!std::all_of(begin, begin + 12, [](float value) { return value == 0; })) continue;
      ++zeros;
      if (first < 0) first = static_cast<std::int64_t>(frame);
      last = static_cast<std::int64_t>(frame);
    }
    const auto* model = dynamic_cast<const LiveInfer*>(graph->stage(2).node);
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->skipped(), zeros);
    EXPECT_EQ(last - first + 1, zeros) << "in one piece";
    EXPECT_NEAR(static_cast<double>(zeros), 100, 8) << "a second";
    EXPECT_NE(graph->summary().find("\"skipped_frames\":" + std::to_string(zeros)), std::string::npos)
        << graph->summary();
    EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + 12 * first, Keep::values.begin()))
        << "nothing else before it";
    // What it had heard before the skipped frames it has forgotten; some seconds later that makes no
    // difference.
    EXPECT_TRUE(std::equal(whole.end() - 12 * 100, whole.end(), Keep::values.end() - 12 * 100));
    EXPECT_NE(graph->stage(2).node->note().view().find("frames of the model were skipped"),
              std::string_view::npos);
  }
  Lossy::samples.clear();
}

}  // namespace
}  // namespace runnel::pipeline::test
