// Shared by the verbs that run a graph: options, checks of its text, signals.
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

// --threads: of a graph.
void add_graph_threads_flag(Verb verb, int& threads);

// Whether what a verb was given as its model is a graph: a text with "!", or a .rnlg file.
bool is_graph(const std::string& text);

// The graph between samples and events that a verb was given as its model: a text with "!", a .rnlg file, or
// a model with its front end and decision. Errors: those of reading and loading; invalid_argument for texts
// and chunks beside a graph, which states them itself.
Result<std::string> text_between(const ModelGraph& graph, compiler::FileLoader& loader);

// Builds a graph that makes events from mono sound of 16 kHz, inserting `downmix` and `resample` where
// needed. Errors: those of Graph::build.
Status check_around(const std::string& around, compiler::FileLoader& loader);

// The same for a graph with its own sinks, also those of batches (services/batch/sinks.h).
Status check_after_source(const std::string& after_source, compiler::FileLoader& loader);

// Set by SIGINT and SIGTERM once catch_signals() was called.
extern std::atomic<bool> stop_requested;
void catch_signals();

// Runs the graph. While it reads the recording `wav` (empty: another source), and its results do not go to a
// terminal, there is progress.
Status run_with_progress(pipeline::Graph& graph, const std::string& wav);

// The options of every graph that the program runs.
pipeline::GraphOptions graph_options(compiler::FileLoader& loader);

// Redirects the lines of the graph's jsonl node to `sink`. False when there is no such node.
bool gather_lines(pipeline::Graph& graph, std::function<void(std::string_view)> sink);

}  // namespace runnel::apps
