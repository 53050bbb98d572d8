// An exchange in memory, for many workers of one test or simulation. Requests and answers travel for a while,
// some are lost, deliveries come twice, servers that were cut off answer with what they knew, feeds fall
// silent and go on: everything that the real one may do. What a feed gives is in order; answers, and other
// feeds, come by ways of their own.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/fleet/exchange.h"

namespace runnel::fleet::test {

// The logs; one for all.
class MemoryLogs {
 public:
  struct Faults {
    double lost_request = 0, lost_answer = 0, doubled = 0;  // shares
    std::int64_t slowest = 0;                               // ticks that a message travels at most
    // A server that was left behind: the share of answers to last() and list() that it gives, and of
    // deliveries behind which a feed is silent, and then repeats some; and how many ticks it is behind at
    // most.
    double stale = 0, silent = 0;
    std::int64_t behind = 0;
    std::uint64_t drift = 0;  // by which its watches number messages differently, at most
    // Three copies of the logs of chunks: the share of messages that one of them lacks, and by how much the
    // second and the third number higher than the one before them. A feed is on one copy, and on another one
    // after a silence, its own or a long one of its copy; the leader is each for a while.
    double holes = 0;
    std::uint64_t shift = 0;
    // The sequences from which on, and before which, the first copy has nothing; 0: it has all.
    std::uint64_t lacks_from = 0, lacks_before = 0;
    // A copy that lacks notes: the share that a watch never gives.
    double missed = 0;
    // A server that was killed and comes back as the leader has read the end of its log twice: the share of
    // ticks at which the entry of some stream is the one before again, while the names of messages that came
    // since are still known.
    double reverted = 0;
  };
  explicit MemoryLogs(unsigned seed, Faults faults) : random_(seed), faults_(faults) {}

  // Appends at once, for those who send chunks. Returns the sequence; 0: a condition was not met, or another
  // message with this condition had the same name.
  std::uint64_t put(std::string_view subject, std::uint64_t after, Headers headers, std::string_view data);
  [[nodiscard]] const std::vector<Message>& log(std::string_view subject) const;
  [[nodiscard]] std::vector<std::string> subjects(std::string_view filter) const;
  // While it is down nothing is stored, answered or delivered.
  void down(bool is) { down_ = is; }
  // One tick: what has travelled long enough arrives.
  void tick();
  [[nodiscard]] std::uint64_t stored() const noexcept { return stored_; }
  // How many messages of a subject one copy lacks.
  [[nodiscard]] std::size_t holes(std::string_view subject) const;
  // No more entries become older ones.
  void settle() { faults_.reverted = 0; }
  void miss(double share) { faults_.missed = share; }

 private:
  friend class MemoryExchange;
  void remove(const std::string& subject, std::uint64_t last);
  void revert_one();
  [[nodiscard]] std::size_t copies(std::string_view subject) const {
    return (faults_.holes > 0 || faults_.lacks_from > 0) && subject.starts_with("audio.") ? 3 : 1;
  }
  [[nodiscard]] bool lacks(std::size_t copy, const Message& message) const;
  // By what a copy calls it.
  [[nodiscard]] std::uint64_t number(std::size_t copy, const Message& message) const {
    return message.sequence + (copies(message.subject) > 1 ? copy * faults_.shift : 0);
  }
  // The first message of a copy from this number on.
  [[nodiscard]] const Message* first(std::size_t copy, std::string_view subject, std::uint64_t from) const;
  [[nodiscard]] std::size_t leader() const { return static_cast<std::size_t>(now_ / 700 % 3); }
  // What was there at a tick.
  [[nodiscard]] std::optional<Message> last(std::string_view subject, std::int64_t tick) const;
  [[nodiscard]] std::vector<std::string> subjects(std::string_view filter, std::int64_t tick) const;

  std::map<std::string, std::vector<Message>, std::less<>> logs_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> ticks_;  // when each was stored
  std::map<std::string, std::int64_t, std::less<>> names_;               // of messages: when they were stored
  std::vector<class MemoryExchange*> clients_;
  std::mt19937 random_;
  Faults faults_;
  std::int64_t now_ = 0;
  std::uint64_t sequence_ = 0, stored_ = 0;
  bool down_ = false;
};

class MemoryExchange final : public Exchange {
 public:
  explicit MemoryExchange(MemoryLogs& logs);
  // As a process that is killed: requests under way arrive or not, nothing comes back.
  ~MemoryExchange() override;

  std::uint64_t append(std::string_view subject, std::uint64_t after, const Headers& headers,
                       std::string_view data) override;
  std::uint64_t last(std::string_view subject) override;
  std::uint64_t first(std::string_view subject, std::uint64_t from) override;
  std::uint64_t list(std::string_view filter) override;
  std::uint64_t follow(std::string_view subject, std::uint64_t from) override;
  std::uint64_t watch(std::string_view filter) override;
  void leave(std::uint64_t feed) override;
  [[nodiscard]] std::size_t copies(std::string_view subject) const override { return logs_.copies(subject); }
  void remove(std::string_view subject, std::uint64_t last) override;

  // What has come; false: nothing.
  bool next(Happening& out);

 private:
  friend class MemoryLogs;
  struct Request {
    enum class Kind : std::uint8_t { append, last, first, list, remove } kind = Kind::append;
    std::uint64_t number = 0, after = 0;
    std::int64_t due = 0;
    std::string subject, data;
    Headers headers;
  };
  struct Feed {
    std::string filter;
    std::uint64_t next = 0;
    bool watch = false;
    std::uint64_t from = 0;
    std::int64_t silent_until = 0, newest_due = 0;
    std::uint64_t drift = 0;
    std::size_t copy = 0;
    std::uint64_t last = 0;        // sequence of the newest that was given
    std::int64_t stuck_since = 0;  // its copy does not give what there is; 0: it does
  };
  std::uint64_t send(Request request);
  void tick();
  void answer(Request& request);
  void deliver();
  void look_after(Feed& feed);
  void come(Happening what, std::int64_t& newest_due);
  void come(Answer answer) { come(std::move(answer), answers_due_); }

  MemoryLogs& logs_;
  std::uint64_t numbers_ = 0;
  std::deque<Request> requests_;
  std::map<std::uint64_t, Feed> feeds_;
  std::multimap<std::int64_t, Happening> coming_;  // by the tick at which it is here
  std::int64_t answers_due_ = 0;
};

}  // namespace runnel::fleet::test
