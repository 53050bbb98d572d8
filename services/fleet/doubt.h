// A gap that one copy of a stream's log shows may be a hole of this copy: a consumer lives on one server, and
// copies were seen to lack messages that the others have, or to number them differently. Before samples count
// as lost, the log is asked for what comes next, through its leader, and where it has several copies, new
// consumers read them, wherever the servers put them. What is found is told by its samples, not by its
// number.
//
// A gap is believed when the leader and four times as many consumers as there are copies went past it, so
// that all of them were on one copy of three once in half a million times; or when the servers said nothing
// useful for as long as an older answer is not believed (older.h). Meanwhile nothing else waits but this
// stream.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/fleet/exchange.h"
#include "services/fleet/older.h"
#include "services/serve/stream.h"

namespace runnel::fleet {

// What was expected of a stream, and what came instead.
struct Gap {
  std::uint64_t run = 0, found_run = 0;      // found_run: the same, or a later one
  std::int64_t next = 0, found = 0;          // samples of these runs
  bool begun = false;                        // the run `run`; else it would begin
  serve::SampleFormat format, found_format;  // of the two runs
  std::uint64_t covered = 0, sequence = 0;   // numbers of the messages before and after it

  friend bool operator==(const Gap&, const Gap&) = default;
};

class Doubt {
 public:
  using Time = std::chrono::nanoseconds;
  // Of what is found at a time: the rest is another doubt.
  static constexpr std::size_t kMostMessages = 64, kMostBytes = std::size_t{1} << 22;

  // `exchange` outlives it. Asks nothing yet.
  Doubt(Exchange& exchange, std::string subject, const Gap& gap);
  // Ends its reading.
  ~Doubt();
  Doubt(const Doubt&) = delete;
  Doubt& operator=(const Doubt&) = delete;

  // Does what is due; due(): when it must be called again at the latest.
  void work(Time now);
  [[nodiscard]] Time due() const noexcept { return due_; }
  // What came of its request and its feed; 0: it has none. Others are ignored.
  [[nodiscard]] std::uint64_t request() const noexcept { return request_; }
  [[nodiscard]] std::uint64_t feed() const noexcept { return feed_; }
  void answered(Answer answer, Time now);
  void delivered(Message message, std::uint64_t feed, Time now);

  [[nodiscard]] bool over() const noexcept { return over_; }
  // Once it is over: the messages that were missing, in their order; none: the gap is one.
  std::vector<Message> take() { return std::move(found_); }

 private:
  enum class Said : std::uint8_t { more, reached };
  Said take_in(Message message);
  void reached();
  void leave();

  Exchange& exchange_;
  std::string subject_;
  Gap gap_;
  std::size_t readers_left_;  // consumers that must go past the gap
  bool by_log_ = true;        // the log is asked; then consumers are
  int nothing_ = 0;           // answers of the log without a message
  std::uint64_t from_;        // sequence
  std::size_t asked_ = 0;
  std::uint64_t request_ = 0, feed_ = 0;
  std::optional<Time> begun_;
  Time not_before_{0}, until_{0}, due_{0};
  std::pair<std::uint64_t, std::int64_t> at_;  // run and sample after what was found
  std::vector<Message> found_;
  std::size_t bytes_ = 0;
  bool over_ = false;
};

}  // namespace runnel::fleet
