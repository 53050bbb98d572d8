// The base of nodes that act on events: they never block the stream, and count every event.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "pipeline/node.h"
#include "pipeline/nodes/host/act/event_record.h"

namespace runnel::pipeline {

// events == done + failed + dropped once the node is finished.
struct ActionFacts {
  std::int64_t events = 0;  // records given to the action
  std::int64_t done = 0;
  std::int64_t failed = 0;   // tried without success
  std::int64_t dropped = 0;  // never tried: the queue was full, or the time limit was reached
};

// Counts results and reports failures: the first of each kind at once, then at most one message with a count
// per kQuietSeconds. Thread-safe.
class ActionBook {
 public:
  static constexpr int kQuietSeconds = 60;

  void taken() { add(&ActionFacts::events, {}, troubles_); }
  void done() { add(&ActionFacts::done, {}, troubles_); }
  void failed(std::string_view why) { add(&ActionFacts::failed, why, failures_); }
  void dropped(std::string_view why) { add(&ActionFacts::dropped, why, drops_); }
  // A message about something that is not a loss (yet).
  void say(std::string_view what) { add(nullptr, what, troubles_); }

  [[nodiscard]] ActionFacts facts() const;
  // Messages to print now; may be empty.
  std::string take_news();

 private:
  // The messages of one kind.
  struct News {
    std::string latest;
    std::int64_t untold = 0;  // since the last one that was reported
    double told_at = -1;      // s; negative: never
    std::string take();
  };
  void add(std::int64_t ActionFacts::*count, std::string_view why, News& news);

  mutable std::mutex mutex_;
  ActionFacts facts_;
  News failures_, drops_, troubles_;
};

// A sink that acts on each event in a thread of its own. The graph starts the thread before the first sample;
// the destructor of the node ends it, even in the middle of an action.
class Action : public Node {
 public:
  std::string_view source;  // name in the records; empty: the name of the recording or device

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  // Errors: io_error.
  virtual Status start() noexcept = 0;

  [[nodiscard]] ActionFacts facts() const { return book_.facts(); }
  std::string take_news() { return book_.take_news(); }

 protected:
  // Checks the parameters.
  virtual Status configure() noexcept = 0;
  // Called in the graph's thread; must not block.
  virtual void act(const Event& event) = 0;
  // Whether it acts on partial results of decoders, which are no decisions yet.
  [[nodiscard]] virtual bool takes_partial() const noexcept { return false; }

  EventRecords records_;
  ActionBook book_;
};

}  // namespace runnel::pipeline
