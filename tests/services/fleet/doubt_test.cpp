// Gaps that may be holes of one copy of a stream's log.
#include "services/fleet/doubt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/fleet/chunk.h"
#include "services/fleet/entry.h"
#include "services/fleet/owned_stream.h"
#include "services/fleet/runner.h"
#include "services/fleet/work/worker.h"
#include "tests/services/fleet/counting_runner.h"
#include "tests/services/fleet/fleet_harness.h"

namespace runnel::fleet::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kStream = "audio.a";
constexpr std::int64_t kChunk = 100;

void put(Fleet& fleet, std::int64_t first, std::uint64_t run = 1, bool end = false,
         const std::string& subject = kStream, std::int64_t gap = 0) {
  Chunk chunk = chunk_at(first, kChunk, run);
  chunk.end = end;
  chunk.gap = gap;
  fleet.logs.put(subject, Exchange::kAnyway, headers_of(chunk), bytes_at(first, kChunk, run));
}

Message message_at(std::int64_t first, std::uint64_t sequence) {
  const std::string bytes = bytes_at(first, kChunk);
  Message out{kStream, sequence, headers_of(chunk_at(first, kChunk)), {}};
  for (const char one : bytes) out.data.push_back(static_cast<std::byte>(one));
  return out;
}

ChunkCounts counts(const Fleet& fleet) { return fleet.members.front().worker->facts().chunks; }

std::uint64_t heard(const Fleet& fleet) { return counts(fleet).heard; }

// Workers come and go, so that the stream is read from each copy.
TEST(Doubt, WhatOneCopyLacksIsReadFromAnother) {
  Fleet fleet(11, {.holes = 0.3});
  constexpr std::int64_t kChunks = 200;
  for (std::int64_t i = 0; i < kChunks; ++i) put(fleet, kChunk * i, 1, i + 1 == kChunks);
  ASSERT_GT(fleet.logs.holes(kStream), 20U);
  fleet.add();
  ASSERT_TRUE(fleet.until([&] { return heard(fleet) == kChunks; }, 30000)) << heard(fleet);
  fleet.run(1000);
  EXPECT_EQ(events_of(fleet.logs, kStream), Sender::expected(fleet.logs, kStream));
  const ChunkCounts found = counts(fleet);
  EXPECT_GT(found.doubted, 0U);
  EXPECT_GT(found.mended, 0U);
  EXPECT_EQ(found.believed, 0U);
  EXPECT_EQ(found.gaps, 0U);
  EXPECT_EQ(found.lost, 0U);
  bool said = false;
  for (const std::string& line : fleet.members.front().worker->take_news())
    said = said || line.find("missing in one copy") != std::string::npos;
  EXPECT_TRUE(said);
}

// The stream waits until nobody has it; another one does not.
TEST(Doubt, WhatNoCopyHasIsAGapOfThatLength) {
  Fleet fleet(12, {.holes = 1e-9});
  fleet.add();
  put(fleet, 0);
  put(fleet, 0, 1, false, "audio.b");
  ASSERT_TRUE(fleet.until([&] { return heard(fleet) == 2; }, 5000));
  put(fleet, 3 * kChunk);
  const std::int64_t since = fleet.now;
  ASSERT_TRUE(fleet.until([&] { return counts(fleet).doubted == 1; }, 100));
  put(fleet, kChunk, 1, false, "audio.b");
  ASSERT_TRUE(fleet.until([&] { return heard(fleet) == 3; }, 4)) << "another stream waits, too";
  ASSERT_TRUE(fleet.until([&] { return heard(fleet) == 4; }, 1000));
  EXPECT_LE(fleet.now - since, 100) << "a question and twelve consumers, of some milliseconds each";
  EXPECT_EQ(counts(fleet).believed, 1U);
  EXPECT_EQ(counts(fleet).gaps, 1U);
  EXPECT_EQ(counts(fleet).lost, 2 * static_cast<std::uint64_t>(kChunk));
  fleet.run(100);
  EXPECT_EQ(events_of(fleet.logs, kStream), Sender::expected(fleet.logs, kStream));
}

TEST(Doubt, OnOneServerAGapCostsAQuestion) {
  Fleet fleet(13, {});
  fleet.add();
  put(fleet, 0);
  ASSERT_TRUE(fleet.until([&] { return heard(fleet) == 1; }, 5000));
  put(fleet, 3 * kChunk);
  EXPECT_TRUE(fleet.until([&] { return heard(fleet) == 2; }, 6));
  EXPECT_EQ(counts(fleet).believed, 1U);
}

TEST(Doubt, AGapThatItsSenderNamesCostsNothing) {
  Fleet fleet(14, {.holes = 1e-9});
  fleet.add();
  put(fleet, 0);
  ASSERT_TRUE(fleet.until([&] { return heard(fleet) == 1; }, 5000));
  put(fleet, 3 * kChunk, 1, false, kStream, 2 * kChunk);
  ASSERT_TRUE(fleet.until([&] { return heard(fleet) == 2; }, 4));
  EXPECT_EQ(counts(fleet).doubted, 0U);
  EXPECT_EQ(counts(fleet).gaps, 1U);
  // It knows of less than is missing.
  put(fleet, 6 * kChunk, 1, false, kStream, kChunk);
  ASSERT_TRUE(fleet.until([&] { return heard(fleet) == 3; }, 1000));
  EXPECT_EQ(counts(fleet).doubted, 1U);
}

// What one run still had is not known from the next one's chunk.
TEST(Doubt, TheRestOfARunBeforeAnotherIsLookedFor) {
  Fleet fleet(15, {.holes = 0.5});
  constexpr int kRuns = 60;
  for (std::uint64_t run = 1; run <= kRuns; ++run)
    for (int i = 0; i < 3; ++i) put(fleet, kChunk * i, run, i == 2 && run % 2 == 0);
  put(fleet, 0, kRuns + 1);
  put(fleet, kChunk, kRuns + 1, true);
  ASSERT_GT(fleet.logs.holes(kStream), 20U);
  fleet.add();
  ASSERT_TRUE(fleet.until([&] { return heard(fleet) == 3 * kRuns + 2; }, 30000)) << heard(fleet);
  fleet.run(1000);
  EXPECT_EQ(events_of(fleet.logs, kStream), Sender::expected(fleet.logs, kStream));
  EXPECT_GT(counts(fleet).mended, 0U);
  EXPECT_EQ(counts(fleet).gaps, 0U);
}

// A new owner reads another copy from the number that the one before it had heard there.
TEST(Doubt, CopiesMayNumberTheSameChunksDifferently) {
  Fleet fleet(16, {.holes = 0.01, .shift = 30});
  constexpr std::int64_t kChunks = 120;
  std::uint64_t mended = 0;
  const auto quick = [](WorkerOptions& options) { options.save = milliseconds(100); };
  for (std::int64_t i = 0; i < kChunks; ++i) {
    put(fleet, kChunk * i, 1, i + 1 == kChunks);
    if (i % 10 != 5) continue;
    if (!fleet.members.empty()) {
      mended += counts(fleet).mended;
      fleet.kill(fleet.members.front());
    }
    fleet.add(1, quick);
    fleet.run(5000);
  }
  ASSERT_TRUE(fleet.until(
      [&] { return fleet.logs.log("events.audio.a").size() == Sender::expected(fleet.logs, kStream).size(); },
      30000));
  fleet.run(1000);
  mended += counts(fleet).mended;
  EXPECT_EQ(events_of(fleet.logs, kStream), Sender::expected(fleet.logs, kStream));
  EXPECT_GT(mended, 0U);
}

// What another copy numbers lower than what is here is heard, if its samples are new; what was there is not.
TEST(Doubt, ANumberSaysNothingOfSamplesThatAreNew) {
  SomeRunners runners;
  runners.all.emplace_back(1);
  OwnedStream::Limits limits;
  limits.doubts = true;
  OwnedStream stream(kStream, runners, limits);
  Entry entry;
  entry.graph = 1;
  ASSERT_TRUE(stream.resume(entry, {}).ok());
  stream.log_ends(nullptr);
  const auto hear = [&] {
    std::string broken;
    Message apart;
    while (stream.waiting() > 0 && !stream.doubted()) {
      const auto next = stream.next(broken, apart);
      ASSERT_TRUE(next.ok());
      if (next->run == nullptr) continue;
      Runner::Turn turn{next->run, next->samples, {}};
      next->runner->hear({&turn, 1});
      ASSERT_TRUE(stream.heard().ok());
    }
  };
  stream.arrives(message_at(0, 50));
  stream.arrives(message_at(kChunk, 51));
  stream.arrives(message_at(2 * kChunk, 49));
  stream.arrives(message_at(kChunk, 48));
  EXPECT_EQ(stream.waiting(), 3U);
  hear();
  stream.arrives(message_at(2 * kChunk, 40));
  EXPECT_EQ(stream.waiting(), 0U);
  stream.arrives(message_at(4 * kChunk, 41));
  EXPECT_EQ(stream.waiting(), 1U);
  hear();
  ASSERT_TRUE(stream.doubted());
  EXPECT_EQ(stream.doubted()->next, 3 * kChunk);
  EXPECT_TRUE(stream.idle());
  stream.mend({message_at(3 * kChunk, 40)});
  hear();
  EXPECT_EQ(stream.entry().next, 5 * kChunk);
  EXPECT_EQ(stream.entry().covered, 51U) << "numbers never go back";
  EXPECT_EQ(stream.counts().gaps, 0U);
  EXPECT_EQ(stream.waiting_bytes(), 0U);
}

// Chunks that wait take no more room than they may: the log keeps the others.
TEST(Doubt, WhatWaitsIsBounded) {
  Fleet fleet(17, {.holes = 1e-9});
  constexpr std::size_t kMost = 8000;
  constexpr int kChunks = 300;
  for (int i = 0; i < kChunks; ++i) put(fleet, kChunk * (i < 50 ? i : i + 2));
  Fleet::Member& member = fleet.add(1, [](WorkerOptions& options) { options.most_waiting_bytes = kMost; });
  std::size_t most = 0;
  ASSERT_TRUE(fleet.until(
      [&] {
        for (const StreamFacts& one : member.worker->stream_facts()) most = std::max(most, one.waiting);
        return heard(fleet) == kChunks;
      },
      20000));
  EXPECT_GT(most, 2U);
  EXPECT_LE(most, kMost / (2 * kChunk) + 1);
  EXPECT_EQ(counts(fleet).gaps, 1U);
  EXPECT_EQ(counts(fleet).doubled, 0U);
  fleet.run(1000);
  EXPECT_EQ(events_of(fleet.logs, kStream), Sender::expected(fleet.logs, kStream));
}

// Nothing happens by itself: the test answers.
class Silent final : public Exchange {
 public:
  explicit Silent(std::size_t copies) : copies_(copies) {}
  std::uint64_t append(std::string_view, std::uint64_t, const Headers&, std::string_view) override {
    return 0;
  }
  std::uint64_t last(std::string_view) override { return 0; }
  std::uint64_t first(std::string_view, std::uint64_t from) override {
    asked.push_back(from);
    return ++numbers;
  }
  std::uint64_t list(std::string_view) override { return 0; }
  std::uint64_t follow(std::string_view, std::uint64_t from) override {
    followed.push_back(from);
    return ++numbers;
  }
  std::uint64_t watch(std::string_view) override { return 0; }
  void leave(std::uint64_t) override { ++left; }
  [[nodiscard]] std::size_t copies(std::string_view) const override { return copies_; }
  void remove(std::string_view, std::uint64_t) override {}

  std::vector<std::uint64_t> asked, followed;
  std::uint64_t numbers = 0, left = 0;

 private:
  std::size_t copies_;
};

Gap gap() {
  Gap out;
  out.run = out.found_run = 1;
  out.next = kChunk;
  out.found = 3 * kChunk;
  out.begun = true;
  out.covered = 70;
  out.sequence = 80;
  return out;
}

Answer answer_of(std::uint64_t request, std::optional<Message> message) {
  Answer out;
  out.request = request;
  out.outcome = Answer::Outcome::done;
  out.message = std::move(message);
  return out;
}

// A leader that has not read all yet says nothing; one that says nothing at all is waited for, half a minute.
TEST(Doubt, AnswersThatSayNothingAreAskedForAgain) {
  Silent exchange(1);
  Doubt doubt(exchange, kStream, gap());
  Doubt::Time now = seconds(5);
  const Doubt::Time begin = now;
  for (int i = 0; i < 300 && !doubt.over(); ++i) {
    doubt.work(now);
    if (doubt.request() != 0 && i % 2 == 0) doubt.answered(answer_of(doubt.request(), {}), now);
    if (doubt.request() != 0 && i % 2 == 1) {
      Answer failed;
      failed.request = doubt.request();
      doubt.answered(failed, now);
    }
    doubt.work(now);
    if (doubt.over()) break;
    ASSERT_GT(doubt.due(), now);
    now = doubt.due();
  }
  EXPECT_TRUE(doubt.over());
  EXPECT_EQ(now - begin, Older::kPatience);
  EXPECT_TRUE(doubt.take().empty());
  EXPECT_GE(exchange.asked.size(), 20U);
  EXPECT_LE(exchange.asked.size(), 151U) << "not more often than five times a second";
}

TEST(Doubt, TheLeaderIsAskedForOneAfterAnother) {
  Silent exchange(3);
  Doubt doubt(exchange, kStream, gap());
  doubt.work(seconds(1));
  doubt.answered(answer_of(doubt.request() + 1, message_at(kChunk, 75)), seconds(1));
  EXPECT_NE(doubt.request(), 0U) << "not its own";
  doubt.answered(answer_of(doubt.request(), message_at(0, 71)), seconds(1));  // numbered higher: heard before
  doubt.work(seconds(1));
  doubt.answered(answer_of(doubt.request(), message_at(kChunk, 75)), seconds(1));
  doubt.work(seconds(1));
  doubt.answered(answer_of(doubt.request(), message_at(2 * kChunk, 76)), seconds(1));
  doubt.work(seconds(1));
  EXPECT_FALSE(doubt.over());
  doubt.answered(answer_of(doubt.request(), message_at(3 * kChunk, 80)), seconds(1));
  ASSERT_TRUE(doubt.over());
  EXPECT_EQ(exchange.asked, (std::vector<std::uint64_t>{71, 72, 76, 77}));
  EXPECT_TRUE(exchange.followed.empty());
  const std::vector<Message> found = doubt.take();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].sequence, 75U);
  EXPECT_EQ(found[1].sequence, 76U);
}

// A consumer that is silent says nothing: twelve must go past the gap.
TEST(Doubt, SilentConsumersAreNotCounted) {
  Silent exchange(3);
  Doubt doubt(exchange, kStream, gap());
  Doubt::Time now = seconds(1);
  doubt.work(now);
  doubt.answered(answer_of(doubt.request(), message_at(3 * kChunk, 80)), now);
  int silent = 0;
  for (int i = 0; !doubt.over() && i < 100; ++i) {
    doubt.work(now);
    const std::uint64_t feed = doubt.feed();
    if (feed != 0 && i % 3 != 0) {
      doubt.delivered(message_at(0, 70), feed, now);
      doubt.delivered(message_at(3 * kChunk, 81), feed, now);
      EXPECT_EQ(doubt.feed(), 0U);
      continue;
    }
    if (feed != 0) ++silent;
    now = doubt.due();
  }
  EXPECT_TRUE(doubt.over());
  EXPECT_GT(silent, 0);
  EXPECT_EQ(exchange.followed.size(), 12U + static_cast<std::size_t>(silent));
  EXPECT_EQ(exchange.left, exchange.followed.size());
  EXPECT_EQ(exchange.followed.front(), 7U) << "from before the gap on";
  EXPECT_TRUE(doubt.take().empty());
}

// What fills no gap, or has another format, is not taken, however often it comes.
TEST(Doubt, OnlyWhatFillsTheGapIsTaken) {
  Silent exchange(1);
  Doubt doubt(exchange, kStream, gap());
  doubt.work(seconds(1));
  Message other = message_at(kChunk, 72);
  Chunk stereo = chunk_at(kChunk, kChunk / 2);
  stereo.format.channels = 2;
  other.headers = headers_of(stereo);
  for (int i = 0; i < 1000 && !doubt.over(); ++i) {
    doubt.answered(answer_of(doubt.request(), i % 2 == 0 ? other : Message{kStream, 73, {}, {}}), seconds(1));
    doubt.work(seconds(1));
  }
  EXPECT_TRUE(doubt.over()) << "a log without an end";
  EXPECT_TRUE(doubt.take().empty());
}

}  // namespace
}  // namespace runnel::fleet::test
