// Events of a stream from copies of a log that differ.
#include "services/fleet/events/reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/services/fleet/memory_exchange.h"

namespace runnel::fleet::test {
namespace {

using std::chrono::milliseconds;

// The exchange in memory has three copies of what is below this.
constexpr const char* kLog = "audio.events";

void put(MemoryLogs& logs, std::uint64_t number, const char* subject = kLog) {
  const std::string text = "event " + std::to_string(number);
  logs.put(subject, Exchange::kAnyway, {{std::string(kEventHeader), std::to_string(number)}}, text);
}

struct Reading {
  explicit Reading(MemoryLogs& its, const char* subject = kLog, std::uint64_t from = 1)
      : logs(its), exchange(logs), reader(exchange, subject, from) {}
  void run(std::int64_t ticks) {
    for (std::int64_t i = 0; i < ticks; ++i) {
      logs.tick();
      now += milliseconds(1);
      Happening what;
      while (exchange.next(what))
        if (auto* const one = std::get_if<Delivery>(&what); one != nullptr) reader.delivered(*one, now);
      reader.work(now);
      for (auto event = reader.take(); event; event = reader.take()) {
        numbers.push_back(event->number);
        missing.push_back(event->missing);
        const auto& data = event->message.data;
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(data.data()), data.size()),
                  "event " + std::to_string(event->number));
      }
    }
  }

  MemoryLogs& logs;
  MemoryExchange exchange;
  EventReader reader;
  milliseconds now{0};
  std::vector<std::uint64_t> numbers, missing;
};

std::vector<std::uint64_t> up_to(std::uint64_t last, std::uint64_t first = 1) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = first; i <= last; ++i) out.push_back(i);
  return out;
}

TEST(EventReader, CopiesWithHolesAndDoubledEventsGiveEachOnce) {
  std::uint64_t mended = 0, doubled = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    constexpr std::uint64_t kEvents = 600;
    MemoryLogs logs(seed, {.doubled = 0.05,
                           .slowest = 20,
                           .silent = 0.003,
                           .behind = 300,
                           .holes = seed % 2 == 0 ? 0.05 : 0.4,
                           .shift = seed % 3 == 0 ? 60U : 7U});
    Reading reading(logs);
    for (std::uint64_t number = 1; number <= kEvents; ++number) {
      put(logs, number);
      // One that was stored again long after, or right away.
      if (number % 40 == 0) put(logs, number - number % 7);
      if (number % 3 == 0) reading.run(5);
    }
    reading.reader.ends_with(kEvents);
    for (int i = 0; i < 200 && !reading.reader.over(); ++i) reading.run(500);
    EXPECT_EQ(reading.numbers, up_to(kEvents)) << "seed " << seed;
    EXPECT_EQ(reading.reader.counts().missing, 0U) << "seed " << seed;
    mended += reading.reader.counts().mended;
    doubled += reading.reader.counts().doubled;
  }
  EXPECT_GT(mended, 100U);
  EXPECT_GT(doubled, 10U);
}

// As a server that was stopped and goes on has it: hundreds in a row are not there, in the middle or at the
// end. They are read at once and not one by one.
TEST(EventReader, AHoleOfManyIsReadAtOnce) {
  constexpr std::uint64_t kEvents = 500;
  for (const std::uint64_t before : {300U, 10000U})
    for (unsigned seed = 1; seed <= 10; ++seed) {
      MemoryLogs logs(seed, {.slowest = 5, .lacks_from = 100, .lacks_before = before});
      for (const std::uint64_t number : up_to(kEvents)) put(logs, number);
      Reading reading(logs);
      reading.reader.ends_with(kEvents);
      reading.run(10000);
      EXPECT_EQ(reading.numbers, up_to(kEvents)) << "seed " << seed;
      EXPECT_EQ(reading.reader.counts().missing, 0U);
    }
}

// That these logs are such that it matters: who believes the copy that it happens to read has steps.
TEST(EventReader, OneCopyAloneHasSteps) {
  MemoryLogs logs(3, {.holes = 0.4, .shift = 7});
  for (const std::uint64_t number : up_to(300)) put(logs, number);
  MemoryExchange exchange(logs);
  const std::uint64_t feed = exchange.follow(kLog, 1);
  std::uint64_t newest = 0, steps = 0;
  for (int i = 0; i < 10; ++i) {
    logs.tick();
    Happening what;
    while (exchange.next(what)) {
      const auto* const one = std::get_if<Delivery>(&what);
      if (one == nullptr || one->feed != feed) continue;
      if (event_number(one->message.headers) != newest + 1) ++steps;
      newest = event_number(one->message.headers);
    }
  }
  EXPECT_GT(steps, 10U);
}

TEST(EventReader, WhatNoCopyHasIsMissing) {
  MemoryLogs logs(5, {});
  for (const std::uint64_t number : {1, 2, 3, 7, 8}) put(logs, number);
  Reading reading(logs);
  reading.run(60000);
  EXPECT_EQ(reading.numbers, (std::vector<std::uint64_t>{1, 2, 3, 7, 8}));
  EXPECT_EQ(reading.missing, (std::vector<std::uint64_t>{0, 0, 0, 3, 0}));
  EXPECT_EQ(reading.reader.counts().missing, 3U);
  EXPECT_TRUE(reading.reader.over());
}

TEST(EventReader, WithOneCopyAHoleIsToldAtOnce) {
  MemoryLogs logs(5, {});
  for (const std::uint64_t number : {1, 4, 5}) put(logs, number, "events.audio.a");
  Reading reading(logs, "events.audio.a");
  reading.run(20);
  EXPECT_EQ(reading.numbers, (std::vector<std::uint64_t>{1, 4, 5}));
  EXPECT_EQ(reading.reader.counts().missing, 2U);
}

TEST(EventReader, TheEndMayBeMissingToo) {
  MemoryLogs logs(5, {});
  for (const std::uint64_t number : up_to(5)) put(logs, number);
  Reading reading(logs);
  reading.reader.ends_with(6);
  reading.run(1000);
  EXPECT_FALSE(reading.reader.over()) << "it may come yet";
  reading.run(60000);
  EXPECT_TRUE(reading.reader.over());
  EXPECT_EQ(reading.numbers, up_to(5));
  EXPECT_EQ(reading.reader.counts().missing, 1U);
  // It came after all, too late for its place; what follows is given.
  put(logs, 6);
  put(logs, 7);
  reading.run(100);
  EXPECT_EQ(reading.numbers.back(), 7U);
  EXPECT_EQ(reading.missing.back(), 1U);
}

TEST(EventReader, BeginsWhereItIsTold) {
  MemoryLogs logs(5, {});
  for (const std::uint64_t number : up_to(20, 11)) put(logs, number);
  Reading some(logs, kLog, 15), all(logs, kLog, 0);
  some.run(50);
  all.run(50);
  EXPECT_EQ(some.numbers, up_to(20, 15));
  EXPECT_EQ(all.numbers, up_to(20, 11)) << "the log has lost older ones";
}

TEST(EventReader, MessagesThatAreNoEventsAreCounted) {
  MemoryLogs logs(5, {});
  put(logs, 1);
  for (const char* const number : {"", "-1", "0", "2x", "18446744073709551615", "99999999999999999999"})
    logs.put(kLog, Exchange::kAnyway, {{std::string(kEventHeader), number}}, "garbage");
  logs.put(kLog, Exchange::kAnyway, {}, "garbage");
  put(logs, 2);
  Reading reading(logs);
  reading.run(50);
  EXPECT_EQ(reading.numbers, up_to(2));
  EXPECT_EQ(reading.reader.counts().nameless, 7U);
}

// More of them than are held while something is missing.
TEST(EventReader, TheLogKeepsWhatDoesNotFit) {
  MemoryLogs logs(9, {.holes = 0.4});
  constexpr std::uint64_t kEvents = 5 * EventReader::kMostHeld;
  for (const std::uint64_t number : up_to(kEvents)) put(logs, number);
  Reading reading(logs);
  for (int i = 0; i < 200 && reading.numbers.size() < kEvents; ++i) reading.run(500);
  EXPECT_EQ(reading.numbers, up_to(kEvents));
}

}  // namespace
}  // namespace runnel::fleet::test
