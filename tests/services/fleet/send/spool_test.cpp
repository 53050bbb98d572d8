// The backlog of a sender, in memory and in a file that is closed, killed and damaged.
#include "services/fleet/send/spool.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/support/data.h"

namespace runnel::fleet::test {
namespace {

namespace fs = std::filesystem;

Piece piece(std::uint64_t run, std::int64_t first, std::int64_t samples, bool end = false) {
  Piece out;
  out.chunk.run = run;
  out.chunk.first = first;
  out.chunk.samples = samples;
  out.chunk.end = end;
  out.chunk.time = 1000 + first;
  out.data.resize(static_cast<std::size_t>(2 * samples));
  for (std::size_t i = 0; i < out.data.size(); ++i)
    out.data[i] = static_cast<std::byte>(static_cast<std::uint64_t>(first) * 7 + i + run);
  return out;
}

class SpoolTest : public testing::Test {
 protected:
  std::unique_ptr<Spool> open(std::uint64_t bytes = Spool::kLeastBytes) {
    auto made = Spool::open(path(), "audio.a", bytes);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return made.ok() ? *std::move(made) : nullptr;
  }
  [[nodiscard]] fs::path path() const { return folder_.path() / "spool"; }
  std::string refused(std::string_view stream = "audio.a") {
    const auto made = Spool::open(path(), stream, Spool::kLeastBytes);
    EXPECT_FALSE(made.ok());
    return std::string(made.status().text());
  }
  runnel::test::TemporaryFolder folder_;
};

// Both kinds: what goes in comes out, in order, in one piece as far as it is one.
void check_order(Backlog& backlog) {
  EXPECT_FALSE((*backlog.front(1000)).has_value());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(*backlog.put(piece(1, 100 * i, 100)));
  ASSERT_TRUE(*backlog.put(piece(1, 700, 50, true)));  // behind a gap
  ASSERT_TRUE(*backlog.put(piece(2, 0, 10)));
  auto front = *backlog.front(650);
  ASSERT_TRUE(front.has_value());
  EXPECT_EQ(front->chunk.samples, 300);
  EXPECT_EQ(front->chunk.time, 1000);
  EXPECT_FALSE(front->chunk.end);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(std::equal(front->data.begin() + static_cast<std::ptrdiff_t>(200 * i),
                           front->data.begin() + static_cast<std::ptrdiff_t>(200 * i + 200),
                           piece(1, static_cast<std::int64_t>(100 * i), 100).data.begin()));
  EXPECT_TRUE(backlog.stored(1, 450, false).ok());
  front = *backlog.front(1);
  EXPECT_EQ(front->chunk.first, 400) << "a part of a piece is not enough";
  EXPECT_EQ(front->chunk.samples, 100);
  EXPECT_TRUE(backlog.stored(1, 750, false).ok());
  front = *backlog.front(1000);
  EXPECT_EQ(front->chunk.first, 700) << "its end is not stored";
  EXPECT_TRUE(front->chunk.end);
  EXPECT_EQ(backlog.samples(), 60);
  EXPECT_TRUE(backlog.stored(1, 750, true).ok());
  front = *backlog.front(1000);
  EXPECT_EQ(front->chunk.run, 2U);
  EXPECT_TRUE(backlog.stored(3, 0, false).ok());
  EXPECT_TRUE(backlog.empty());
  EXPECT_EQ(backlog.bytes(), 0U);
}

TEST_F(SpoolTest, KeepsOrder) {
  MemoryBacklog memory(std::size_t{1} << 20);
  check_order(memory);
  check_order(*open());
}

TEST_F(SpoolTest, MemoryIsBounded) {
  MemoryBacklog memory(1000);
  EXPECT_TRUE(*memory.put(piece(1, 0, 400)));
  EXPECT_FALSE(*memory.put(piece(1, 400, 101)));
  EXPECT_TRUE(*memory.put(piece(1, 400, 100)));
  EXPECT_TRUE(memory.stored(1, 400, false).ok());
  EXPECT_TRUE(*memory.put(piece(1, 500, 400)));
  EXPECT_EQ((*memory.front(5000))->chunk.samples, 500);
}

// Opened anew at any moment, over a ring that goes round many times.
TEST_F(SpoolTest, OutlivesItsProcess) {
  std::mt19937 random(1);
  std::unique_ptr<Spool> spool = open();
  std::int64_t next = 0, stored = 0;
  int full = 0;
  for (int i = 0; i < 3000; ++i) {
    switch (random() % 8) {
      case 0:
        spool = nullptr;
        spool = open();
        ASSERT_NE(spool, nullptr);
        ASSERT_EQ(spool->damage(), "");
        ASSERT_EQ(spool->next(), next);
        ASSERT_EQ(spool->samples(), next - stored);
        ASSERT_EQ(spool->run(), next > 0 ? 5U : 0U);
        break;
      case 1: {
        const auto front = *spool->front(1 + random() % 20000);
        if (!front) break;
        ASSERT_EQ(front->chunk.first, stored);
        stored = front->next();
        ASSERT_TRUE(spool->stored(5, stored, false).ok());
        break;
      }
      default: {
        const std::int64_t count = 1 + static_cast<std::int64_t>(random() % 1500);
        const auto put = spool->put(piece(5, next, count));
        ASSERT_TRUE(put.ok());
        if (*put)
          next += count;
        else
          ++full;
      }
    }
  }
  EXPECT_GT(next, 200000);
  EXPECT_GT(full, 10);
}

TEST_F(SpoolTest, OneProcessAndOneStream) {
  const auto spool = open();
  EXPECT_NE(refused().find("another process"), std::string::npos);
}

TEST_F(SpoolTest, OfAnotherStream) {
  ASSERT_NE(open(), nullptr);
  EXPECT_NE(refused("audio.b").find("the spool of the stream audio.a, expected audio.b"), std::string::npos);
}

TEST_F(SpoolTest, IsNoOtherFile) {
  std::ofstream(path()) << std::string(10000, 'x');
  EXPECT_NE(refused().find("is no spool"), std::string::npos);
  std::ofstream(path()) << "x";
  EXPECT_NE(refused().find("few bytes"), std::string::npos);
  EXPECT_FALSE(Spool::open("/nonexistent/spool", "a", Spool::kLeastBytes).ok());
  EXPECT_FALSE(Spool::open(folder_.path(), "a", Spool::kLeastBytes).ok());
  EXPECT_FALSE(Spool::open(folder_.path() / "small", "a", 10).ok());
  EXPECT_FALSE(Spool::open(folder_.path() / "x", std::string(500, 'a'), Spool::kLeastBytes).ok());
}

// A record in the middle is damaged: what precedes it is sent, the rest is a gap of a known length.
TEST_F(SpoolTest, KeepsItsGoodPart) {
  {
    const auto spool = open();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(*spool->put(piece(5, 100 * i, 100)));
  }
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096 + 4 * (56 + 200) + 100);
  file.put('#');
  file.close();
  auto spool = open();
  EXPECT_NE(spool->damage().find("damaged 1024 bytes behind its beginning; the 1536 bytes"),
            std::string::npos)
      << spool->damage();
  EXPECT_EQ((*spool->front(100000))->chunk.samples, 400);
  EXPECT_EQ(spool->next(), 1000) << "what is put next has its own place behind the gap";
  ASSERT_TRUE(*spool->put(piece(5, 1000, 100)));
  EXPECT_EQ((*spool->front(100000))->chunk.samples, 400);
  spool = nullptr;
  spool = open();
  EXPECT_EQ(spool->damage(), "");
  EXPECT_EQ(spool->pieces(), 5U);
}

// Any damage: a sentence, or pieces that are whole.
TEST_F(SpoolTest, AnyDamage) {
  {
    const auto spool = open();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(*spool->put(piece(5, 100 * i, 100)));
  }
  const auto good = runnel::test::read_file(path());
  std::mt19937 random(1);
  int refusals = 0, damages = 0;
  for (int i = 0; i < 200; ++i) {
    auto bad = good;
    const std::size_t range = i % 2 == 0 ? 2048 : 4096 + 2560;
    for (unsigned n = 1 + random() % 3; n > 0; --n)
      bad[random() % range] ^= static_cast<std::byte>(1 + random() % 255);
    if (i % 10 == 0) bad.resize(random() % bad.size());
    std::ofstream(path(), std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bad.data()), static_cast<std::streamsize>(bad.size()));
    auto spool = Spool::open(path(), "audio.a", Spool::kLeastBytes);
    if (!spool.ok()) {
      ++refusals;
      EXPECT_NE(spool.status().text().find(path().string()), std::string_view::npos);
      continue;
    }
    if (!(*spool)->damage().empty()) ++damages;
    std::int64_t at = 0;
    while (const auto front = *(*spool)->front(1)) {
      ASSERT_GE(front->chunk.first, at);
      ASSERT_EQ(front->data, piece(5, front->chunk.first, 100).data);
      at = front->next();
      ASSERT_TRUE((*spool)->stored(5, at, false).ok());
    }
  }
  EXPECT_GT(refusals, 10);
  EXPECT_GT(damages, 10);
}

}  // namespace
}  // namespace runnel::fleet::test
