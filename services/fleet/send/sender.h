// Sends lanes to their streams. Pure: it asks an exchange, and is told what comes of that.
//
// In order and without loss: a message is stored under the condition that the last one of the stream is the
// one that this sender knows, and while it is not known whether it was, no other one is sent. What the stream
// has is read from its last message: after every failure, at the start, and so also of what a sender stored
// that was killed before it heard of it. One message of a stream is under way at a time, those of all streams
// together; when answers are slow, a message is longer, up to kMostBytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/fleet/exchange.h"
#include "services/fleet/send/lane.h"
#include "services/fleet/work/worker.h"

namespace runnel::fleet {

struct SenderFacts {
  std::uint64_t messages = 0, bytes = 0;  // stored
  std::uint64_t samples = 0;
  std::uint64_t failures = 0;  // requests without an answer, or refused
  std::uint64_t known = 0;     // messages that were stored although their answer was lost
};

// What the last message of a stream says that the stream has: a run, its next sample, whether it has ended.
// Nothing for a message that is no chunk.
struct StreamEnd {
  std::uint64_t run = 0;
  std::int64_t next = 0;
  bool ended = false;
};
std::optional<StreamEnd> end_of(const Message& last);

// Not thread-safe, but lanes are.
class Sender {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 10;

  // The lane outlives the sender.
  void add(Lane& lane);
  // From now on this exchange, which must be valid until another one is used; null: none for now. What is
  // under way is forgotten, and asked for.
  void use(Exchange* exchange);

  void happened(const Answer& answer);
  // Does what is due.
  void work(Time now);

  // All lanes are closed, and everything was stored.
  [[nodiscard]] bool done() const;
  // Since when nothing was stored although something waits.
  [[nodiscard]] Time stuck_since() const noexcept { return stuck_since_; }
  [[nodiscard]] const std::string& last_trouble() const noexcept { return last_trouble_; }
  [[nodiscard]] const SenderFacts& facts() const noexcept { return facts_; }
  // Sentences since the last call, each kind once a minute.
  std::vector<std::string> take_news();

 private:
  enum class Place : std::uint8_t { unknown, asking, ready, sending };
  struct Stream {
    Lane* lane = nullptr;
    Place place = Place::unknown;
    std::uint64_t last = 0;  // sequence of its last message
    // Where the log ends: what this sender has stored last, or has read; none: nobody can tell.
    std::optional<StreamEnd> end;
    Piece piece;  // under way
    Time not_before{0}, pause{0};
    std::int64_t told_lost = 0;
  };
  void send(Stream& it);
  void read_last(Stream& it, const std::optional<Message>& last);
  void failed(Stream& it, std::string_view why);
  void stored(Stream& it);
  void trouble(std::string_view kind, std::string sentence);

  Exchange* exchange_ = nullptr;
  Time now_{0}, stuck_since_{0}, next_sync_{0};
  std::vector<std::unique_ptr<Stream>> streams_;
  std::map<std::uint64_t, Stream*> requests_;
  std::string last_trouble_;
  SenderFacts facts_;
  std::map<std::string, Time, std::less<>> told_;
  std::vector<std::string> news_;
};

}  // namespace runnel::fleet
