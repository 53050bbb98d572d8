#include "tests/apps/fleet/replicas.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace runnel::apps::test {

Status Replicas::open(const std::string& urls) {
  RUNNEL_ASSIGN(wire_, fleet::make_wire());
  fleet::Wire::Settings settings;
  settings.urls = urls;
  settings.name = "replicas";
  return wire_->open(settings, [this](std::vector<fleet::WireMessage>& messages) {
    const std::lock_guard lock(mutex_);
    for (const fleet::WireMessage& message : messages) {
      // Late answers to earlier questions are none.
      if (!message.subject.ends_with("a." + std::to_string(asked_))) continue;
      answer_.assign(reinterpret_cast<const char*>(message.data.data()), message.data.size());
      came_.notify_one();
    }
  });
}

std::string Replicas::info(const std::string& stream) {
  std::unique_lock lock(mutex_);
  answer_.clear();
  const std::string reply = std::string(wire_->inbox()) + "a." + std::to_string(++asked_);
  lock.unlock();
  if (!wire_->publish("$JS.API.STREAM.INFO." + stream, reply, {}, "").ok()) return {};
  lock.lock();
  came_.wait_for(lock, std::chrono::seconds(1), [&] { return !answer_.empty(); });
  return std::exchange(answer_, {});
}

bool Replicas::current(const std::vector<std::string>& streams, std::size_t others) {
  return std::all_of(streams.begin(), streams.end(), [&](const std::string& stream) {
    const auto told = nlohmann::json::parse(info(stream), nullptr, false);
    if (!told.is_object() || !told.contains("cluster")) return false;
    const auto& cluster = told["cluster"];
    if (cluster.value("leader", std::string()).empty() || !cluster.contains("replicas")) return false;
    const auto& replicas = cluster["replicas"];
    return replicas.size() == others && std::all_of(replicas.begin(), replicas.end(), [](const auto& one) {
             return one.value("current", false) && !one.value("offline", false);
           });
  });
}

std::string Replicas::leader(const std::string& stream) {
  const auto told = nlohmann::json::parse(info(stream), nullptr, false);
  return told.is_object() && told.contains("cluster") ? told["cluster"].value("leader", std::string()) : "";
}

}  // namespace runnel::apps::test
