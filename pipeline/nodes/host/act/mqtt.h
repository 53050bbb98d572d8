// Publishes events to an MQTT broker.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <set>
#include <string>
#include <thread>

#include "pipeline/host/live/wake.h"
#include "pipeline/nodes/host/act/action.h"
#include "pipeline/nodes/host/act/mqtt_discovery.h"

struct mosquitto;

namespace runnel::pipeline {

// At QoS 1 every record is kept until the broker has acknowledged it, and is published again after a broken
// connection, so that it arrives at least once. The session is persistent: its name, `client`, should be
// unique and the same in every run. While the broker is unreachable, up to `queue` records wait; further ones
// replace the oldest or are dropped.
//
// With `discovery` it makes itself known to Home Assistant, whenever it has connected: retained messages
// describe it, and its availability is a retained message and its last will. `forget` removes them at the
// end.
class Mqtt final : public Action {
 public:
  static const NodeType type;

  std::string_view broker = "127.0.0.1:1883";
  std::string_view topic = "runnel/events";
  std::string_view client;
  std::int64_t qos = 1;
  bool retain = false;
  std::int64_t queue = 1000;
  std::string_view full = "drop-oldest";
  std::int64_t keepalive = 30;  // s
  std::int64_t retry = 30;      // s
  double linger = 10;           // s
  std::string_view user, password_file, ca;
  std::string_view discovery, device = "runnel", device_class = "sound", labels;
  double hold = 2;  // s
  bool forget = false;

  ~Mqtt() override;
  Status prepare(NodeContext& context) noexcept override;
  Status start() noexcept override;
  Status gap(const Gap& gap) noexcept override;
  // Waits up to `linger` for acknowledgements; records without one then count as dropped.
  Status finish() noexcept override;

 protected:
  Status configure() noexcept override;
  void act(const Event& event) override;

 private:
  using Message = MqttMessage;
  struct Callbacks;

  [[nodiscard]] std::string topic_of(const Event& event) const;
  void put(Message message);
  void work();
  void publish_waiting();
  [[nodiscard]] DiscoverySettings discovery_settings() const;
  Status set_will();
  void publish_retained(const Message& message);
  void make_known();
  void say_goodbye();
  void connected(int code);
  void disconnected(int code);
  void acknowledged(int number);
  void stop() noexcept;

  std::string host_, client_;
  std::vector<std::string> known_labels_;  // of discovery
  int port_ = 1883;
  mosquitto* session_ = nullptr;
  Wake leave_;
  std::atomic<bool> leaving_{false};
  std::thread thread_;
  int pause_ = 0;     // s until the next attempt to connect; used by the thread only
  std::mutex mutex_;  // guards all members below
  std::condition_variable all_done_;
  bool connected_ = false;
  std::deque<Message> waiting_;  // not yet passed to the library
  std::set<int> sent_;           // ids of messages passed to the library and not acknowledged yet
  std::set<int> retained_;       // the same of messages that are no records
};

}  // namespace runnel::pipeline
