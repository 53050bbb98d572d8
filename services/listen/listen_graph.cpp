#include "services/listen/listen_graph.h"

#include "base/number_text.h"
#include "pipeline/host/text.h"

namespace runnel::listen {
namespace {

using pipeline::quote_value;

std::string with(std::string_view key, std::string_view value) {
  return " " + std::string(key) + "=" + quote_value(value);
}
std::string with(std::string_view key, double value) { return with(key, shortest_text(value).view()); }
std::string with(std::string_view key, std::int64_t value) { return with(key, std::to_string(value)); }

std::string source_of(const SoundSource& from) {
  if (!from.wav.empty()) return wav_text(from.wav, from.tail);
  const std::string shape = with("rate", from.rate) + with("channels", from.channels);
  if (from.from_stdin) return "stdin" + with("format", from.format) + shape;
  if (!from.tcp.empty()) return "tcp" + with("address", from.tcp) + with("format", from.format) + shape;
  return "alsa" + with("device", from.device) + shape + with("period", from.period) +
         with("buffer", from.buffer) + with("overload", from.overload) + with("replug", from.replug) +
         with("duration", from.duration);
}

// The decision with another threshold: that of its last detect.
Result<std::string> with_threshold(const std::string& around, double threshold) {
  if (threshold < 0) return around;
  RUNNEL_ASSIGN(pipeline::GraphText text, pipeline::parse_graph("sound ! " + around));
  for (auto node = text.nodes.rbegin(); node != text.nodes.rend(); ++node) {
    if (node->type != "detect") continue;
    std::erase_if(node->parameters,
                  [](const pipeline::ParameterText& parameter) { return parameter.key == "threshold"; });
    node->parameters.push_back({"threshold", std::string(shortest_text(threshold).view()), 0});
    const std::string all = to_text(text);
    return all.substr(all.find('!') + 2);
  }
  return Status(Code::invalid_argument) << "--threshold " << shortest_text(threshold).view()
                                        << ": the model's decision has no detect whose threshold it could be";
}

// The ends of the graph: lines of JSON and every action.
std::string sinks_of(const EventActions& actions) {
  std::string text = actions.json ? "jsonl" : "null";
  const auto add = [&text](const std::string& sink) { text += "\nevents. ! " + sink; };
  for (const std::string& command : actions.commands) add("command" + with("run", command));
  for (const std::string& to : actions.sends) add("send" + with("to", to));
  for (const std::string& topic : actions.topics)
    add("mqtt" + with("broker", actions.broker) + with("topic", topic));
  if (!actions.record.empty())
    add("record" + with("folder", actions.record) + with("before", actions.before) +
        with("after", actions.after));
  return text;
}

}  // namespace

std::string wav_text(std::string_view path, double tail) {
  return "wav path=" + quote_value(path) + (tail > 0 ? " tail=" + std::to_string(tail) : std::string());
}

Result<std::string> graph_text(const ListenGraph& graph, const Model& model) {
  RUNNEL_ASSIGN(const std::string own, graph_around(graph.model, model));
  RUNNEL_ASSIGN(const std::string around, with_threshold(own, graph.threshold));
  const EventActions& actions = graph.actions;
  // Actions beside the lines read the events from the decision's end, which has a name for that.
  const std::string history =
      actions.record.empty() ? "" : " ! history" + with("seconds", actions.before + 10);
  return source_of(graph.source) + history + " ! " + around + (actions.any() ? " name=events" : "") + " ! " +
         sinks_of(actions);
}

}  // namespace runnel::listen
