#include "apps/graphs.h"

#include <unistd.h>

#include <csignal>
#include <optional>

#include "apps/call/progress.h"
#include "base/host/small_file.h"
#include "npu/host/simulator/simulated_npu.h"
#include "pipeline/host/promise.h"
#include "pipeline/nodes/host/file/jsonl.h"
#include "services/batch/sinks.h"
#include "services/batch/transcript_rows.h"
#include "services/fleet/nodes/nodes.h"

namespace runnel::apps {

std::atomic<bool> stop_requested{false};

bool is_graph(const std::string& text) {
  return text.find('!') != std::string::npos || text.ends_with(".rnlg");
}

Result<std::string> text_between(const ModelGraph& graph, compiler::FileLoader& loader) {
  if (is_graph(graph.model)) {
    if (!graph.front_end.empty() || !graph.decision.empty() || graph.chunk > 0) {
      return Status(Code::invalid_argument,
                    "--front-end, --decision and --chunk are for models; a graph says these itself");
    }
    return graph.model.ends_with(".rnlg") ? read_small_file(graph.model) : graph.model;
  }
  const auto model = loader.load(graph.model);
  for (const std::string& note : loader.take_notes()) say(note);
  if (!model.ok()) return model.status();
  return text_around(graph, **model);
}

Status check_around(const std::string& around, compiler::FileLoader& loader) {
  return check_after_source(around + " ! jsonl", loader);
}

Status check_after_source(const std::string& after_source, compiler::FileLoader& loader) {
  pipeline::GraphOptions options = graph_options(loader);
  options.insert_conversions = true;
  options.note = {};
  const auto nodes =
      pipeline::with_nodes(options.nodes, {&pipeline::Promise::type, &batch::EventRows::type,
                                           &batch::FrameRows::type, &batch::TranscriptRows::type});
  options.nodes = nodes;
  return pipeline::Graph::build("sound ! " + after_source, options).status();
}

void add_tail_flag(Verb verb, double& tail) {
  verb.option("--tail", tail, "Seconds of silence after a recording, for a word at its end")
      .range(0.0, 3600.0);
}

void add_graph_threads_flag(Verb verb, int& threads) {
  verb.option(
          "--threads", threads,
          "Threads that the nodes and branches of the graph may run on, placed by measured cost where that "
          "is faster; the results are the same")
      .range(1, pipeline::kMaxGraphThreads);
}

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_requested = true; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Status run_with_progress(pipeline::Graph& graph, const std::string& wav) {
  std::optional<Patience> patience;
  if (!wav.empty() && isatty(STDOUT_FILENO) != 1) patience.emplace("listening to " + wav);
  return graph.run();
}

pipeline::GraphOptions graph_options(compiler::FileLoader& loader) {
  pipeline::GraphOptions options;
  options.nodes = fleet::nodes();
  options.models = &loader;
  options.operators = npu::simulating_operators();
  options.stop = &stop_requested;
  options.note = say;
  return options;
}

bool gather_lines(pipeline::Graph& graph, std::function<void(std::string_view)> sink) {
  for (int i = 0; i < graph.size(); ++i) {
    if (auto* jsonl = dynamic_cast<pipeline::Jsonl*>(graph.stage(i).node); jsonl != nullptr) {
      jsonl->sink = std::move(sink);
      return true;
    }
  }
  return false;
}

}  // namespace runnel::apps
