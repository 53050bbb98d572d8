// A stream while a worker owns it: its log is read from where the last owner's saved state was, its events
// are appended to a log of their own. Pure: what it wants of the exchange it says, and what comes of that it
// is told.
//
// Each event once, whoever else believes to own the stream: events have numbers, and event n is appended
// after the message of event n - 1. What a new owner computes again, from a state that was saved before, has
// the same numbers and the same text; those that are there already are dropped, not appended.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "services/fleet/chunk.h"
#include "services/fleet/entry.h"
#include "services/fleet/exchange.h"
#include "services/fleet/runner.h"

namespace runnel::fleet {

// What happened to chunks, of one stream or of a worker.
struct ChunkCounts {
  std::uint64_t heard = 0;
  std::uint64_t doubled = 0;    // samples were there before, all or some of them
  std::uint64_t gaps = 0;       // chunks before which samples were missing
  std::uint64_t lost = 0;       // samples
  std::uint64_t set_apart = 0;  // chunks that cannot be used

  void add(const ChunkCounts& other) noexcept;
};

class OwnedStream {
 public:
  struct Limits {
    std::int64_t most_gap_seconds = 3600;  // a jump beyond it is no gap but a broken chunk
    std::size_t most_events = 256;         // that wait to be appended; then no more chunks are heard
  };

  OwnedStream(std::string name, Runner& runner, const Limits& limits);

  // Goes on from a saved state; `data` is that of the entry. Errors: mismatch for a state of another graph,
  // those of Runner::start and Run::restore.
  Status resume(const Entry& entry, std::span<const std::byte> data);
  // The last message of the log of events, as far as it is known; none: the log is empty.
  void log_ends(const Message* last);

  // A message of the stream's log. It waits until it is heard.
  void arrives(Message message);
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  // The samples of the oldest chunk, to be heard by run() now, or nothing; after it call heard(). Chunks that
  // bring no samples are dealt with on the way. `broken`: is set to the reason when a chunk cannot be used;
  // it was counted.
  struct Next {
    Run* run = nullptr;
    std::span<const std::byte> samples;
  };
  Result<Next> next(std::string& broken, Message& apart);
  Status heard();

  // An event to append: after the message `after`, if there is one and none is under way.
  struct Append {
    std::uint64_t after = 0;
    Headers headers;
    std::string data;
  };
  [[nodiscard]] bool wants_append() const noexcept { return !under_way_ && known_ && !events_.empty(); }
  Append begin_append();
  // The event that was under way: stored under this sequence; or nobody knows: log_ends() comes next.
  void appended(std::uint64_t sequence);
  void append_failed();

  // Whether all events are in the log, so that a state can be saved that covers everything heard.
  [[nodiscard]] bool settled() const noexcept { return events_.empty() && !under_way_; }
  // The entry of this state, without its owner, and the data. Only when settled().
  Result<Entry> save(std::vector<std::byte>& data);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const Entry& entry() const noexcept { return at_; }
  [[nodiscard]] const ChunkCounts& counts() const noexcept { return counts_; }

 private:
  struct Event {
    std::uint64_t number = 0;
    std::string text;
  };
  Status begin_run(const Chunk& chunk);
  Status end_run();
  void collect();

  std::string name_;
  Runner& runner_;
  Limits limits_;
  std::unique_ptr<Run> run_;
  Entry at_;  // after the last chunk that was heard
  std::deque<Message> waiting_;
  bool ends_ = false;               // with the chunk that is heard now
  std::uint64_t hearing_ = 0;       // its sequence
  std::int64_t after_hearing_ = 0;  // the next sample after it
  std::deque<Event> events_;        // not in the log yet
  bool known_ = false, under_way_ = false;
  std::uint64_t log_at_ = 0, log_number_ = 0;  // last message of the log of events, and its number
  ChunkCounts counts_;
};

}  // namespace runnel::fleet
