// runnel listen: live decisions of a model, one JSON object per line, and actions on them.
#include <cstdio>

#include "apps/call/forms.h"
#include "apps/graphs.h"
#include "apps/page.h"
#include "apps/verbs.h"
#include "services/listen/listen_graph.h"
#include "services/models/find.h"

namespace runnel::apps {
namespace {

struct ListenCall : listen::ListenOptions {
  ModelGraph graph;
  std::string on_gap = "reset";
  int threads = 1;
  ModelFlags flags;
  PageFlags page;
};

// What a call cannot mean; ok: it can be run.
Status check_call(const ListenCall& call) {
  if (is_recording_name(call.graph.model))
    return Status(Code::invalid_argument)
           << call.graph.model << " is a recording, expected a model: runnel listen --wav "
           << call.graph.model;
  return {};
}

// What to do without a microphone.
Status with_advice(const ListenCall& call, const Status& status) {
  const bool device = call.wav.empty() && call.tcp.empty() && !call.from_stdin && !call.browser;
  const bool of_device = status.text().find("device") != std::string_view::npos ||
                         status.text().find("alsa") != std::string_view::npos;
  if (status.ok() || !device || !of_device) return status;
  return Status(status.code()) << status.text()
                               << "; `runnel devices` lists the sound devices, --device NAME takes one of "
                                  "them, --wav FILE a recording";
}

Status run_listen(ListenCall& call) {
  if (call.graph.model.empty()) {
    RUNNEL_ASSIGN(call.graph.model, default_model());
    say("no model is named: listening with " + call.graph.model + " (`runnel models` lists the others)");
  }
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  const auto model = loader.load(call.graph.model);
  for (const std::string& note : loader.take_notes()) say(note);
  if (!model.ok()) return model.status();
  ModelGraph own = call.graph;
  if (!call.wav.empty()) own.chunk = listen::file_chunk(**model);
  RUNNEL_ASSIGN(const std::string around, text_around(own, **model));
  RUNNEL_ASSIGN(const std::string text, listen::graph_text(call, around));
  pipeline::GraphOptions options = graph_options(loader);
  options.insert_conversions = true;
  // A pipe or a socket returns what has arrived, so long ticks do not add latency.
  if (!call.wav.empty() || call.from_stdin || !call.tcp.empty() || call.browser)
    options.tick = listen::kFileTick;
  options.threads = call.threads;
  options.on_gap = call.on_gap == "zeros" ? pipeline::OnGap::zeros : pipeline::OnGap::reset;
  RUNNEL_ASSIGN(const std::unique_ptr<Display> display, Display::start(call.page, options));
  auto built = pipeline::Graph::build(text, options);
  if (!built.ok()) return with_advice(call, built.status());
  const std::unique_ptr<pipeline::Graph> graph = std::move(built).value();
  catch_signals();
  if (const std::string latency = graph->latency(); !latency.empty()) say(latency);
  display->show(*graph);
  const Status status = run_with_progress(*graph, call.wav);
  display->end();
  std::printf("%s\n", graph->summary().c_str());
  // A device is listened to until then, and what is played like one; a recording has an end.
  if (status.ok() && !call.wav.empty() && call.page.speed == 0 && stop_requested)
    return Status(Code::io_error) << call.wav << ": interrupted before its end";
  return with_advice(call, status);
}

void add_source_flags(Verb verb, ListenCall& call) {
  const Option device = verb.option("--device", call.device, "ALSA capture device");
  const Option wav =
      verb.option("--wav", call.wav,
                  "A recording instead of a device, as fast as possible (WAV, FLAC, OGG, AIFF)")
          .excludes(device);
  const Option standard =
      verb.flag("--stdin", call.from_stdin, "Bare samples from the standard input instead of a device")
          .excludes(device)
          .excludes(wav);
  const Option tcp = verb.option("--tcp", call.tcp,
                                 "Bare samples in messages from a socket instead of a device: tcp:HOST:PORT "
                                 "or unix:PATH to listen on")
                         .excludes(device)
                         .excludes(wav)
                         .excludes(standard);
  verb.option("--tcp-allow", call.tcp_allow,
              "Addresses of senders on other machines, as numbers with commas, or any (default: only this "
              "machine)")
      .needs(tcp);
  const Option browser =
      verb.flag("--browser", call.browser,
                "The microphone of a browser that opens the page (--http) instead of a device")
          .excludes(device)
          .excludes(wav)
          .excludes(standard)
          .excludes(tcp);
  // What has no meaning for a source is refused beside it, not ignored.
  verb.option("--format", call.stdin_format, "Bare samples: s16, s32, s24, s24_3, float")
      .choices({"s16", "s32", "s24", "s24_3", "float"})
      .excludes(wav)
      .excludes(device)
      .excludes(browser);
  verb.option("--rate", call.rate,
              "Sample rate of the device or of bare samples, Hz; resampled for the model")
      .range(1000, 768000)
      .excludes(wav);
  verb.option("--channels", call.channels, "Channels of the device or of bare samples; mixed down to one")
      .range(1, 64)
      .excludes(wav)
      .excludes(browser);
  const auto of_device = [&](Option option) { option.excludes(wav).excludes(standard).excludes(tcp); };
  const auto of_device_only = [&](Option option) { of_device(option.excludes(browser)); };
  of_device_only(verb.option("--period", call.period, "Period of the device, ms").range(1.0, 1000.0));
  of_device_only(
      verb.option("--buffer", call.buffer, "Length of the device's buffer, ms").range(2.0, 10000.0));
  of_device_only(
      verb.option("--replug", call.replug, "Seconds to wait for an unplugged device (0: the stream ends)")
          .non_negative());
  of_device_only(
      verb.option("--overload", call.overload,
                  "When processing does not keep up: block, drop-oldest, drop-newest, skip-inference")
          .choices({"block", "drop-oldest", "drop-newest", "skip-inference"}));
  of_device(verb.option("--duration", call.duration,
                        "Seconds to listen to a device or a browser (0: until interrupted)")
                .non_negative());
  add_tail_flag(verb, call.tail);
  verb.find("--tail").needs(wav);
}

void add_action_flags(Verb verb, ListenCall& call) {
  verb.option(
          "--command", call.commands,
          "Run this program for every event, without a shell; {label}, {score}, {start}, {end}, {source}, "
          "{json} are replaced by its fields (may be repeated)")
      .take_all()
      .default_str("");
  verb.option("--send", call.sends,
              "Send events as JSON lines to tcp:HOST:PORT or unix:PATH (may be repeated)")
      .take_all()
      .default_str("");
  verb.option(
          "--mqtt", call.topics,
          "Publish events under this topic, which may contain {label} and the other fields (may be repeated)")
      .take_all()
      .default_str("");
  const Option mqtt = verb.find("--mqtt");
  verb.option("--broker", call.broker, "MQTT broker, HOST:PORT").needs(mqtt);
  const Option discovery =
      verb.option("--discovery", call.discovery,
                  "Make the topics known to Home Assistant below this prefix, homeassistant there")
          .needs(mqtt);
  verb.option("--device-name", call.discovery_device, "Name of the device in Home Assistant")
      .needs(discovery);
  verb.option("--device-class", call.device_class,
              "What its binary sensors sense: sound, motion, vibration, problem, ...")
      .needs(discovery);
  verb.flag("--forget", call.forget, "Remove the device from Home Assistant at the end").needs(discovery);
  const Option record =
      verb.option("--record", call.record, "Write the sound around every event to this folder");
  verb.option("--before", call.before, "Seconds of sound to keep before an event")
      .range(0.0, 3600.0)
      .needs(record);
  verb.option("--after", call.after, "Seconds of sound to keep after an event")
      .range(0.0, 3600.0)
      .needs(record);
  verb.flag("--no-json", call.no_json, "No event lines on standard output, only the summary");
}

}  // namespace

void add_listen(Verb verb, int& exit_code) {
  auto call = std::make_shared<ListenCall>();
  verb.positional("MODEL", call->graph.model, kWholeModel).default_str(std::string(models::kDefaultModel));
  add_source_flags(verb, *call);
  add_action_flags(verb, *call);
  verb.option("--front-end", call->graph.front_end, "Graph text before the model (default: the model's own)");
  verb.option("--decision", call->graph.decision, "Graph text after the model (default: the model's own)");
  verb.option("--threshold", call->threshold,
              "Posterior at which an event is made, instead of the decision's own")
      .range(0.0, 1.0)
      .default_str("");
  add_graph_threads_flag(verb, call->threads);
  add_page_flags(verb, call->page);
  verb.find("--browser").needs(verb.find("--http"));
  add_model_flags(verb, call->flags);
  verb.option("--on-gap", call->on_gap,
              "Lost samples: reset after them (reset), or replace them by zeros (zeros)")
      .choices({"reset", "zeros"});
  verb.callback([call, &exit_code] {
    if (const Status wrong = check_call(*call); !wrong.ok())
      exit_code = refuse(wrong);
    else if (const Status status = run_listen(*call); !status.ok())
      exit_code = fail(status);
  });
}

}  // namespace runnel::apps
