#include "pipeline/nodes/host/act/mqtt_discovery.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/version.h"
#include "pipeline/host/json.h"

namespace runnel::pipeline {
namespace {

// Of binary sensors, as Home Assistant lists them.
constexpr std::array<std::string_view, 28> kDeviceClasses = {"battery",
                                                             "battery_charging",
                                                             "carbon_monoxide",
                                                             "cold",
                                                             "connectivity",
                                                             "door",
                                                             "garage_door",
                                                             "gas",
                                                             "heat",
                                                             "light",
                                                             "lock",
                                                             "moisture",
                                                             "motion",
                                                             "moving",
                                                             "occupancy",
                                                             "opening",
                                                             "plug",
                                                             "power",
                                                             "presence",
                                                             "problem",
                                                             "running",
                                                             "safety",
                                                             "smoke",
                                                             "sound",
                                                             "tamper",
                                                             "update",
                                                             "vibration",
                                                             "window"};

// Ids and levels of topics have letters, digits, _ and - only. Bytes of other letters become their number, so
// that different labels stay different.
std::string id_of(std::string_view text) {
  std::string id;
  for (const char letter : text) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || letter == '-';
    if (plain) {
      id += letter;
      continue;
    }
    if (letter == '_' || letter == ' ') {
      id += '_';
      continue;
    }
    char number[8];
    std::snprintf(number, sizeof number, "_%02x", static_cast<unsigned>(static_cast<unsigned char>(letter)));
    id += number;
  }
  return id;
}

// A text in a template of Home Assistant's, which are in Python's syntax.
std::string in_template(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

// One config: a JSON object of texts, and of parts that are JSON already.
class Config {
 public:
  Config& text(std::string_view key, std::string_view value) { return json(key, json_string(value)); }
  Config& json(std::string_view key, std::string_view value) {
    text_ += (text_.size() > 1 ? "," : "") + json_string(key) + ":" + std::string(value);
    return *this;
  }
  [[nodiscard]] std::string done() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

class Writer {
 public:
  explicit Writer(const DiscoverySettings& settings) : settings_(settings), id_(id_of(settings.id)) {}

  // What all entities of the device have.
  Config entity(std::string_view object, std::string_view name) {
    Config config;
    config.text("name", name)
        .text("unique_id", id_ + "_" + std::string(object))
        .text("object_id", id_ + "_" + std::string(object))
        .text("state_topic", settings_.topic)
        .text("availability_topic", availability_topic(settings_.topic))
        .json("qos", "1")
        .json("device", Config()
                            .json("identifiers", "[" + json_string(id_) + "]")
                            .text("name", settings_.name)
                            .text("manufacturer", "runnel")
                            .text("sw_version", kVersion)
                            .done())
        .json("origin", Config().text("name", "runnel").text("sw_version", kVersion).done());
    return config;
  }
  void add(std::string_view component, std::string_view object, const Config& config) {
    messages_.push_back({std::string(settings_.prefix) + "/" + std::string(component) + "/" + id_ + "/" +
                             std::string(object) + "/config",
                         config.done()});
  }
  [[nodiscard]] std::vector<MqttMessage> take() { return std::move(messages_); }

 private:
  const DiscoverySettings& settings_;
  std::string id_;
  std::vector<MqttMessage> messages_;
};

}  // namespace

std::string availability_topic(std::string_view topic) { return std::string(topic) + "/availability"; }

Status check_discovery(const DiscoverySettings& settings) {
  if (settings.prefix.find_first_of("+#") != std::string_view::npos || settings.prefix.front() == '/' ||
      settings.prefix.back() == '/')
    return Status(Code::invalid_argument)
           << "discovery=" << settings.prefix << ": expected a topic without + and #, e.g. homeassistant";
  if (settings.topic.find_first_of("{}") != std::string_view::npos)
    return Status(Code::invalid_argument)
           << "topic=" << settings.topic
           << ": with discovery, expected one topic for all records, without fields in braces";
  if (std::find(kDeviceClasses.begin(), kDeviceClasses.end(), settings.device_class) ==
      kDeviceClasses.end()) {
    Status status(Code::invalid_argument);
    status << "device_class=" << settings.device_class
           << ": expected one of Home Assistant's for binary sensors:";
    for (const std::string_view known : kDeviceClasses) status << " " << known;
    return status;
  }
  std::set<std::string> ids = {"heard", "latest"};
  for (const std::string& label : settings.labels) {
    if (!ids.insert(id_of(label)).second)
      return Status(Code::invalid_argument)
             << "discovery: the label " << label << " has the same id as another one, " << id_of(label);
  }
  return {};
}

std::vector<MqttMessage> discovery_messages(const DiscoverySettings& settings) {
  Writer writer(settings);
  if (settings.labels.empty()) {
    // A state has at most 255 characters.
    writer.add("sensor", "latest",
               writer.entity("latest", "Latest text")
                   .text("icon", "mdi:text-recognition")
                   .text("value_template",
                         "{{ value_json.text[:255] if value_json.type == 'final' else this.state }}")
                   .text("json_attributes_topic", settings.topic));
    return writer.take();
  }
  std::string types = "[";
  for (const std::string& label : settings.labels)
    types += (types.size() > 1 ? "," : "") + json_string(label);
  writer.add("event", "heard",
             writer.entity("heard", "Heard")
                 .text("icon", "mdi:ear-hearing")
                 .json("event_types", types + "]")
                 // Gaps, which have no label, give an empty text, which is no event.
                 .text("value_template",
                       "{% if value_json.type == 'event' %}{{ dict(value_json, "
                       "event_type=value_json.label) | to_json }}{% endif %}"));
  writer.add(
      "sensor", "latest",
      writer.entity("latest", "Latest")
          .text("icon", "mdi:label")
          .text("value_template", "{{ value_json.label if value_json.type == 'event' else this.state }}")
          .text("json_attributes_topic", settings.topic));
  const std::string hold = std::to_string(std::max<long>(1, std::lround(settings.hold)));
  for (const std::string& label : settings.labels) {
    writer.add("binary_sensor", id_of(label),
               writer.entity(id_of(label), label)
                   .text("device_class", settings.device_class)
                   .text("payload_on", "ON")
                   .json("off_delay", hold)
                   .text("value_template", "{{ 'ON' if value_json.type == 'event' and value_json.label == " +
                                               in_template(label) + " else '' }}"));
  }
  return writer.take();
}

}  // namespace runnel::pipeline
