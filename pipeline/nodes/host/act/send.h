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

// Connects at the start and after every loss of the connection, at growing intervals up to `retry`. Meanwhile
// up to `queue` records wait; then the oldest or the newest are dropped. A record counts as done when the
// system has taken all of it; a line that a lost connection has cut is sent again as a whole. Gaps are sent
// too. Replies are ignored.
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
  // Waits up to `linger` for queued records; the rest is dropped.
  Status finish() noexcept override;

 protected:
  Status configure() noexcept override;
  void act(const Event& event) override { put(records_.event(event)); }
  [[nodiscard]] bool takes_partial() const noexcept override { return true; }

 private:
  void put(std::string line);
  void work();
  bool connect();
  void send_some();
  void lost_connection(std::string_view why);
  // Waits for something to do; false: all is done.
  bool wait(int milliseconds);

  SocketAddress address_;
  Wake wake_, leave_;
  Descriptor socket_;     // this and the next two: used by the thread only
  std::size_t sent_ = 0;  // bytes of the first line
  int pause_ = 0;         // ms until the next attempt to connect
  std::mutex mutex_;      // guards the lines
  std::condition_variable empty_;
  std::deque<std::string> lines_;
  bool sending_ = false;  // the first line is partly sent and must stay
  std::atomic<bool> leaving_{false};
  std::thread thread_;
};

}  // namespace runnel::pipeline
