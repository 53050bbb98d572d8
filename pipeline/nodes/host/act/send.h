// Sends events as JSON lines to a TCP or Unix socket.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <string>
#include <thread>

#include "pipeline/host/live/socket.h"
#include "pipeline/host/live/wake.h"
#include "pipeline/nodes/host/act/action.h"

namespace runnel::pipeline {

// Connects at the start, and again whenever the connection is lost, at growing distances up to `retry`.
// Meanwhile records wait in a queue of `queue`; beyond that the oldest or the newest are dropped. A record
// counts as done when the system has taken all of it; a line that was cut by a lost connection is sent again
// as a whole. Gaps are sent too. What comes back is not read.
class Send final : public Action {
 public:
  static const NodeType type;

  std::string_view to;
  std::int64_t queue = 1000;
  std::string_view full = "drop-oldest";
  double retry = 10;  // s
  double linger = 5;  // s

  ~Send() override;
  Status start() noexcept override;
  Status gap(const Gap& gap) noexcept override;
  // Waits up to `linger` for what is queued; the rest is dropped.
  Status finish() noexcept override;

 protected:
  Status configure() noexcept override;
  void act(const Event& event) override { put(records_.event(event)); }

 private:
  void put(std::string line);
  void work();
  bool connect();
  void send_some();
  void lost_connection(std::string_view why);
  // Until there is something to do; false: nothing more.
  bool wait(int milliseconds);

  SocketAddress address_;
  Wake wake_, leave_;
  Descriptor socket_;     // of the thread, as are the next two
  std::size_t sent_ = 0;  // bytes of the first line
  int pause_ = 0;         // ms until the next attempt to connect
  std::mutex mutex_;      // of the lines
  std::condition_variable empty_;
  std::deque<std::string> lines_;
  bool sending_ = false;  // the first one has begun: it stays
  std::atomic<bool> leaving_{false};
  std::thread thread_;
};

}  // namespace runnel::pipeline
