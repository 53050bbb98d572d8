#include "tests/services/fleet/fleet_harness.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace runnel::fleet::test {
namespace {

// More than two parts.
std::vector<std::byte> model_of(std::uint32_t identity) {
  std::vector<std::byte> out(2 * GraphRecord::kPart + 1000 * identity);
  std::mt19937 random(identity);
  for (std::byte& one : out) one = static_cast<std::byte>(random());
  return out;
}

}  // namespace

Fleet::Member& Fleet::add(std::uint32_t identity, const std::function<void(WorkerOptions&)>& change,
                          bool library) {
  Member member;
  member.id = "w" + std::to_string(++started_);
  member.exchange = std::make_unique<MemoryExchange>(logs);
  member.runner = std::make_unique<CountingRunner>(identity);
  WorkerOptions options;
  options.id = member.id;
  if (change) change(options);
  MakeRunner make;
  if (library)
    make = [](const GraphRecord& record,
              const std::vector<std::vector<std::byte>>& models) -> Result<std::unique_ptr<Runner>> {
      if (models.size() != 1 || models[0] != model_of(record.identity))
        return Status(Code::invalid_data, "not the model that was published");
      return std::unique_ptr<Runner>(std::make_unique<CountingRunner>(record.identity));
    };
  member.worker = std::make_unique<Worker>(*member.exchange, *member.runner, options, make);
  members.push_back(std::move(member));
  return members.back();
}

void Fleet::publish(std::uint32_t identity) {
  const std::vector<std::byte> model = model_of(identity);
  GraphRecord record;
  record.identity = identity;
  record.models.push_back({sha256_of(model), model.size()});
  for (std::uint64_t part = 0; part < parts_of(record.models[0]); ++part) {
    const std::size_t from = part * GraphRecord::kPart;
    logs.put(part_subject("$KV.runnel", record.models[0], part), Exchange::kAnyway, {},
             {reinterpret_cast<const char*>(model.data()) + from,
              std::min(GraphRecord::kPart, model.size() - from)});
  }
  logs.put(record_subject("$KV.runnel", identity), Exchange::kAnyway, {}, text_of(record));
}

void Fleet::deploy(Rule rule) {
  Rules rules;
  if (const auto& log = logs.log(rules_subject("$KV.runnel")); !log.empty()) {
    const auto& data = log.back().data;
    const auto read = read_rules({reinterpret_cast<const char*>(data.data()), data.size()});
    ASSERT_TRUE(read.ok());
    rules = *read;
  }
  ASSERT_TRUE(rules.add(std::move(rule)).ok());
  logs.put(rules_subject("$KV.runnel"), Exchange::kAnyway, {}, text_of(rules));
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
  if (tidy) first = std::max(first, left_out);
  if (lost) left_out = at + count;
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
  SomeRunners runners;
  runners.all.emplace_back(1);
  OwnedStream stream(subject, runners, {});
  Entry entry;
  entry.graph = 1;
  EXPECT_TRUE(stream.resume(entry, {}).ok());
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
        next->runner->hear({&turn, 1});
        EXPECT_TRUE(stream.heard().ok());
      }
      while (stream.wants_append()) {
        out.push_back(stream.begin_append().data);
        EXPECT_TRUE(stream.appended(out.size()).ok());
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
