// What nodes that act on events have in common: they never hold up the stream, and account for every event.
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
  std::int64_t events = 0;  // records that were given to the action
  std::int64_t done = 0;
  std::int64_t failed = 0;   // tried, in vain
  std::int64_t dropped = 0;  // never tried: the queue was full, or the time was up
};

// Counts, and says what went wrong: of each kind the first time at once, then at most once in kQuietSeconds
// with how often. Thread-safe.
class ActionBook {
 public:
  static constexpr int kQuietSeconds = 60;

  void taken() { add(&ActionFacts::events, {}, troubles_); }
  void done() { add(&ActionFacts::done, {}, troubles_); }
  void failed(std::string_view why) { add(&ActionFacts::failed, why, failures_); }
  void dropped(std::string_view why) { add(&ActionFacts::dropped, why, drops_); }
  // Something that is no loss (yet).
  void say(std::string_view what) { add(nullptr, what, troubles_); }

  [[nodiscard]] ActionFacts facts() const;
  // What is to be told to people now; empty: nothing.
  std::string take_news();

 private:
  // News of one kind.
  struct News {
    std::string latest;
    std::int64_t untold = 0;  // since the last one that was told
    double told_at = -1;      // s; negative: never
    std::string take();
  };
  void add(std::int64_t ActionFacts::*count, std::string_view why, News& news);

  mutable std::mutex mutex_;
  ActionFacts facts_;
  News failures_, drops_, troubles_;
};

// A sink of events that does something about each in a thread of its own. The graph starts it before the
// first sample; the destructor of the node ends it, whatever is under way.
class Action : public Node {
 public:
  std::string_view source;  // name in the records; empty: that of the recording or device

  Status prepare(PrepareContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  // Errors: io_error.
  virtual Status start() noexcept = 0;

  [[nodiscard]] ActionFacts facts() const { return book_.facts(); }
  std::string take_news() { return book_.take_news(); }

 protected:
  // Checks the parameters.
  virtual Status configure() noexcept = 0;
  // Called in the thread of the graph; must not wait.
  virtual void act(const Event& event) = 0;

  EventRecords records_;
  ActionBook book_;
};

}  // namespace runnel::pipeline
