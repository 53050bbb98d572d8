// runnel run: a text graph or a .rnlg file.
#include <cstdio>

#include "apps/graphs.h"
#include "apps/page.h"
#include "apps/verbs.h"

namespace runnel::apps {
namespace {

struct RunCall {
  std::string graph, on_gap = "reset";
  std::int64_t tick = 1024;
  ModelFlags flags;
  PageFlags page;
};

Status run_graph(const RunCall& call) {
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  pipeline::GraphOptions options = graph_options(loader);
  options.tick = call.tick;
  options.on_gap = call.on_gap == "zeros" ? pipeline::OnGap::zeros : pipeline::OnGap::reset;
  RUNNEL_ASSIGN(const std::unique_ptr<page::LivePage> page, start_page(call.page, options));
  const bool is_file = call.graph.ends_with(".rnlg");
  auto built = is_file ? pipeline::Graph::load(call.graph, options) : pipeline::Graph::build(call.graph, options);
  for (const std::string& note : loader.take_notes()) say(note);
  if (!built.ok()) return built.status();
  catch_signals();
  const std::unique_ptr<pipeline::Graph> graph = std::move(built).value();
  if (const std::string latency = graph->latency(); !latency.empty()) say(latency);
  if (page != nullptr) page->show(*graph);
  const Status status = graph->run();
  std::printf("%s\n", graph->summary().c_str());
  return status;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<RunCall>();
  CLI::App* verb = app.add_subcommand("run", "Run a text graph, e.g. \"wav path=a.wav ! fbank ! npy path=a.npy\", or a .rnlg file");
  verb->add_option("GRAPH", call->graph, "The graph, or a file whose name ends in .rnlg")->required();
  verb->add_option("--tick", call->tick, "Source samples per step")->check(CLI::Range(1, 1 << 20));
  verb->add_option("--on-gap", call->on_gap, "Lost samples: start afresh behind them (reset), or put zeros in their place (zeros)")
      ->check(CLI::IsMember({"reset", "zeros"}));
  add_page_flags(verb, call->page);
  add_model_flags(verb, call->flags);
  verb->callback([call, &exit_code] {
    if (const Status status = run_graph(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
