// Reads the events of a stream in the order of their numbers, each exactly once, from a log whose copies may
// differ. Workers store event n under the condition that the last message is event n - 1, and under a name
// made of n; but what servers make of that is seen to differ: nats-server 2.9.10 that was stopped while it
// led, and went on, kept what it had not told the others yet in place of what they had stored meanwhile. From
// then on its copy lacks some events, numbers all others differently, and may have some twice.
//
// So a number that was there before is dropped. One that is too high says that one copy has a hole: what
// comes is held, and the log is read by new consumers, which servers put on any copy, until one of them gives
// what is missing. When four times as many as there are copies went past the hole without it, and as many
// that read the whole log, no copy has it, and the reader says so. Servers that say nothing are believed
// after as long as anything older is (older.h).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "services/fleet/exchange.h"
#include "services/fleet/older.h"

namespace runnel::fleet {

// The header of an event's message with its number, from 1, of all runs of its stream.
inline constexpr std::string_view kEventHeader = "Runnel-Event";
// 0: it has none.
std::uint64_t event_number(const Headers& headers);

class EventReader {
 public:
  using Time = std::chrono::nanoseconds;
  // What is held while something is missing; the log keeps the rest.
  static constexpr std::size_t kMostHeld = 1024;

  struct Event {
    std::uint64_t number = 0;
    std::uint64_t missing = 0;  // events before it that no copy of the log has
    Message message;
  };
  struct Counts {
    std::uint64_t doubled = 0;   // that one copy has twice
    std::uint64_t mended = 0;    // that one copy lacks, read from another one
    std::uint64_t missing = 0;   // that none has
    std::uint64_t nameless = 0;  // messages that are no events
  };

  // Of the log `subject` ("events.audio.hall.1"), from this number on; 0: from the first that comes.
  // `exchange` outlives it.
  EventReader(Exchange& exchange, std::string subject, std::uint64_t from = 1);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  // Events up to this number are there, whatever one copy knows of.
  void ends_with(std::uint64_t number) { end_ = std::max(end_, number); }
  // Whether all of those came and were taken, or are missing.
  [[nodiscard]] bool over() const noexcept { return ready_.empty() && next_ > end_; }

  // Does what is due; several times a second.
  void work(Time now);
  // False: it was meant for somebody else.
  bool delivered(Delivery& delivery, Time now);
  std::optional<Event> take();

  // The number after all that came.
  [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

 private:
  // For what is missing from `hole` on before `until`, at the end with it, in copies other than the one that
  // is read.
  struct Search {
    std::uint64_t hole = 0, until = 0;
    bool at_end = false;
    std::size_t readers_left = 0;
    std::uint64_t feed = 0;  // 0: none now
    bool covers = false;     // the event before the hole came
    bool whole = false;      // logs are read from their beginning
    Time begun{0}, not_before{0}, patience{0};
  };
  void follow();
  void take_in(Message message, bool other);
  void settle();
  void search(Time now);
  bool goes_on(Time now);
  void said(bool all);
  void end_search(bool found);

  Exchange& exchange_;
  std::string subject_;
  std::uint64_t next_;          // that is not ready yet
  std::uint64_t end_ = 0;       // 0: unknown
  std::uint64_t feed_ = 0;      // 0: none now
  std::uint64_t newest_ = 0;    // the highest number that it gave
  std::uint64_t sequence_ = 0;  // of the last message in order, by the copy that was read
  std::uint64_t missing_ = 0;   // right before next_
  std::optional<Time> heard_;   // of feed_
  std::optional<Search> search_;
  // How much earlier than the hole readings must begin, because copies number differently.
  std::size_t wider_ = 0;
  std::map<std::uint64_t, Message> held_;  // with higher numbers than next_
  std::deque<Event> ready_;
  Counts counts_;
};

}  // namespace runnel::fleet
