// One worker's part in a queue of recordings, without its threads: which recordings it takes, which result is
// written and acknowledged when, and what becomes of those that fail.
//
// * A result is acknowledged after it is durable in the worker's own output. A worker that dies before that
//   loses nothing: others get the recording. One that is only late has a result twice in the outputs of all;
//   both are the same, and `merge` takes one.
// * What came for the first time runs beside others. What came again may have killed its worker, and the
//   others that ran there with it are suspect as well. So it is noted, and runs alone: the next death accuses
//   it only. After `tries` such ends it is set apart.
// * A recording that fails is given back, for another machine may have what it needs. The last failure is its
//   result, and it is set apart by name.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/batch/queue/queue_output.h"
#include "services/fleet/recordings/trial.h"
#include "services/fleet/work_queue.h"

namespace runnel::fleet {

struct DeskOptions {
  std::string worker;                    // its name, for the notes of others
  std::string queue;                     // for messages
  std::chrono::milliseconds patience{};  // of the queue with a silent worker
  int tries = 3;
  bool inside = false;         // paths must not lead out of the root
  double give_back_after = 1;  // s, until a failed recording is tried again
};

class Desk {
 public:
  using Time = std::chrono::nanoseconds;  // since any moment

  struct Job {
    batch::Recording recording;
    Status refused;  // not ok: the recording fails without being opened
  };

  // Both outlive the desk.
  Desk(WorkQueue& queue, batch::QueueOutput& output, DeskOptions options);

  // Takes an item of the queue.
  void take(QueueItem item, Time now);
  // Keeps items alive, repeats what could not be said, lets suspects begin. Call it often.
  void work(Time now);
  // The next recording to process; false: none may begin now. `job` is under way until finished().
  bool begin(Job& job);
  // The outcome of a job. It is written by settle().
  void finished(const batch::Recording& recording, batch::Outcome outcome);
  // Writes outcomes, makes them durable, and acknowledges them. Error: of the output; the worker must end.
  Status settle(Time now);
  [[nodiscard]] bool unsettled() const { return !outcomes_.empty(); }
  // Gives everything back that has no outcome, when the worker ends.
  void leave();

  // Items that it has, without those that wait to be acknowledged.
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  [[nodiscard]] std::size_t under_way() const { return running_; }
  // Whether further items would only wait: a suspect is to run alone.
  [[nodiscard]] bool busy_with_suspects() const { return alone_ != 0 || !suspects_.empty(); }
  [[nodiscard]] bool idle() const { return held_.empty() && outcomes_.empty() && unacknowledged_.empty(); }
  // Recordings that this worker set apart, and lines for people about them.
  [[nodiscard]] std::int64_t set_apart() const { return set_apart_; }
  std::vector<std::string> take_news() { return std::exchange(news_, {}); }

 private:
  struct Held {
    QueueItem item;
    Job job;
    std::int64_t tries = 1;      // this one included
    std::uint64_t revision = 0;  // of its note
    bool running = false;
  };
  struct Finished {
    QueueItem item;
    batch::Recording recording;
    batch::Outcome outcome;
    std::string apart;  // the note that sets it apart; empty: none
    Time said{-1};      // when it was acknowledged; -1 ns: not yet
  };
  void look_at_suspect(std::uint64_t sequence);
  void start_suspect();
  void set_apart(const QueueItem& item, const batch::Recording& recording, std::int64_t tries,
                 std::string reason, batch::Outcome outcome);
  void acknowledge_all(Time now);
  [[nodiscard]] Trial trial_of(const batch::Recording& recording, std::int64_t tries, Trial::State state,
                               std::string reason) const;

  WorkQueue& queue_;
  batch::QueueOutput& output_;
  DeskOptions options_;
  std::map<std::uint64_t, Held> held_;  // by sequence
  std::deque<std::uint64_t> ready_;     // to begin beside others
  std::deque<std::uint64_t> unknown_;   // came again, their notes are not read yet
  std::deque<std::uint64_t> suspects_;  // to begin alone
  std::uint64_t alone_ = 0;             // the suspect that may begin or runs; 0: none
  std::size_t running_ = 0;
  std::vector<Finished> outcomes_;
  std::vector<Finished> unacknowledged_;  // durable
  Time kept_{0};
  std::int64_t set_apart_ = 0;
  std::vector<std::string> news_;
};

}  // namespace runnel::fleet
