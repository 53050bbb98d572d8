// A stream while a worker owns it: its log is read from where the last owner's saved state was, its events
// are appended to a log of their own. Pure: what it wants of the exchange it says, and what comes of that it
// is told.
//
// Each event once, whoever else believes to own the stream: events have numbers, and event n is appended
// after the message of event n - 1. What a new owner computes again, from a state that was saved before, has
// the same numbers and the same text; those that are there already are dropped, not appended.
//
// Another graph takes over between two samples. That is an event, too, appended by the same rule, and only
// when every event of the log was computed here: the graph before it has said all that it says up to this
// sample. Every event after it repeats which change was the last one, so that a worker that goes on from an
// older state changes at the same sample, and one that was stopped meanwhile sees that it was overtaken.
// Before it is appended, a state is saved that says what is about to happen: whoever goes on tries the same,
// until the event is in the log, or another event has its number. Then the change is off, and tried again
// later. So nothing that arrives late can put a change at a sample that somebody has passed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/fleet/chunk.h"
#include "services/fleet/doubt.h"
#include "services/fleet/entry.h"
#include "services/fleet/exchange.h"
#include "services/fleet/runner.h"

namespace runnel::fleet {

// What happened to chunks, of one stream or of a worker.
struct ChunkCounts {
  std::uint64_t heard = 0;
  std::uint64_t doubled = 0;          // samples were there before, all or some of them
  std::uint64_t gaps = 0;             // chunks before which samples were missing
  std::uint64_t lost = 0;             // samples
  std::uint64_t doubted = 0;          // gaps that might have been a hole of one copy of the log
  std::uint64_t believed = 0;         // of those: no other copy had more
  std::uint64_t mended = 0;           // chunks that were missing in one copy only
  std::uint64_t set_apart = 0;        // chunks that cannot be used
  std::uint64_t repeated_events = 0;  // that were in the log already

  void add(const ChunkCounts& other) noexcept;
};

class OwnedStream {
 public:
  struct Limits {
    std::int64_t most_gap_seconds = 3600;  // a jump beyond it is no gap but a broken chunk
    std::size_t most_events = 256;         // that wait to be appended; then no more chunks are heard
    bool doubts = false;                   // gaps wait for believe() or mend()
  };

  // `runners` outlives the stream.
  OwnedStream(std::string name, Runners& runners, const Limits& limits);

  // Goes on from a saved state; `data` is that of the entry. Errors: mismatch where a run is under way whose
  // graph is not here, those of Runner::start and Run::restore.
  Status resume(const Entry& entry, std::span<const std::byte> data);
  // The last message of the log of events, as far as it is known; none: the log is empty.
  void log_ends(const Message* last);
  // Another graph hears from sample `at` of the run on, or from the next chunk on where that is over. It
  // waits until the change before it was saved. The present graph: nothing changes.
  void wants(std::uint32_t graph, std::optional<std::int64_t> at);
  // The log has what this state cannot follow: another worker went further.
  [[nodiscard]] bool overtaken() const noexcept { return overtaken_; }

  // A message of the stream's log. It waits until it is heard. What waits or was heard already is dropped.
  void arrives(Message message);
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  // Of the data of those that wait, with some for each message.
  [[nodiscard]] std::size_t waiting_bytes() const noexcept { return waiting_bytes_; }
  // The sequence of the newest message that waits or was heard.
  [[nodiscard]] std::uint64_t newest() const noexcept {
    return waiting_.empty() ? std::max(at_.covered, hearing_) : waiting_.back().sequence;
  }
  // Whether next() can do anything.
  [[nodiscard]] bool idle() const noexcept { return doubted_ || (waiting_.empty() && !wanted_ && !coming_); }

  // Before the oldest message samples are missing, which another copy of the log may have: nothing is heard
  // until it is known that none has them, or they are here. `found`: as Doubt::take() gives them.
  [[nodiscard]] const std::optional<Gap>& doubted() const noexcept { return doubted_; }
  void believe();
  void mend(std::vector<Message> found);
  // The samples of the oldest chunk, to be heard by run() now, or nothing; after it call heard(). Chunks that
  // bring no samples are dealt with on the way. `broken`: is set to the reason when a chunk cannot be used;
  // it was counted.
  struct Next {
    Runner* runner = nullptr;
    Run* run = nullptr;  // null: nothing to hear now
    std::span<const std::byte> samples;
  };
  Result<Next> next(std::string& broken, Message& apart);
  Status heard();

  // An event to append: after the message `after`, if there is one and none is under way.
  struct Append {
    std::uint64_t after = 0;
    Headers headers;
    std::string data;
    std::uint64_t number = 0;  // of the event
  };
  [[nodiscard]] bool wants_append() const noexcept {
    return !under_way_ && known_ && !overtaken_ && (!events_.empty() || intends_);
  }
  Append begin_append();
  // The event that was under way: stored under this sequence; or nobody knows: log_ends() comes next.
  Status appended(std::uint64_t sequence);
  void append_failed();

  // Whether all events are in the log, so that a state can be saved that covers everything heard.
  [[nodiscard]] bool settled() const noexcept {
    return events_.empty() && !under_way_ && known_ && !overtaken_;
  }
  // The entry of this state, without its owner, and the data. Only when settled().
  Result<Entry> save(std::vector<std::byte>& data);
  // This entry was stored.
  void saved(const Entry& entry);
  // Whether a change needs a saved state now: one that is about to happen, or one that has happened.
  [[nodiscard]] bool wants_save() const noexcept {
    return settled() && ((held_ && !intends_) || at_.change.count != saved_changes_);
  }

  // Adds the graphs that it needs, or may need.
  void uses(std::set<std::uint32_t>& graphs) const;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const Entry& entry() const noexcept { return at_; }
  [[nodiscard]] const ChunkCounts& counts() const noexcept { return counts_; }

 private:
  struct Event {
    std::uint64_t number = 0;
    std::string text;
  };
  struct Wanted {
    std::uint32_t graph = 0;
    std::optional<std::int64_t> at;
  };
  struct Coming {
    Change change;
    std::uint32_t graph = 0;
  };
  // Whether another graph that is here takes over, and none is about to by the log.
  [[nodiscard]] bool wants_change() const;
  // False: for as long as an answer about the log or about the saved state is on its way.
  [[nodiscard]] bool ready_to_change() const;
  [[nodiscard]] Change change_here() const;
  Status change_to(const Change& change, std::uint32_t graph);
  Status begin_run(const Chunk& chunk);
  bool doubts(const Message& message, const Chunk& chunk, bool begins, std::int64_t missing);
  [[nodiscard]] bool is_new(const Message& message) const;
  void pop_front();
  Status end_run();
  void collect();

  std::string name_;
  Runners& runners_;
  Limits limits_;
  Runner* runner_ = nullptr;  // of at_.graph; null: not looked for yet
  std::unique_ptr<Run> run_;
  Entry at_;  // after the last chunk that was heard
  std::deque<Message> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::optional<Gap> doubted_, last_doubt_;
  bool ends_ = false;               // with the chunk that is heard now
  std::uint64_t hearing_ = 0;       // its sequence
  std::int64_t after_hearing_ = 0;  // the next sample after it
  std::deque<Event> events_;        // not in the log yet
  bool known_ = false, under_way_ = false;
  std::uint64_t log_at_ = 0, log_number_ = 0;  // last message of the log of events, and its number
  std::optional<Wanted> wanted_;
  std::optional<Coming> coming_;          // a change that is in the log, and was not reached here yet
  bool held_ = false;                     // nothing is heard until the change has happened, or is off
  std::optional<std::uint32_t> intends_;  // to change to this graph here, as the saved entry says
  bool changing_ = false;                 // the change is under way to the log
  bool cut_ = false;                      // the chunk that is heard goes on after a change
  bool overtaken_ = false;
  std::uint64_t saved_changes_ = 0;
  ChunkCounts counts_;
};

}  // namespace runnel::fleet
