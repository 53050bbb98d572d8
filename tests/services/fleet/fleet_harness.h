// A fleet in one thread: workers over an exchange in memory, that are killed, paused and started, and streams
// whose chunks are sent to it.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "services/fleet/graphs/rules.h"
#include "services/fleet/work/worker.h"
#include "tests/services/fleet/counting_runner.h"
#include "tests/services/fleet/memory_exchange.h"

namespace runnel::fleet::test {

// Times are milliseconds: one tick each.
class Fleet {
 public:
  struct Member {
    std::string id;
    std::unique_ptr<MemoryExchange> exchange;
    std::unique_ptr<CountingRunner> runner;
    std::unique_ptr<Worker> worker;
    std::int64_t paused_until = 0;
    bool leaving = false;
  };

  Fleet(unsigned seed, MemoryLogs::Faults faults) : logs(seed, faults) {}
  // `library`: it makes graphs of records.
  Member& add(std::uint32_t identity = 1, const std::function<void(WorkerOptions&)>& change = {},
              bool library = false);
  void kill(Member& member);
  // Puts a record with a model of some parts where workers look for it.
  void publish(std::uint32_t identity);
  // Replaces the rules, as a deployment does.
  void deploy(Rule rule);
  void tick();
  void run(std::int64_t ticks) {
    for (std::int64_t i = 0; i < ticks; ++i) tick();
  }
  // Runs until it is true, at most so many ticks; whether it was.
  bool until(const std::function<bool()>& enough, std::int64_t ticks);

  MemoryLogs logs;
  std::list<Member> members;
  std::int64_t now = 0;

 private:
  int started_ = 0;
};

// Chunks of one stream: what a sender sends, and what must come of it.
struct Sender {
  Sender(std::string subject, unsigned seed, std::int64_t samples);
  // Sends the next chunk, sometimes twice, sometimes leaving one out. False: the run has ended.
  bool send(MemoryLogs& logs);
  // The events that a single undisturbed worker gives for the messages in the log.
  static std::vector<std::string> expected(const MemoryLogs& logs, const std::string& subject);

  std::string subject;
  std::mt19937 random;
  std::int64_t at = 0, samples = 0;
  bool tidy = false;          // what was left out is left out for good
  std::int64_t left_out = 0;  // until there
  std::uint64_t run = 1;
};

std::vector<std::string> events_of(const MemoryLogs& logs, const std::string& subject);
Chunk chunk_at(std::int64_t first, std::int64_t samples, std::uint64_t run = 1);
std::string bytes_at(std::int64_t first, std::int64_t samples, std::uint64_t run = 1);

}  // namespace runnel::fleet::test
