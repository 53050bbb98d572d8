#include "bench/threaded_graphs.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/host/joined_thread.h"
#include "bench/memory_source.h"
#include "compiler/import/load.h"
#include "pipeline/host/graph.h"
#include "pipeline/host/promise.h"

namespace runnel::bench {
namespace {

constexpr int kSeconds = 600;
// What `run` takes at once unless told otherwise, and what `listen` and `batch` take from recordings.
constexpr std::int64_t kTick = 1024, kLargeTick = 5120;

template <class T>
T need(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  fmt::print(stderr, "threads_bench: {}\n", result.status().text());
  std::exit(1);
}

// Runs again and again.
class Repeated {
 public:
  Repeated(const std::string& text, int threads, std::int64_t tick) {
    const auto nodes = pipeline::with_nodes(pipeline::host_nodes(), {&MemorySource::type});
    pipeline::GraphOptions options;
    options.nodes = nodes;
    options.models = &loader_;
    options.operators = all_operators();
    options.tick = tick;
    options.threads = threads;
    graph_ = need(pipeline::Graph::build(text, options));
  }
  void run() {
    graph_->restart();
    if (const Status status = graph_->run(); !status.ok()) {
      fmt::print(stderr, "threads_bench: {}\n", status.text());
      std::exit(1);
    }
  }
  [[nodiscard]] std::int64_t events() const { return graph_->executor().events(); }

 private:
  compiler::FileLoader loader_;
  std::unique_ptr<pipeline::Graph> graph_;
};

}  // namespace

std::vector<std::string> add_threaded_graphs(const std::string& model, int threads, Interleaved& cases) {
  compiler::FileLoader loader;
  const Model* const digits = need(loader.load(model));
  if (digits->pipeline() == nullptr || digits->pipeline()->front_end() == nullptr ||
      digits->pipeline()->decision() == nullptr) {
    fmt::print(stderr, "threads_bench: {} has no front end and decision\n", model);
    std::exit(1);
  }
  const std::string source = fmt::format("memory seconds={} name=in", kSeconds);
  const std::string front = digits->pipeline()->front_end()->str();
  const std::string branch =
      fmt::format("{} ! infer model=\"{}\" ! {} ! null", front, model, digits->pipeline()->decision()->str());
  std::string both = source + " ! " + branch;
  for (int i = 1; i < threads; ++i) both += " in. ! " + branch;

  std::vector<std::string> names;
  const auto add = [&](const std::string& name, const std::string& text, std::int64_t tick) {
    names.push_back(name);
    std::int64_t expected = 0;
    for (const int n : {1, threads}) {
      const auto graph = std::make_shared<Repeated>(text, n, tick);
      graph->run();
      if (n == 1) expected = graph->events();
      if (graph->events() != expected) {
        fmt::print(stderr, "threads_bench: {}: {} events on {} threads, {} on one\n", name, graph->events(),
                   n, expected);
        std::exit(1);
      }
      cases.add(
          fmt::format("{}/{}", name, n), [graph] { graph->run(); }, kSeconds);
    }
  };

  names.push_back(fmt::format("{} graphs that share nothing", threads));
  const auto alone = std::make_shared<std::vector<std::unique_ptr<Repeated>>>();
  for (int i = 0; i < threads; ++i)
    alone->push_back(std::make_unique<Repeated>(source + " ! " + branch, 1, kTick));
  cases.add(
      names[0] + "/1",
      [alone] {
        for (const auto& graph : *alone) graph->run();
      },
      kSeconds);
  cases.add(
      fmt::format("{}/{}", names[0], threads),
      [alone] {
        std::vector<JoinedThread> running;
        for (const auto& graph : *alone) running.emplace_back([&graph] { graph->run(); });
      },
      kSeconds);
  add(fmt::format("{} branches, 64 ms a step", threads), both, kTick);
  add(fmt::format("{} branches, 320 ms a step", threads), both, kLargeTick);
  add("one branch, 64 ms a step", source + " ! " + branch, kTick);
  add("one branch, 320 ms a step", source + " ! " + branch, kLargeTick);
  add("fbank alone, 64 ms a step", source + " ! " + front + " ! null", kTick);
  add("gain alone, 64 ms a step", source + " ! gain db=-6 ! null", kTick);
  return names;
}

}  // namespace runnel::bench
