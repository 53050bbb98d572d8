// What Home Assistant wants to know of a publisher of events: its MQTT discovery (docs/smart-home.md).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

struct MqttMessage {
  std::string topic, payload;
};

struct DiscoverySettings {
  std::string_view prefix;        // of the topics, "homeassistant" unless it was configured differently
  std::string_view topic;         // under which records are published
  std::string_view id;            // unique among publishers
  std::string_view name;          // of the device, for people
  std::string_view device_class;  // of what switches on when a label is found
  double hold = 2;                // seconds after which that switches off
  // What can be found; empty: texts of a decoder of speech.
  std::span<const std::string> labels;
};

// The topic under which the publisher says "online" and, as its last will, "offline".
std::string availability_topic(std::string_view topic);

// Checks the settings. Errors: invalid_argument, naming the parameter of the node mqtt.
Status check_discovery(const DiscoverySettings& settings);

// The retained messages that make the device known: for labels an `event` with all of them, a `sensor` with
// the latest, and a `binary_sensor` for each; for texts a `sensor`. The same messages without payload remove
// it.
std::vector<MqttMessage> discovery_messages(const DiscoverySettings& settings);

}  // namespace runnel::pipeline
