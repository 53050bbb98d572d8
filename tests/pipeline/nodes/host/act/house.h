// A listener of a broker that knows what Home Assistant would know.
#pragma once

#include <mosquitto.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace runnel::pipeline::test {

// What a house that has just started knows: the broker's retained messages, and what comes later.
class House {
 public:
  explicit House(int port) {
    mosquitto_lib_init();
    session_ = mosquitto_new(nullptr, true, this);
    mosquitto_threaded_set(session_, true);
    mosquitto_connect_callback_set(session_, [](mosquitto* session, void*, int) {
      for (const char* topic : {"homeassistant/#", "house/#"})
        mosquitto_subscribe(session, nullptr, topic, 1);
    });
    mosquitto_message_callback_set(session_, [](mosquitto*, void* self, const mosquitto_message* message) {
      auto& house = *static_cast<House*>(self);
      const std::lock_guard lock(house.mutex_);
      const std::string payload(static_cast<const char*>(message->payload),
                                static_cast<std::size_t>(message->payloadlen));
      house.all_.emplace_back(message->topic, payload);
      if (payload.empty())
        house.known_.erase(message->topic);
      else
        house.known_[message->topic] = payload;
    });
    mosquitto_connect_async(session_, "127.0.0.1", port, 10);
    thread_ = std::thread([this] {
      while (!leaving_) {
        if (mosquitto_loop(session_, 50, 1) == MOSQ_ERR_SUCCESS || leaving_) continue;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        mosquitto_reconnect_async(session_);
      }
    });
  }
  ~House() {
    leaving_ = true;
    thread_.join();
    mosquitto_destroy(session_);
    mosquitto_lib_cleanup();
  }
  House(const House&) = delete;
  House& operator=(const House&) = delete;

  std::map<std::string, std::string> known() {
    const std::lock_guard lock(mutex_);
    return known_;
  }
  // All messages of a topic so far, in their order.
  std::vector<std::string> said(const std::string& topic) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    for (const auto& [where, payload] : all_) {
      if (where == topic) found.push_back(payload);
    }
    return found;
  }
  // Waits until it is so; false after half a minute.
  bool soon(const std::function<bool(const std::map<std::string, std::string>&)>& so) {
    for (int i = 0; i < 3000; ++i) {
      if (so(known())) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  bool sees(const std::string& topic, const std::string& payload) {
    return soon([&](const auto& known) {
      const auto found = known.find(topic);
      return found != known.end() && found->second == payload;
    });
  }

 private:
  mosquitto* session_ = nullptr;
  std::thread thread_;
  std::atomic<bool> leaving_{false};
  std::mutex mutex_;
  std::map<std::string, std::string> known_;
  std::vector<std::pair<std::string, std::string>> all_;
};

}  // namespace runnel::pipeline::test
