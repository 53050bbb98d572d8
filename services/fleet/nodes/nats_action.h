// Stores events in a log of NATS.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "pipeline/nodes/host/act/action.h"
#include "services/fleet/nats/jetstream.h"
#include "services/fleet/nodes/nats_node.h"

namespace runnel::fleet {

// Each record is kept until a server has stored it, and sent again under the same Nats-Msg-Id when no answer
// comes, so that it is in the log once. While no server is there, up to `queue` records wait; further ones
// replace the oldest or are dropped.
class NatsAction final : public NatsNode<pipeline::Action> {
 public:
  static const pipeline::NodeType type;

  std::string_view subject = "heard.{source}";
  std::string_view log = "RUNNEL_HEARD", subjects = "heard.>";
  std::int64_t replicas = 1;
  std::string_view session;
  std::int64_t queue = 1000;
  std::string_view full = "drop-oldest";
  double retry = 10;   // s
  double linger = 10;  // s

  ~NatsAction() override;
  Status start() noexcept override;
  Status gap(const pipeline::Gap& gap) noexcept override;
  // Waits up to `linger` until everything is stored; the rest is dropped.
  Status finish() noexcept override;

 protected:
  Status configure() noexcept override;
  void act(const pipeline::Event& event) override;

 private:
  static constexpr std::size_t kUnderWay = 32;
  struct Record {
    std::string subject, id, text;
    bool under_way = false;
  };
  void put(const pipeline::Event& event, std::string text, std::string_view kind);
  void work();
  bool connect();
  void send_some();
  void happened(const Answer& answer);
  void stop() noexcept;

  std::string session_;
  std::unique_ptr<JetStream> exchange_;  // this and the next two: the thread's
  std::map<std::uint64_t, std::shared_ptr<Record>> requests_;
  std::chrono::steady_clock::time_point not_before_;
  std::mutex mutex_;  // guards the records
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Record>> records_to_store_;
  std::atomic<bool> leaving_{false};
  std::thread thread_;
};

}  // namespace runnel::fleet
