// What the verbs that run a graph share: its options, checks of its text, signals.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "apps/command_line.h"
#include "apps/support.h"
#include "pipeline/host/graph.h"
#include "services/listen/model_graph.h"

namespace runnel::apps {

using listen::graph_parts;
using listen::GraphParts;
using listen::ModelGraph;
using listen::text_around;
using pipeline::quote_value;

// --tail: seconds of silence after a recording.
void add_tail_flag(Verb verb, double& tail);

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
