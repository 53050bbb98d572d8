#include "bench/digits_graph.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "compiler/load.h"
#include "pipeline/host/graph.h"

namespace runnel::bench {
namespace {

constexpr std::int64_t kRate = 16000, kSeconds = 20;

// Gives samples that are in memory already.
class MemorySource final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  Status prepare(pipeline::PrepareContext& context) noexcept override {
    context.output.kind = pipeline::Kind::audio;
    context.output.dtype = DType::float32;
    context.output.channels = 1;
    context.output.clock.sample_rate = kRate;
    context.output.source = "memory";
    context.max_output = context.max_input;
    return {};
  }
  Status process(const pipeline::Block&, pipeline::Output& out) noexcept override {
    const auto size = static_cast<std::int64_t>(samples().size());
    out.count = std::min(out.capacity, size - position_);
    std::copy_n(samples().begin() + position_, out.count, out.as<float>());
    position_ += out.count;
    out.end = position_ == size;
    return {};
  }

 private:
  static const std::vector<float>& samples() {
    static const std::vector<float> made = [] {
      std::mt19937 random(4);
      std::vector<float> x(static_cast<std::size_t>(kRate * kSeconds));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double t = static_cast<double>(i) / kRate;
        const double noise = static_cast<double>(random() % 2001) / 1000 - 1;
        x[i] = static_cast<float>(0.2 * std::sin(6.28 * 3 * t) * std::sin(6.28 * 220 * t) + 0.02 * noise);
      }
      return x;
    }();
    return made;
  }
  std::int64_t position_ = 0;
};

const pipeline::NodeType MemorySource::type = {.name = "memory",
                                               .help = "Samples in memory.",
                                               .input = {},
                                               .output = {static_cast<pipeline::Kinds>(pipeline::Kind::audio), "samples"},
                                               .parameters = {},
                                               .make = pipeline::make_node<MemorySource>};

// Seconds of the processor: a run is long enough for other programs to come between.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// What the graph takes, its making not counted.
Result<double> time(const std::string& text, const pipeline::GraphOptions& options) {
  RUNNEL_ASSIGN(const auto graph, pipeline::Graph::build(text, options));
  const double start = processor_seconds();
  RUNNEL_TRY(graph->run());
  return processor_seconds() - start;
}

}  // namespace

Result<DigitsSpeed> measure_digits(const std::string& model, int rounds) {
  compiler::FileLoader loader;
  RUNNEL_ASSIGN(const Model* const digits, loader.load(model));
  if (digits->pipeline() == nullptr || digits->pipeline()->front_end() == nullptr || digits->pipeline()->decision() == nullptr) {
    return Status(Code::unsupported) << model << " has no front end and decision";
  }
  std::vector<const pipeline::NodeType*> nodes{&MemorySource::type};
  for (const pipeline::NodeType* type : pipeline::host_nodes()) nodes.push_back(type);
  pipeline::GraphOptions options;
  options.nodes = nodes;
  options.models = &loader;
  options.operators = all_operators();
  const std::string front = "memory ! " + digits->pipeline()->front_end()->str();
  const std::string all = front + " ! infer model=\"" + model + "\" ! " + digits->pipeline()->decision()->str() + " ! null";
  std::vector<double> whole, part;
  for (int i = 0; i < rounds; ++i) {
    RUNNEL_ASSIGN(const double seconds, time(all, options));
    RUNNEL_ASSIGN(const double front_seconds, time(front + " ! null", options));
    whole.push_back(seconds);
    part.push_back(front_seconds);
  }
  std::sort(whole.begin(), whole.end());
  std::sort(part.begin(), part.end());
  const double median = whole[whole.size() / 2];
  return DigitsSpeed{.real_time = kSeconds / median,
                     .real_time_best = kSeconds / whole.front(),
                     .front_end_share = part.front() / whole.front(),
                     .step_us = median * 1e6 / (100.0 * kSeconds)};
}

}  // namespace runnel::bench
