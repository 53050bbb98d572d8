// runnel run: a text graph or a .rnlg file.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/graphs.h"
#include "apps/page.h"
#include "apps/verbs.h"
#include "base/host/small_file.h"
#include "pipeline/host/registry.h"
#include "pipeline/nodes/host/nodes.h"

namespace runnel::apps {
namespace {

struct RunCall {
  std::string graph, source, model, on_gap = "reset";
  std::vector<std::string> ends;
  std::int64_t tick = 1024;
  int threads = 1;
  ModelFlags flags;
  PageFlags page;
};

// Replaces the only source of the graph by `source`, and the only model file by `model`.
Result<std::string> with_replacements(const RunCall& call, std::string_view text) {
  RUNNEL_ASSIGN(pipeline::GraphText graph, pipeline::parse_graph(text));
  const auto only = [&](std::string_view flag, const auto& matches) -> Result<pipeline::NodeText*> {
    pipeline::NodeText* found = nullptr;
    int count = 0;
    for (pipeline::NodeText& node : graph.nodes) {
      if (!matches(node)) continue;
      found = &node;
      ++count;
    }
    if (count != 1)
      return Status(Code::invalid_argument)
             << flag << ": the graph has " << count << " of what it replaces, expected 1";
    return found;
  };
  if (!call.source.empty()) {
    RUNNEL_ASSIGN(const pipeline::GraphText source, pipeline::parse_graph(call.source));
    if (source.nodes.size() != 1)
      return Status(Code::invalid_argument)
             << "--source \"" << call.source << "\": expected one source, e.g. wav path=a.wav";
    RUNNEL_ASSIGN(pipeline::NodeText* const node,
                  only("--source", [](const pipeline::NodeText& each) { return each.input < 0; }));
    node->type = source.nodes[0].type;
    node->parameters = source.nodes[0].parameters;
  }
  if (!call.model.empty()) {
    RUNNEL_ASSIGN(pipeline::NodeText* const node,
                  only("--model", [](const pipeline::NodeText& each) { return each.type == "infer"; }));
    std::erase_if(node->parameters,
                  [](const pipeline::ParameterText& parameter) { return parameter.key == "model"; });
    node->parameters.push_back({"model", call.model, 0});
  }
  return pipeline::to_text(graph);
}

// The text to run; empty: the graph as given.
Result<std::string> replaced_text(const RunCall& call, bool is_file) {
  if (call.source.empty() && call.model.empty()) return std::string();
  if (!is_file) return with_replacements(call, call.graph);
  RUNNEL_ASSIGN(const std::string text, read_small_file(call.graph));
  Result<std::string> replaced = with_replacements(call, text);
  if (!replaced.ok()) return replaced.status().at(call.graph);
  return replaced;
}

// What an end of a model's graph is: `text` as it is when it begins with the name of a node of that kind
// (`source`, or a sink), else a recording.
std::string end_text(const std::string& text, bool source) {
  const std::string_view type = std::string_view(text).substr(0, text.find(' '));
  for (const pipeline::NodeType* const node : pipeline::host_nodes()) {
    if (node->name == type && (source ? node->input : node->output).kinds == 0) return text;
  }
  if (!source && text.ends_with(".jsonl")) return "jsonl path=" + pipeline::quote_value(text);
  if (!source && text.ends_with(".npy")) return "npy path=" + pipeline::quote_value(text);
  return "wav path=" + pipeline::quote_value(text);
}

// `runnel run MODEL in=... out=...`: the ends, without what is before the sign.
struct Ends {
  std::string in, out;
};
Result<Ends> ends_of(const RunCall& call) {
  Ends ends;
  for (const std::string& end : call.ends) {
    const bool first = end.starts_with("in="), second = end.starts_with("out=");
    if (!first && !second)
      return Status(Code::invalid_argument)
             << end << ": expected in=RECORDING or out=RECORDING, or a node in place of a recording";
    std::string& to = first ? ends.in : ends.out;
    if (!to.empty()) return Status(Code::invalid_argument) << end << ": given twice, expected once";
    to = end.substr(first ? 3 : 4);
    if (to.empty())
      return Status(Code::invalid_argument)
             << end << ": nothing after the sign, expected a recording or a node";
  }
  if (call.ends.empty()) return ends;
  if (!call.source.empty() || !call.model.empty())
    return Status(Code::invalid_argument)
           << (call.source.empty() ? "--model" : "--source")
           << ": for graphs; of a model, in= is the source and the model is named already";
  if (is_graph(call.graph))
    return Status(Code::invalid_argument)
           << call.ends.front() << ": for models, as in `runnel run denoise in=a.wav out=b.wav`; a graph has "
           << "its own source and sinks";
  if (ends.in.empty() || ends.out.empty())
    return Status(Code::invalid_argument)
           << call.graph << ": " << (ends.in.empty() ? "in=" : "out=")
           << " is missing; expected in=RECORDING out=RECORDING, or nodes such as in=alsa out=alsa";
  return ends;
}

// The graph of a model between them.
Result<std::string> graph_of_model(const RunCall& call, compiler::FileLoader& loader) {
  RUNNEL_ASSIGN(const Ends ends, ends_of(call));
  RUNNEL_ASSIGN(const std::string around, text_between({call.graph, {}, {}}, loader));
  RUNNEL_ASSIGN(const Model* const model, loader.load(call.graph));
  // Not every front end says which rate it was made for; at that rate, this node changes nothing.
  const int rate = model->pipeline() == nullptr ? 0 : model->pipeline()->sample_rate();
  const std::string at_rate = rate > 0 ? " ! resample rate=" + std::to_string(rate) : std::string();
  return end_text(ends.in, true) + at_rate + " ! " + around + " ! " + end_text(ends.out, false);
}

Status run_graph(const RunCall& call) {
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  pipeline::GraphOptions options = graph_options(loader);
  options.tick = call.tick;
  options.threads = call.threads;
  options.on_gap = call.on_gap == "zeros" ? pipeline::OnGap::zeros : pipeline::OnGap::reset;
  RUNNEL_ASSIGN(const std::unique_ptr<Display> display, Display::start(call.page, options));
  const bool is_file = call.graph.ends_with(".rnlg");
  RUNNEL_ASSIGN(const std::string replaced,
                call.ends.empty() ? replaced_text(call, is_file) : graph_of_model(call, loader));
  // If the new source has another format than the graph was written for, conversions are inserted.
  options.insert_conversions = !call.source.empty() || !call.ends.empty();
  auto built = !replaced.empty() ? pipeline::Graph::build(replaced, options)
               : is_file         ? pipeline::Graph::load(call.graph, options)
                                 : pipeline::Graph::build(call.graph, options);
  for (const std::string& note : loader.take_notes()) say(note);
  if (!built.ok()) return built.status();
  catch_signals();
  const std::unique_ptr<pipeline::Graph> graph = std::move(built).value();
  if (const std::string latency = graph->latency(); !latency.empty()) say(latency);
  display->show(*graph);
  const Status status = graph->run();
  display->end();
  std::printf("%s\n", graph->summary().c_str());
  return status;
}

}  // namespace

void add_run(Verb verb, int& exit_code) {
  auto call = std::make_shared<RunCall>();
  verb.positional("GRAPH", call->graph,
                  "The graph, or a file whose name ends in .rnlg; with in= and out=, a model")
      .required();
  verb.positional("ENDS", call->ends,
                  "Of a model: in=RECORDING out=RECORDING, or nodes instead: in=alsa "
                  "out=\"pipewire target=speaker\"")
      .default_str("");
  verb.option("--source", call->source,
              "Instead of the graph's source, e.g. \"wav path=a.wav\" or \"alsa device=default\"; "
              "required conversions are inserted (default: the graph's own)");
  verb.option("--model", call->model, "Instead of the graph's model file (default: the graph's own)");
  verb.option("--tick", call->tick, "Source samples per step").range(1, 1 << 20);
  verb.option("--on-gap", call->on_gap,
              "Lost samples: reset after them (reset), or replace them by zeros (zeros)")
      .choices({"reset", "zeros"});
  add_graph_threads_flag(verb, call->threads);
  add_page_flags(verb, call->page);
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    if (const auto ends = ends_of(*call); !ends.ok()) {
      fail(ends.status());
      exit_code = 2;  // a wrong call
      return;
    }
    if (const Status status = run_graph(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
