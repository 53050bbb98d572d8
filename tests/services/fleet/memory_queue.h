// A queue of work in memory, for many workers of one test, whose time is what the test says. Like the real
// one it gives an item again when nobody has spoken of it for too long; and it loses acknowledgements, and
// answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/fleet/work_queue.h"

namespace runnel::fleet::test {

// What the server has; one for all.
class MemoryQueueServer {
 public:
  struct Faults {
    double lost_acknowledgement = 0, lost_answer = 0;  // shares
  };
  MemoryQueueServer(unsigned seed, Faults faults, std::chrono::milliseconds patience)
      : random_(seed), faults_(faults), patience_(patience) {}

  void at(std::chrono::milliseconds now) { now_ = now; }
  // While it is down nothing is stored, answered or given.
  void down(bool is) { down_ = is; }
  [[nodiscard]] bool done() const;
  // Recordings that a client has and has not acknowledged.
  [[nodiscard]] std::vector<std::uint64_t> held_by(const class MemoryQueue& client) const;

 private:
  friend class MemoryQueue;
  struct Item {
    std::string data;
    std::uint64_t deliveries = 0;
    int holder = 0;                    // number of a client
    std::chrono::milliseconds due{0};  // may be given from then on
    bool done = false;
  };
  bool lucky(double lost) { return std::uniform_real_distribution<>(0, 1)(random_) >= lost; }

  std::mt19937 random_;
  Faults faults_;
  std::chrono::milliseconds patience_, now_{0};
  bool down_ = false;
  std::vector<Item> items_;
  std::set<std::string> keys_;
  std::map<std::string, QueueNote, std::less<>> notes_;
  std::uint64_t revisions_ = 0;
  int clients_ = 0;
};

class MemoryQueue final : public WorkQueue {
 public:
  explicit MemoryQueue(MemoryQueueServer& server) : server_(server), number_(++server.clients_) {}

  void pull(int count) override { asked_ += count; }
  [[nodiscard]] int coming() const override { return asked_; }
  bool next(QueueItem& out, int milliseconds) override;
  void acknowledge(const QueueItem& item) override;
  std::vector<std::uint64_t> confirmed() override { return std::exchange(confirmed_, {}); }
  void keep(const QueueItem& item) override;
  void give_back(const QueueItem& item, double seconds) override;
  void flush(int) override {}
  Result<QueueState> state() override;
  Result<std::size_t> add(std::span<const QueueEntry> entries) override;
  Result<QueueNote> note(std::string_view name) override;
  Result<std::uint64_t> set_note(std::string_view name, std::uint64_t after, std::string_view text) override;
  Result<std::vector<std::string>> notes(std::string_view prefix) override;

 private:
  friend class MemoryQueueServer;
  Status reach();
  MemoryQueueServer& server_;
  const int number_;
  int asked_ = 0;
  std::vector<std::uint64_t> confirmed_;
};

}  // namespace runnel::fleet::test
