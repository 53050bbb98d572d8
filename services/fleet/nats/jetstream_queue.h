// The queue of work (work_queue.h) on NATS with JetStream: a stream that keeps every item, so that none is
// added twice however much later; one durable pull consumer with explicit acknowledgements, which all workers
// share; and a second stream for notes, the last one of each name.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "services/fleet/nats/wire.h"
#include "services/fleet/work_queue.h"

namespace runnel::fleet {

class JetStreamQueue final : public WorkQueue {
 public:
  struct Options {
    std::string name;      // letters, digits, - and _, at most 64
    int replicas = 1;      // servers that keep each message, for what is made
    double patience = 30;  // s, until another worker gets what a silent one had, for what is made
    bool make = false;     // makes the queue where there is none
  };

  explicit JetStreamQueue(std::unique_ptr<Wire> wire);
  ~JetStreamQueue() override;

  // Connects, and finds or makes the queue. Errors: those of Wire::open; invalid_argument for a name that
  // cannot be one; not_found without a queue of this name; io_error with what the server says.
  Status open(const Wire::Settings& settings, const Options& options);
  // The name, and when the queue was made: another queue of the same name is another one.
  [[nodiscard]] const std::string& identity() const noexcept { return identity_; }
  // Of the queue with a silent worker.
  [[nodiscard]] std::chrono::milliseconds patience() const noexcept { return patience_; }

  void pull(int count) override;
  [[nodiscard]] int coming() const override;
  bool next(QueueItem& out, int milliseconds) override;
  void acknowledge(const QueueItem& item) override;
  std::vector<std::uint64_t> confirmed() override;
  void keep(const QueueItem& item) override { answer(item, {}, "+WPI"); }
  void give_back(const QueueItem& item, double seconds) override;
  void flush(int milliseconds) override { wire_->flush(milliseconds); }
  Result<QueueState> state() override;
  Result<std::size_t> add(std::span<const QueueEntry> entries) override;
  Result<QueueNote> note(std::string_view name) override;
  Result<std::uint64_t> set_note(std::string_view name, std::uint64_t after, std::string_view text) override;
  Result<std::vector<std::string>> notes(std::string_view prefix) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Pull {
    int left = 0;
    Clock::time_point end;
  };
  struct Known {
    std::set<std::string, std::less<>> subjects;
    std::uint64_t last = 0;  // sequence of the stream then
  };
  // The answer to a message, waited for.
  Result<WireMessage> ask(std::string_view subject, const Headers& headers, std::string_view data);
  [[nodiscard]] std::optional<WireMessage> answer_to(std::string_view reply, Clock::time_point end);
  Status make_stream(const std::string& stream, const std::string& config, bool make, std::string& created);
  Status make_consumer(const Options& options);
  Result<Known> subjects(const std::string& stream, const std::string& filter);
  // Publishes entries after the last sequence that is known; returns how many of them, from the first on,
  // were stored.
  std::size_t publish_after(std::uint64_t last, std::span<const QueueEntry* const> entries, std::string& why);
  void answer(const QueueItem& item, std::string_view reply, std::string_view word);
  bool read(WireMessage& message, QueueItem& out);
  void forget_old_pulls();

  std::unique_ptr<Wire> wire_;
  std::string items_, notes_, subject_, identity_;  // streams; the beginning of subjects, with a dot
  std::chrono::milliseconds patience_{};
  std::uint64_t numbers_ = 0, seen_connections_ = 0;
  std::map<std::uint64_t, Pull> pulls_;
  std::vector<std::uint64_t> confirmed_;

  std::mutex mutex_;  // guards the two below, which the library's thread fills
  std::condition_variable came_;
  std::deque<WireMessage> incoming_;
};

}  // namespace runnel::fleet
