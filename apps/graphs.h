// Text graphs around a model, for the ready-made verbs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "apps/command_line.h"
#include "apps/support.h"
#include "pipeline/host/graph.h"

namespace runnel::apps {

using pipeline::quote_value;

// The source of a recording with `tail` seconds of silence after it, and the flag that says so.
std::string wav_text(std::string_view path, double tail);
void add_tail_flag(Verb verb, double& tail);

// What stands around a model: taken from its file, or given.
struct ModelGraph {
  std::string model;                // path
  std::string front_end, decision;  // empty: as stored in the model
  std::int64_t chunk = 0;           // frames per run of a streamed model; 0: the smallest possible
};

// The same in parts. `frames_only`: no decision is needed. Errors as below.
struct GraphParts {
  std::string front_end, decision;
  bool logits = true;  // what the model gives, as far as the decision knows: not posteriors yet
};
Result<GraphParts> graph_parts(const ModelGraph& graph, const Model& model, bool frames_only = false);

// "FRONT END ! infer model=... ! DECISION" for a loaded model. Fails when the model has no front end or
// decision and none is given.
Result<std::string> text_around(const ModelGraph& graph, const Model& model);

// Whether such a graph holds together after mono sound of 16 kHz, to which `downmix` and `resample` may be
// added.
Status check_around(const std::string& around, compiler::FileLoader& loader);

// The same for text that brings its own ends, also those of batches (services/batch/sinks.h).
Status check_behind(const std::string& behind, compiler::FileLoader& loader);

// Set by SIGINT and SIGTERM once catch_signals() was called.
extern std::atomic<bool> stop_requested;
void catch_signals();

// Options of every graph that the program runs.
pipeline::GraphOptions graph_options(compiler::FileLoader& loader);

// Gives the lines of the graph's jsonl node to `sink`. False when it has none.
bool gather_lines(pipeline::Graph& graph, std::function<void(std::string_view)> sink);

}  // namespace runnel::apps
