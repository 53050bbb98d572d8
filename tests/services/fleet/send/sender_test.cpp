// A sender over an exchange that loses requests and answers, is away, and changes: what the log has in the
// end is what was put in, once and in order.
#include "services/fleet/send/sender.h"

#include <gtest/gtest.h>

#include <random>

#include "services/fleet/send/spool.h"
#include "tests/services/fleet/memory_exchange.h"
#include "tests/support/data.h"

namespace runnel::fleet::test {
namespace {

Piece piece(std::uint64_t run, std::int64_t first, std::int64_t samples, bool end = false) {
  Piece out;
  out.chunk.run = run;
  out.chunk.first = first;
  out.chunk.samples = samples;
  out.chunk.end = end;
  for (std::int64_t i = 0; i < 2 * samples; ++i) out.data.push_back(static_cast<std::byte>(2 * first + i));
  return out;
}

// Checks that a log has the samples [0, end) of a run once and in order, and its end.
void check_log(const MemoryLogs& logs, const std::string& subject, std::uint64_t run, std::int64_t end) {
  std::int64_t next = 0;
  bool ended = false;
  for (const Message& message : logs.log(subject)) {
    const auto chunk = read_chunk(message);
    ASSERT_TRUE(chunk.ok()) << chunk.status().text();
    if (chunk->run != run) continue;
    ASSERT_EQ(chunk->first, next) << subject;
    ASSERT_EQ(chunk->gap, 0) << subject;
    ASSERT_FALSE(ended);
    for (std::size_t i = 0; i < message.data.size(); ++i)
      ASSERT_EQ(message.data[i], static_cast<std::byte>(2 * static_cast<std::size_t>(next) + i));
    next += chunk->samples;
    ended = chunk->end;
  }
  EXPECT_EQ(next, end) << subject;
  EXPECT_TRUE(ended) << subject;
}

void step(MemoryLogs& logs, MemoryExchange& exchange, Sender& sender, std::int64_t& tick) {
  logs.tick();
  Happening what;
  while (exchange.next(what))
    if (const auto* const answer = std::get_if<Answer>(&what)) sender.happened(*answer);
  sender.work(std::chrono::milliseconds(20 * ++tick));
}

TEST(Sender, WhateverTheExchangeLoses) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    MemoryLogs logs(seed, {0.15, 0.15, 0, 8});
    std::mt19937 random(seed);
    auto exchange = std::make_unique<MemoryExchange>(logs);
    Sender sender;
    std::vector<std::unique_ptr<Lane>> lanes;
    std::vector<std::int64_t> at(3, 0);
    for (int i = 0; i < 3; ++i) {
      lanes.push_back(std::make_unique<Lane>("audio." + std::to_string(i),
                                             std::make_unique<MemoryBacklog>(std::size_t{1} << 20)));
      sender.add(*lanes.back());
    }
    sender.use(exchange.get());
    std::int64_t tick = 0;
    for (int round = 0; round < 200; ++round) {
      for (std::size_t i = 0; i < 3; ++i) {
        const std::int64_t count = 1 + static_cast<std::int64_t>(random() % 50);
        ASSERT_TRUE(*lanes[i]->put(piece(9, at[i], count), false, nullptr));
        at[i] += count;
      }
      if (random() % 40 == 0) logs.down(true);
      if (random() % 8 == 0) logs.down(false);
      // Another connection: what was under way arrives or not.
      if (random() % 50 == 0) {
        sender.use(nullptr);
        exchange = std::make_unique<MemoryExchange>(logs);
        sender.use(exchange.get());
      }
      step(logs, *exchange, sender, tick);
    }
    logs.down(false);
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(*lanes[i]->put(piece(9, at[i], 0, true), false, nullptr));
      lanes[i]->close();
    }
    for (int i = 0; i < 5000 && !sender.done(); ++i) step(logs, *exchange, sender, tick);
    ASSERT_TRUE(sender.done()) << seed;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(lanes[i]->status().ok()) << lanes[i]->status().text();
      check_log(logs, lanes[i]->subject(), 9, at[i]);
    }
    EXPECT_GT(sender.facts().failures, 0U);
  }
}

// What was never put in is named, by a sender that knows what the log has.
TEST(Sender, GapsAreNamed) {
  MemoryLogs logs(1, {});
  MemoryExchange exchange(logs);
  std::int64_t tick = 0;
  const auto send = [&](std::uint64_t run, std::int64_t first, std::int64_t samples) {
    Lane lane("audio.a", std::make_unique<MemoryBacklog>(std::size_t{1} << 20));
    Sender sender;
    sender.add(lane);
    sender.use(&exchange);
    EXPECT_TRUE(*lane.put(piece(run, first, samples), false, nullptr));
    EXPECT_TRUE(*lane.put(piece(run, first + samples + 30, samples), false, nullptr));
    lane.close();
    for (int i = 0; i < 100 && !sender.done(); ++i) step(logs, exchange, sender, tick);
    EXPECT_TRUE(sender.done());
  };
  send(1, 100, 50);
  send(1, 250, 20);
  logs.put("audio.a", Exchange::kAnyway, {}, "garbage");
  send(2, 40, 10);
  std::vector<std::int64_t> gaps;
  for (const Message& message : logs.log("audio.a"))
    if (const auto chunk = read_chunk(message); chunk.ok()) gaps.push_back(chunk->gap);
  EXPECT_EQ(gaps, (std::vector<std::int64_t>{100, 30, 20, 30, 0, 30})) << "behind garbage nothing is known";
}

// Processes that are killed at any moment, with one spool.
TEST(Sender, KilledAgainAndAgain) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    runnel::test::TemporaryFolder folder;
    MemoryLogs logs(seed, {0.05, 0.05, 0, 5});
    std::mt19937 random(seed);
    std::int64_t tick = 0, next = 0;
    constexpr std::int64_t kEnd = 6000;
    std::uint64_t known = 0;
    for (int life = 0; life < 100; ++life) {
      auto spool = Spool::open(folder.path() / "spool", "audio.a", Spool::kLeastBytes);
      ASSERT_TRUE(spool.ok()) << spool.status().text();
      ASSERT_EQ((*spool)->next(), next) << "what put() has returned for is there";
      const std::uint64_t run = (*spool)->run();
      const bool ended = (*spool)->ended();
      Lane lane("audio.a", *std::move(spool), run, next);
      MemoryExchange exchange(logs);
      Sender sender;
      sender.add(lane);
      sender.use(&exchange);
      const bool last = life == 99;
      for (unsigned steps = last ? 100000 : 5 + random() % 60; steps > 0; --steps) {
        if (next < kEnd) {
          const std::int64_t count = std::min<std::int64_t>(20, kEnd - next);
          ASSERT_TRUE(*lane.put(piece(3, next, count, next + count == kEnd), false, nullptr));
          next += count;
        } else if (last || ended) {
          lane.close();
        }
        step(logs, exchange, sender, tick);
        if (sender.done()) break;
      }
      ASSERT_TRUE(lane.status().ok()) << lane.status().text();
      known += sender.facts().known;
    }
    check_log(logs, "audio.a", 3, kEnd);
    EXPECT_GT(known, 0U) << "no message was stored whose answer was lost";
  }
}

TEST(Sender, AnotherOneIsNoticed) {
  MemoryLogs logs(1, {});
  MemoryExchange exchange(logs);
  Sender sender;
  Lane lane("audio.a", std::make_unique<MemoryBacklog>(1000));
  sender.add(lane);
  sender.use(&exchange);
  std::int64_t tick = 0;
  ASSERT_TRUE(*lane.put(piece(5, 0, 10), false, nullptr));
  for (int i = 0; i < 20; ++i) step(logs, exchange, sender, tick);
  const Piece other = piece(6, 0, 10);
  logs.put("audio.a", Exchange::kAnyway, headers_of(other.chunk),
           {reinterpret_cast<const char*>(other.data.data()), other.data.size()});
  ASSERT_TRUE(*lane.put(piece(5, 10, 10), false, nullptr));
  for (int i = 0; i < 50; ++i) step(logs, exchange, sender, tick);
  EXPECT_NE(lane.status().text().find("another sender has stored sample 9 of run 6"), std::string_view::npos)
      << lane.status().text();
  EXPECT_FALSE(lane.put(piece(5, 20, 10), false, nullptr).ok());
  lane.close();
  EXPECT_TRUE(sender.done());
}

TEST(Sender, GarbageOfOthersIsNoEnd) {
  MemoryLogs logs(1, {});
  logs.put("audio.a", Exchange::kAnyway, {}, "garbage");
  MemoryExchange exchange(logs);
  Sender sender;
  Lane lane("audio.a", std::make_unique<MemoryBacklog>(1000));
  sender.add(lane);
  sender.use(&exchange);
  std::int64_t tick = 0;
  ASSERT_TRUE(*lane.put(piece(5, 0, 10, true), false, nullptr));
  lane.close();
  for (int i = 0; i < 50 && !sender.done(); ++i) step(logs, exchange, sender, tick);
  EXPECT_TRUE(sender.done());
  ASSERT_EQ(logs.log("audio.a").size(), 2U);
}

// Live samples without room are lost, counted and a gap; others wait.
TEST(Lane, WithoutRoom) {
  Lane lane("audio.a", std::make_unique<MemoryBacklog>(100));
  ASSERT_TRUE(*lane.put(piece(5, 0, 50), false, nullptr));
  ASSERT_TRUE(*lane.put(piece(5, 50, 10), false, nullptr));
  EXPECT_EQ(lane.facts().lost, 10);
  MemoryLogs logs(1, {});
  MemoryExchange exchange(logs);
  Sender sender;
  sender.add(lane);
  sender.work(std::chrono::seconds(1));
  const auto news = sender.take_news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_NE(news[0].find("10 samples were lost so far"), std::string::npos) << news[0];
  std::atomic<bool> stop{true};
  EXPECT_FALSE(*lane.put(piece(5, 60, 10), true, &stop)) << "it does not wait longer than the program runs";
  EXPECT_EQ(lane.facts().lost, 10);
  sender.use(&exchange);
  std::int64_t tick = 100;
  for (int i = 0; i < 20; ++i) step(logs, exchange, sender, tick);
  ASSERT_TRUE(*lane.put(piece(5, 60, 10), true, nullptr));
  for (int i = 0; i < 20; ++i) step(logs, exchange, sender, tick);
  ASSERT_EQ(logs.log("audio.a").size(), 2U);
  EXPECT_EQ((*read_chunk(logs.log("audio.a")[1])).first, 60);
}

}  // namespace
}  // namespace runnel::fleet::test
