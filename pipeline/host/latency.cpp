#include "pipeline/host/latency.h"

#include <algorithm>
#include <numeric>

#include "pipeline/host/graph.h"
#include "pipeline/host/promise.h"
#include "pipeline/host/registry.h"
#include "pipeline/nodes/decide/detect.h"
#include "pipeline/nodes/host/act/watch.h"

namespace runnel::pipeline {
namespace {

// A source of endless silence.
class Silence final : public Node {
 public:
  static const NodeType type;

  std::int64_t rate = 16000;
  std::int32_t channels = 1;
  std::int64_t hop = 1;  // of sources whose rate is a fraction

  Status prepare(NodeContext& context) noexcept override {
    context.output.kind = Kind::audio;
    context.output.dtype = DType::float32;
    context.output.channels = channels;
    context.output.clock = {.sample_rate = rate, .hop = hop, .begin = 0, .span = hop, .denominator = 1};
    context.max_output = context.max_input;
    return {};
  }
  Status process(const Block&, Output& out) noexcept override {
    out.count = out.capacity;
    std::fill_n(out.as<float>(), out.count * channels, 0.0f);
    return {};
  }
};

constexpr Parameter kParameters[] = {
    parameter<&Silence::rate>("rate", "", 1, 1e18, "of the sound"),
    parameter<&Silence::channels>("channels", "", 1, 1e9, "of the sound"),
    parameter<&Silence::hop>("hop", "", 1, 1e18, "units of time per sample")};

const NodeType Silence::type = {.name = "silence",
                                .help = "Silence.",
                                .input = {},
                                .output = {static_cast<Kinds>(Kind::audio), "float32"},
                                .parameters = kParameters,
                                .make = make_node<Silence>};

// Frames of an output that are measured, after those that are skipped at its start. Samples may come in
// larger blocks: at least so many of these.
constexpr std::int64_t kStart = 16, kLookedAt = 96, kBlocks = 6;
// If an output has given fewer by then, those are used.
constexpr double kLongestSeconds = 12;

// The same graph with silence as its source and `null` as its sinks.
Result<GraphText> dry(const Graph& graph) {
  GraphText text = graph.text();
  const Format& source = graph.format(0);
  for (NodeText& node : text.nodes) {
    const auto parameter = [&node](const char* key, std::int64_t value) {
      node.parameters.push_back({key, std::to_string(value), 0});
    };
    if (node.input < 0) {
      node.type = "silence";
      node.parameters.clear();
      parameter("rate", source.clock.sample_rate);
      parameter("channels", source.channels);
      parameter("hop", source.clock.hop);
      continue;
    }
    RUNNEL_ASSIGN(const NodeType* const type, find_node(graph.options().nodes, node.type, true));
    if (type->output.kinds != 0) continue;
    node.type = "null";
    node.parameters.clear();
  }
  return text;
}

// The stage whose frames an output is about: that of a detector's input.
int deciding_stage(const Graph& graph, int stage, std::int64_t& more_frames) {
  stage = graph.inputs(stage)[0];
  while (graph.format(stage).kind == Kind::events) {
    if (const auto* detect = dynamic_cast<const Detect*>(graph.stage(stage).node); detect != nullptr)
      more_frames += detect->endpoint_frames;
    stage = graph.inputs(stage)[0];
  }
  return stage;
}

}  // namespace

OutputDelay longest_delay(const std::vector<std::int64_t>& arrivals, const std::vector<std::int64_t>& ends,
                          std::int64_t period) {
  // The period: the number of frames after which the pattern repeats.
  const std::size_t count = arrivals.size();
  std::size_t repeat = 1;
  const auto repeats = [&](std::size_t distance) {
    for (std::size_t i = 0; i + distance < count; ++i) {
      if (arrivals[i + distance] - arrivals[i] != arrivals[distance] - arrivals[0] ||
          ends[i + distance] - ends[i] != arrivals[distance] - arrivals[0])
        return false;
    }
    return true;
  };
  while (repeat < count && !repeats(repeat)) ++repeat;
  const std::int64_t distance = repeat < count ? arrivals[repeat] - arrivals[0] : 0;
  // Relative to the start of a device period, an arrival can only move by multiples of this.
  const std::int64_t raster = std::gcd(distance, period);
  std::int64_t least = arrivals[0] - ends[0], most = least, total = least;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t delay = arrivals[i] - ends[i];
    const std::int64_t place = arrivals[i] % raster;
    least = std::min(least, delay);
    most = std::max(most, delay);
    total = std::max(total, delay + period - (place == 0 ? raster : place));
  }
  OutputDelay result;
  result.known = true;
  result.lookahead = least;
  result.block = most - least;
  result.device = total - most;
  return result;
}

Result<std::vector<OutputDelay>> output_delays(const Graph& graph, std::int64_t period) {
  RUNNEL_ASSIGN(const GraphText text, dry(graph));
  GraphOptions options = graph.options();
  const auto nodes = with_nodes(options.nodes, {&Silence::type});
  options.nodes = nodes;
  options.tick = 1;
  options.stop = nullptr;
  options.note = {};
  options.amend = {};  // its text has been amended already
  options.time_nodes = false;
  options.threads = 1;
  options.placement.clear();
  RUNNEL_ASSIGN(const std::unique_ptr<Graph> dry_graph, Graph::build(text, options));
  struct Watched {
    OutputDelay delay;
    int stage = -1;         // whose frames
    std::int64_t more = 0;  // samples that an event waits for its end
    std::int64_t seen = 0, blocks = 0;
    std::vector<std::int64_t> arrivals, ends;
  };
  std::vector<Watched> outputs;
  for (int i = 1; i < graph.size(); ++i) {
    // A `watch` is not an output.
    if (graph.stage(i).type->output.kinds != 0 || graph.stage(i).type == &Watch::type) continue;
    Watched& output = outputs.emplace_back();
    output.delay.stage = i;
    std::int64_t more_frames = 0;
    output.stage = deciding_stage(*dry_graph, i, more_frames);
    const Clock& clock = dry_graph->format(output.stage).clock;
    output.more = more_frames * clock.hop / clock.denominator;
  }
  const std::int64_t hop = graph.format(0).clock.hop;
  const auto longest = static_cast<std::int64_t>(kLongestSeconds * graph.format(0).clock.hz());
  bool done = false;
  for (std::int64_t given = 1; given <= longest; ++given) {
    RUNNEL_TRY(dry_graph->step(done));
    bool enough = true;
    for (Watched& output : outputs) {
      const std::int64_t produced = dry_graph->executor().produced(output.stage);
      const Clock& clock = dry_graph->format(output.stage).clock;
      if (output.seen < produced) ++output.blocks;
      for (; output.seen < produced; ++output.seen) {
        output.arrivals.push_back(given * hop);
        output.ends.push_back(clock.end_sample(output.seen));
      }
      enough = enough && output.seen >= kStart + kLookedAt && output.blocks >= kBlocks;
    }
    if (enough) break;
  }
  std::vector<OutputDelay> delays;
  for (Watched& output : outputs) {
    // Of few frames the later half, of many those after the warm-up.
    auto start = static_cast<std::ptrdiff_t>(std::min<std::size_t>(kStart, output.arrivals.size() / 2));
    if (!output.arrivals.empty()) {
      // The rest of a block has waited less than its first frame.
      const auto rest =
          std::upper_bound(output.arrivals.begin() + start, output.arrivals.end(),
                           start > 0 ? output.arrivals[static_cast<std::size_t>(start) - 1] : 0);
      if (rest != output.arrivals.end()) start = rest - output.arrivals.begin();
      output.arrivals.erase(output.arrivals.begin(), output.arrivals.begin() + start);
      output.ends.erase(output.ends.begin(), output.ends.begin() + start);
      const int stage = output.delay.stage;
      output.delay = longest_delay(output.arrivals, output.ends, period * hop);
      output.delay.stage = stage;
      output.delay.lookahead += output.more;
    }
    delays.push_back(output.delay);
  }
  return delays;
}

}  // namespace runnel::pipeline
