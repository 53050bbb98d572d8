#include "bench/digits_graph.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/host/heap_memory.h"
#include "bench/memory_source.h"
#include "compiler/import/load.h"
#include "inference/prepared.h"
#include "inference/session_group.h"
#include "pipeline/host/graph.h"
#include "pipeline/host/promise.h"

namespace runnel::bench {
namespace {

constexpr std::int64_t kSeconds = 20;  // of the source, as it is by default

// Processor seconds, because a run is long enough for other programs to interrupt it.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The time of the graph, without its construction.
Result<double> time(const std::string& text, const pipeline::GraphOptions& options) {
  RUNNEL_ASSIGN(const auto graph, pipeline::Graph::build(text, options));
  const double start = processor_seconds();
  RUNNEL_TRY(graph->run());
  return processor_seconds() - start;
}

struct DigitsTexts {
  std::string front, all;  // the graph down to the features; all of it
};
Result<DigitsTexts> texts_of(const std::string& model, std::int64_t chunk, compiler::FileLoader& loader) {
  RUNNEL_ASSIGN(const Model* const digits, loader.load(model));
  if (digits->pipeline() == nullptr || digits->pipeline()->front_end() == nullptr ||
      digits->pipeline()->decision() == nullptr) {
    return Status(Code::unsupported) << model << " has no front end and decision";
  }
  DigitsTexts texts;
  texts.front = "memory ! " + digits->pipeline()->front_end()->str();
  texts.all = texts.front + " ! infer chunk=" + std::to_string(chunk) + " model=\"" + model + "\" ! " +
              digits->pipeline()->decision()->str() + " ! null";
  return texts;
}

pipeline::GraphOptions options_for(pipeline::NodeTable nodes, compiler::FileLoader& loader) {
  pipeline::GraphOptions options;
  options.nodes = nodes;
  options.models = &loader;
  options.operators = all_operators();
  return options;
}

// Processor seconds of several runs of the whole graph, at least one.
Result<std::vector<double>> graph_times(const std::string& model, std::int64_t chunk, std::int64_t tick,
                                        int runs) {
  compiler::FileLoader loader;
  RUNNEL_ASSIGN(const DigitsTexts texts, texts_of(model, chunk, loader));
  const std::vector<const pipeline::NodeType*> nodes =
      pipeline::with_nodes(pipeline::host_nodes(), {&MemorySource::type});
  pipeline::GraphOptions options = options_for(nodes, loader);
  options.tick = tick;
  std::vector<double> times;
  for (int i = 0; i < std::max(runs, 1); ++i) {
    RUNNEL_ASSIGN(const double seconds, time(texts.all, options));
    times.push_back(seconds);
  }
  return times;
}

}  // namespace

Result<double> digits_cost(const std::string& model, std::int64_t chunk, std::int64_t tick, int rounds) {
  RUNNEL_ASSIGN(const std::vector<double> times, graph_times(model, chunk, tick, rounds));
  return *std::min_element(times.begin(), times.end()) / static_cast<double>(kSeconds);
}

Result<double> digits_mean_cost(const std::string& model, std::int64_t chunk, std::int64_t tick,
                                double seconds) {
  RUNNEL_ASSIGN(
      const std::vector<double> times,
      graph_times(model, chunk, tick, static_cast<int>(std::ceil(seconds / static_cast<double>(kSeconds)))));
  return std::accumulate(times.begin(), times.end(), 0.0) /
         static_cast<double>(kSeconds * static_cast<std::int64_t>(times.size()));
}

Result<double> digits_joint_gain(const std::string& model, std::int64_t chunk, std::size_t sessions,
                                 int rounds) {
  constexpr std::int64_t kFrames = 16384;  // of all streams in a round
  compiler::FileLoader loader;
  RUNNEL_ASSIGN(const Model* const digits, loader.load(model));
  HeapMemory memory;
  PrepareOptions options;
  options.frames = chunk;
  RUNNEL_ASSIGN(const Prepared* const prepared, Prepared::make(*digits, all_operators(), options, memory));
  RUNNEL_ASSIGN(SessionGroup group, SessionGroup::make(*prepared, sessions, memory));
  const std::int64_t blocks =
      std::max<std::int64_t>(1, kFrames / (chunk * static_cast<std::int64_t>(sessions)));
  double together = 0, apart = 0;
  for (int round = 0; round < rounds; ++round) {
    const double start = processor_seconds();
    for (std::int64_t i = 0; i < blocks; ++i) group.run();
    const double middle = processor_seconds();
    for (std::size_t s = 0; s < sessions; ++s) {
      for (std::int64_t i = 0; i < blocks; ++i) group.session(s).run(chunk);
    }
    const double end = processor_seconds();
    together = round == 0 ? middle - start : std::min(together, middle - start);
    apart = round == 0 ? end - middle : std::min(apart, end - middle);
  }
  return apart / together;
}

Result<DigitsSpeed> measure_digits(const std::string& model, int rounds) {
  compiler::FileLoader loader;
  // As recordings are read (services/listen/model_graph.h).
  constexpr std::int64_t kFramesTogether = 32;
  RUNNEL_ASSIGN(const DigitsTexts texts, texts_of(model, kFramesTogether, loader));
  const auto& [front, all] = texts;
  const std::vector<const pipeline::NodeType*> nodes =
      pipeline::with_nodes(pipeline::host_nodes(), {&MemorySource::type});
  const pipeline::GraphOptions options = options_for(nodes, loader);
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
