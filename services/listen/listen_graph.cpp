#include "services/listen/listen_graph.h"

#include <string_view>

#include "base/from_chars.h"
#include "base/number_text.h"
#include "pipeline/host/graph.h"
#include "pipeline/nodes/host/nodes.h"
#include "services/listen/model_graph.h"

namespace runnel::listen {
namespace {

using pipeline::quote_value;

std::string with(std::string_view key, std::string_view value) {
  return " " + std::string(key) + "=" + quote_value(value);
}
std::string with(std::string_view key, double value) { return with(key, shortest_text(value).view()); }
std::string with(std::string_view key, std::int64_t value) { return with(key, std::to_string(value)); }

// The sinks of the events.
std::string sinks_of(const ListenOptions& options) {
  std::string text = options.no_json ? "null" : "jsonl";
  const auto add = [&text](const std::string& sink) { text += "\nevents. ! " + sink; };
  for (const std::string& command : options.commands) add("command" + with("run", command));
  for (const std::string& to : options.sends) add("send" + with("to", to));
  const std::string known =
      options.discovery.empty()
          ? ""
          : with("discovery", options.discovery) + with("device", options.discovery_device) +
                with("device_class", options.device_class) + (options.forget ? " forget=true" : "");
  for (const std::string& topic : options.topics)
    add("mqtt" + with("broker", options.broker) + with("topic", topic) + known);
  if (!options.record.empty())
    add("record" + with("folder", options.record) + with("before", options.before) +
        with("after", options.after));
  return text;
}

}  // namespace

std::string_view device_node() noexcept {
  std::string_view found = "alsa";
  for (const pipeline::NodeType* type : pipeline::host_nodes()) {
    if (type->name == "alsa") return "alsa";
    if (type->name == "portaudio") found = "portaudio";
  }
  return found;
}

std::string source_text(const ListenOptions& options, std::string_view node) {
  if (!options.wav.empty()) return wav_text(options.wav, options.tail);
  const std::string shape = with("rate", options.rate) + with("channels", options.channels);
  if (options.from_stdin) return "stdin" + with("format", options.stdin_format) + shape;
  if (!options.tcp.empty())
    return "tcp" + with("address", options.tcp) + with("allow", options.tcp_allow) +
           with("format", options.stdin_format) + shape;
  if (options.browser) return "browser" + with("rate", options.rate) + with("duration", options.duration);
  // PortAudio's thread must not wait: what finds no room is lost there, as in the buffer of a device.
  const bool waits = options.overload == "block" && node == "portaudio";
  return std::string(node) + with("device", options.device) + shape + with("period", options.period) +
         with("buffer", options.buffer) + with("overload", waits ? "drop-newest" : options.overload) +
         with("replug", options.replug) + with("duration", options.duration);
}

Result<std::string> with_threshold(const std::string& around, double threshold) {
  if (threshold < 0) return around;
  RUNNEL_ASSIGN(pipeline::GraphText text, pipeline::parse_graph("sound ! " + around));
  for (auto node = text.nodes.rbegin(); node != text.nodes.rend(); ++node) {
    if (node->type != "detect") continue;
    std::erase_if(node->parameters,
                  [](const pipeline::ParameterText& parameter) { return parameter.key == "threshold"; });
    // A release above the threshold is refused: one that was chosen for a higher threshold follows it.
    for (pipeline::ParameterText& parameter : node->parameters) {
      const char* const end = parameter.value.data() + parameter.value.size();
      double release = 0;
      if (parameter.key != "release") continue;
      const auto [rest, error] = from_chars(parameter.value.data(), end, release);
      if (error == std::errc() && rest == end && release > threshold)
        parameter.value = shortest_text(threshold).view();
    }
    node->parameters.push_back({"threshold", std::string(shortest_text(threshold).view()), 0});
    const std::string all = to_text(text);
    return all.substr(all.find('!') + 2);
  }
  return Status(Code::invalid_argument) << "--threshold " << shortest_text(threshold).view()
                                        << ": the model's decision has no node `detect`";
}

Result<std::string> graph_text(const ListenOptions& options, const std::string& own) {
  RUNNEL_ASSIGN(const std::string around, with_threshold(own, options.threshold));
  const bool alone =
      options.commands.empty() && options.sends.empty() && options.topics.empty() && options.record.empty();
  const std::string history =
      options.record.empty() ? "" : " ! history" + with("seconds", options.before + 10);
  return source_text(options) + history + " ! " + around + (alone ? "" : " name=events") + " ! " +
         sinks_of(options);
}

}  // namespace runnel::listen
