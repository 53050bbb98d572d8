#include "tests/services/fleet/fleet_harness.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace runnel::fleet::test {

Fleet::Member& Fleet::add(std::uint32_t identity, const std::function<void(WorkerOptions&)>& change) {
  Member member;
  member.id = "w" + std::to_string(++started_);
  member.exchange = std::make_unique<MemoryExchange>(logs);
  member.runner = std::make_unique<CountingRunner>(identity);
  WorkerOptions options;
  options.id = member.id;
  if (change) change(options);
  member.worker = std::make_unique<Worker>(*member.exchange, *member.runner, options);
  members.push_back(std::move(member));
  return members.back();
}

void Fleet::kill(Member& member) {
  const Member* const gone = &member;
  members.remove_if([&](const Member& one) { return &one == gone; });
}

void Fleet::tick() {
  ++now;
  logs.tick();
  for (Member& member : members) {
    if (now < member.paused_until) continue;
    Happening what;
    while (member.exchange->next(what)) member.worker->happened(std::move(what));
    while (member.worker->work(std::chrono::milliseconds(now))) {
    }
  }
}

bool Fleet::until(const std::function<bool()>& enough, std::int64_t ticks) {
  for (std::int64_t i = 0; i < ticks; ++i) {
    if (enough()) return true;
    tick();
  }
  return enough();
}

Chunk chunk_at(std::int64_t first, std::int64_t samples, std::uint64_t run) {
  Chunk chunk;
  chunk.first = first;
  chunk.samples = samples;
  chunk.run = run;
  return chunk;
}

std::string bytes_at(std::int64_t first, std::int64_t samples, std::uint64_t run) {
  std::string out;
  for (std::int64_t i = first; i < first + samples; ++i) {
    const std::uint64_t value = (static_cast<std::uint64_t>(i) + 977 * run) * 2654435761U >> 8;
    out += static_cast<char>(value);
    out += static_cast<char>(value >> 8);
  }
  return out;
}

Sender::Sender(std::string name, unsigned seed, std::int64_t count)
    : subject(std::move(name)), random(seed), samples(count) {}

bool Sender::send(MemoryLogs& logs) {
  if (at >= samples) return false;
  std::int64_t count = std::min<std::int64_t>(1 + random() % 40, samples - at), first = at;
  if (random() % 20 == 0) first = std::max<std::int64_t>(0, at - static_cast<std::int64_t>(random() % 60));
  const bool lost = random() % 25 == 0 && at + count < samples, doubled = random() % 15 == 0;
  Chunk chunk = chunk_at(first, at + count - first, run);
  chunk.end = at + count >= samples;
  at += count;
  if (!lost)
    for (int i = 0; i < (doubled ? 2 : 1); ++i)
      logs.put(subject, Exchange::kAnyway, headers_of(chunk), bytes_at(chunk.first, chunk.samples, run));
  if (random() % 50 == 0) logs.put(subject, Exchange::kAnyway, {{"Runnel-Format", "nonsense"}}, "?");
  return true;
}

std::vector<std::string> Sender::expected(const MemoryLogs& logs, const std::string& subject) {
  CountingRunner runner;
  OwnedStream stream(subject, runner, {});
  EXPECT_TRUE(stream.resume({}, {}).ok());
  stream.log_ends(nullptr);
  std::vector<std::string> out;
  for (const Message& message : logs.log(subject)) {
    stream.arrives(message);
    std::string broken;
    Message apart;
    while (stream.waiting() > 0) {
      const auto next = stream.next(broken, apart);
      EXPECT_TRUE(next.ok());
      if (next->run != nullptr) {
        Runner::Turn turn{next->run, next->samples, {}};
        runner.hear({&turn, 1});
        EXPECT_TRUE(stream.heard().ok());
      }
      while (stream.wants_append()) {
        out.push_back(stream.begin_append().data);
        stream.appended(out.size());
      }
    }
  }
  return out;
}

std::vector<std::string> events_of(const MemoryLogs& logs, const std::string& subject) {
  std::vector<std::string> out;
  for (const Message& message : logs.log("events." + subject))
    out.emplace_back(reinterpret_cast<const char*>(message.data.data()), message.data.size());
  return out;
}

}  // namespace runnel::fleet::test
