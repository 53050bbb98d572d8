// runnel listen: live decisions of a model, one JSON object per line.
#include <cstdio>

#include "apps/graphs.h"
#include "apps/verbs.h"

namespace runnel::apps {
namespace {

struct ListenCall {
  ModelGraph graph;
  std::string device = "default", wav, on_gap = "reset";
  ModelFlags flags;
  double duration = 0, tail = 0;
};

Status run_listen(const ListenCall& call) {
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  const auto model = loader.load(call.graph.model);
  for (const std::string& note : loader.take_notes()) say(note);
  if (!model.ok()) return model.status();
  RUNNEL_ASSIGN(const std::string around, text_around(call.graph, **model));
  std::string source = "alsa device=" + quote_value(call.device);
  if (call.duration > 0) source += " duration=" + std::to_string(call.duration);
  if (!call.wav.empty()) source = wav_text(call.wav, call.tail);
  pipeline::GraphOptions options = graph_options(loader);
  options.insert_conversions = true;
  options.on_gap = call.on_gap == "zeros" ? pipeline::OnGap::zeros : pipeline::OnGap::reset;
  RUNNEL_ASSIGN(const std::unique_ptr<pipeline::Graph> graph, pipeline::Graph::build(source + " ! " + around + " ! jsonl", options));
  catch_signals();
  if (const std::string latency = graph->latency(); !latency.empty()) say(latency);
  const Status status = graph->run();
  std::printf("%s\n", graph->summary().c_str());
  return status;
}

}  // namespace

void add_listen(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<ListenCall>();
  CLI::App* verb = app.add_subcommand("listen", "Listen with a model: its decisions as JSON lines");
  verb->add_option("MODEL", call->graph.model, "Model file with its front end and decision")->required();
  verb->add_option("--device", call->device, "ALSA capture device");
  verb->add_option("--wav", call->wav, "A recording instead of a device, as fast as possible (WAV, FLAC, OGG, AIFF)");
  add_tail_flag(verb, call->tail);
  verb->add_option("--duration", call->duration, "Seconds to listen to a device (0: until interrupted)")->check(CLI::NonNegativeNumber);
  verb->add_option("--front-end", call->graph.front_end, "Graph text in front of the model (default: the model's own)");
  verb->add_option("--decision", call->graph.decision, "Graph text behind the model (default: the model's own)");
  add_model_flags(verb, call->flags);
  verb->add_option("--on-gap", call->on_gap, "Lost samples: start afresh behind them (reset), or put zeros in their place (zeros)")
      ->check(CLI::IsMember({"reset", "zeros"}));
  verb->callback([call, &exit_code] {
    if (const Status status = run_listen(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
