// Sharing, beats, and the messages of chunks and entries.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "services/fleet/beats.h"
#include "services/fleet/chunk.h"
#include "services/fleet/entry.h"
#include "services/fleet/share_out.h"

namespace runnel::fleet {
namespace {

std::size_t moved(const Owners& before, const Owners& after) {
  return static_cast<std::size_t>(std::count_if(
      before.begin(), before.end(), [&](const auto& one) { return after.at(one.first) != one.second; }));
}

TEST(ShareOut, IsEvenAndMovesLittle) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Owners now;
    const std::size_t streams = random() % 200;
    for (std::size_t i = 0; i < streams; ++i) now["s" + std::to_string(i)] = "";
    std::vector<std::string> workers;
    for (std::size_t i = 0; i <= random() % 9; ++i) workers.push_back("w" + std::to_string(i));
    const auto check = [&](const Owners& shared) {
      ASSERT_EQ(shared.size(), streams);
      std::map<std::string, std::size_t> counts;
      for (const std::string& worker : workers) counts[worker] = 0;
      for (const auto& [stream, owner] : shared) {
        ASSERT_TRUE(counts.contains(owner));
        ++counts[owner];
      }
      std::size_t least = streams, most = 0;
      for (const auto& [worker, count] : counts) least = std::min(least, count), most = std::max(most, count);
      EXPECT_LE(most - least, 1U);
    };
    Owners first = share_out(now, workers);
    check(first);
    std::vector<std::string> shuffled = workers;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    EXPECT_EQ(share_out(now, shuffled), first);
    EXPECT_EQ(share_out(first, workers), first) << "what is shared stays";
    // One more: it gets its share, and nothing else moves.
    workers.push_back("x");
    const Owners more = share_out(first, workers);
    check(more);
    const std::size_t its = static_cast<std::size_t>(
        std::count_if(more.begin(), more.end(), [](const auto& one) { return one.second == "x"; }));
    EXPECT_EQ(moved(first, more), its);
    // One less: only its streams move.
    const std::string gone = workers[random() % workers.size()];
    std::erase(workers, gone);
    const std::size_t had = static_cast<std::size_t>(
        std::count_if(more.begin(), more.end(), [&](const auto& one) { return one.second == gone; }));
    const Owners less = share_out(more, workers);
    check(less);
    EXPECT_EQ(moved(more, less), had);
  }
  EXPECT_TRUE(share_out({{"a", "w"}}, {}).empty());
}

TEST(Beats, OwnBeatsAreTheClock) {
  using Kind = Beats::Kind;
  Beats beats("me", 3);
  EXPECT_TRUE(beats.heard("old", Kind::living));
  EXPECT_EQ(beats.living(), std::vector<std::string>{"old"}) << "not this one before its own beat";
  EXPECT_TRUE(beats.heard("me", Kind::living));
  EXPECT_TRUE(beats.heard("other", Kind::living));
  EXPECT_FALSE(beats.heard("me", Kind::living));
  EXPECT_TRUE(beats.lives("old"));
  EXPECT_FALSE(beats.heard("other", Kind::living));
  EXPECT_TRUE(beats.heard("me", Kind::living));
  EXPECT_FALSE(beats.lives("old"));
  EXPECT_TRUE(beats.lives("other"));
  EXPECT_TRUE(beats.heard("other", Kind::leaving, 7));
  EXPECT_FALSE(beats.lives("other"));
  EXPECT_EQ(beats.living(), std::vector<std::string>{"me"});
  EXPECT_EQ(beats.take_gone(), (std::vector<Beats::Gone>{{"other", 7}}));
  EXPECT_TRUE(beats.heard("old", Kind::living, 8)) << "one that was only late";
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(beats.heard("me", Kind::living));
  EXPECT_TRUE(beats.heard("me", Kind::living));
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(beats.heard("me", Kind::living));
  EXPECT_EQ(beats.take_gone(), (std::vector<Beats::Gone>{{"old", 8}}));
  EXPECT_TRUE(beats.take_gone().empty());
}

// Shares are computed anew only when it says that who lives has changed.
TEST(Beats, WhatItReturnsIsWhetherOthersLive) {
  using Kind = Beats::Kind;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Beats beats("me", 3);
    int changes = 0;
    for (int i = 0; i < 3000; ++i) {
      const std::vector<std::string> before = beats.living();
      const std::string who = random() % 3 == 0 ? "me" : "w" + std::to_string(random() % 4);
      const unsigned draw = random() % 20;
      const Kind kind = who == "me" ? Kind::living
                        : draw == 0 ? Kind::leaving
                        : draw == 1 ? Kind::joining
                                    : Kind::living;
      const bool changed = beats.heard(who, kind);
      EXPECT_EQ(changed, before != beats.living()) << seed << ' ' << i;
      changes += changed ? 1 : 0;
    }
    EXPECT_GT(changes, 100);
  }
}

// One that has just come believes nobody's last beat: it may be older than this worker.
TEST(Beats, WhoJoinsListensUntilItKnowsWhoLives) {
  using Kind = Beats::Kind;
  Beats alone("me", 3);
  EXPECT_FALSE(alone.joined());
  EXPECT_FALSE(alone.heard("me", Kind::joining));
  EXPECT_TRUE(alone.joined());
  EXPECT_TRUE(alone.living().empty());
  EXPECT_TRUE(alone.heard("me", Kind::living));

  Beats beats("me", 3);
  beats.heard("dead", Kind::living);
  beats.heard("lives", Kind::living);
  beats.heard("new", Kind::joining);
  EXPECT_FALSE(beats.heard("me", Kind::joining));
  EXPECT_FALSE(beats.joined());
  beats.heard("lives", Kind::living);
  EXPECT_FALSE(beats.joined()) << "the other one may live";
  beats.heard("me", Kind::joining);
  EXPECT_FALSE(beats.joined());
  EXPECT_TRUE(beats.heard("me", Kind::joining));
  EXPECT_TRUE(beats.joined());
  EXPECT_EQ(beats.living(), std::vector<std::string>{"lives"});
}

TEST(Chunk, WhatIsWrittenIsRead) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    Chunk chunk;
    chunk.format.code = pipeline::kSampleCodes[random() % std::size(pipeline::kSampleCodes)];
    chunk.format.channels = static_cast<std::int32_t>(1 + random() % 8);
    chunk.format.rate = static_cast<std::int64_t>(40 + random() % 1000) * 25;
    chunk.first = static_cast<std::int64_t>(random() >> 19);
    chunk.run = random();
    chunk.time = static_cast<std::int64_t>(random() >> 1);
    chunk.samples = static_cast<std::int64_t>(1 + random() % 400);
    chunk.end = random() % 2 == 0;
    Message message{"audio.a", 1, headers_of(chunk), {}};
    message.data.resize(static_cast<std::size_t>(chunk.samples) * chunk.format.frame_bytes());
    const auto read = read_chunk(message);
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_EQ(*read, chunk);
  }
}

// Whatever comes is read or refused with a sentence.
TEST(Chunk, GarbageIsRefused) {
  std::mt19937 random(2);
  const std::string letters = "s16 float0123456789-+ \n\t\x01\xff,.";
  int refused = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto text = [&] {
      std::string out;
      for (std::uint32_t k = random() % 24; k > 0; --k) out += letters[random() % letters.size()];
      return out;
    };
    Chunk chunk;
    chunk.samples = 4;
    Message message{"audio.a", 1, headers_of(chunk), std::vector<std::byte>(random() % 64)};
    message.headers[random() % message.headers.size()].second = text();
    message.headers.emplace_back("Runnel-Run", random() % 2 == 0 ? "7" : text());
    const auto read = read_chunk(message);
    if (read.ok()) {
      EXPECT_GE(read->first, 0);
      EXPECT_EQ(read->samples * static_cast<std::int64_t>(read->format.frame_bytes()),
                static_cast<std::int64_t>(message.data.size()));
      continue;
    }
    ++refused;
    EXPECT_FALSE(read.status().text().empty());
  }
  EXPECT_GT(refused, 50000);
}

TEST(Entry, WhatIsWrittenIsRead) {
  Entry entry;
  EXPECT_EQ(*read_entry(headers_of(entry)), entry);
  // libnats reads the line after a header without a value as its value; servers add lines.
  for (const auto& [header, value] : headers_of(entry)) EXPECT_FALSE(value.empty()) << header;
  entry.owner = "host-1";
  entry.graph = 0xdeadbeef;
  entry.covered = ~std::uint64_t{0};
  entry.format = serve::SampleFormat{};
  entry.run = 3;
  entry.next = 123456;
  entry.events = 17;
  entry.ended = true;
  EXPECT_EQ(*read_entry(headers_of(entry)), entry);
  EXPECT_EQ(*read_entry({}), Entry{});
  for (const char* const name : {"Runnel-Graph", "Runnel-Covered", "Runnel-Format", "Runnel-Run",
                                 "Runnel-Next", "Runnel-Events", "Runnel-Ended"}) {
    Headers headers = headers_of(entry);
    for (auto& [header, value] : headers)
      if (header == name) value = "zz";
    EXPECT_EQ(read_entry(headers).status().code(), Code::invalid_data) << name;
  }
}

}  // namespace
}  // namespace runnel::fleet
