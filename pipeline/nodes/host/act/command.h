// Runs a program for each event.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/host/live/wake.h"
#include "pipeline/nodes/host/act/action.h"
#include "pipeline/nodes/host/act/child_process.h"

namespace runnel::pipeline {

// The program is started without a shell: a field of an event always stays one argument. It gets the record
// on its standard input, and the fields in RUNNEL_LABEL, RUNNEL_SCORE and so on. At most `concurrency`
// programs run at once; up to `queue` events wait, further ones are dropped. A program that takes longer than
// `timeout` is ended.
class Command final : public Action {
 public:
  static const NodeType type;

  std::string_view run;
  std::int64_t concurrency = 4;
  std::int64_t queue = 100;
  double timeout = 30;  // s

  ~Command() override;
  Status start() noexcept override;
  // Waits for all that are running or queued; each has its timeout.
  Status finish() noexcept override;

 protected:
  Status configure() noexcept override;
  void act(const Event& event) override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Running {
    ChildProcess process;
    Time deadline;      // SIGTERM, and a second later SIGKILL
    bool told = false;  // was sent SIGTERM
  };

  void work();
  void start_waiting();
  void leave_place();
  void reap(Running& running);
  void end_late();
  [[nodiscard]] int milliseconds_to_wait() const;
  [[nodiscard]] ChildCall call_for(const EventFields& fields) const;

  std::vector<std::string> words_;
  Wake wake_;
  std::mutex mutex_;  // guards the next two
  std::deque<ChildCall> waiting_;
  std::int64_t busy_ = 0;         // taken off the queue and not ended yet
  std::vector<Running> running_;  // used by the thread only
  std::atomic<bool> finishing_{false}, leaving_{false};
  std::thread thread_;
};

}  // namespace runnel::pipeline
