// Damaged and forged saved sessions.
#include "inference/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/crc32c.h"
#include "inference/host/engine.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/mutate.h"
#include "tests/robustness/originals.h"

namespace runnel::test {
namespace {

using Bytes = std::vector<std::byte>;

class DamagedSession : public testing::Test {
 protected:
  void SetUp() override {
    auto model = OwnedModel::from_bytes(digits_rnl());
    ASSERT_TRUE(model.ok()) << model.status().text();
    PrepareOptions options;
    options.frames = 2;
    auto engine = Engine::make(*model, options);
    ASSERT_TRUE(engine.ok()) << engine.status().text();
    auto runner = Runner::make(*engine);
    ASSERT_TRUE(runner.ok()) << runner.status().text();
    runner_ = std::move(runner).value();
    run_some();
    saved_.resize(session().saved_bytes());
    ASSERT_TRUE(session().save(saved_).ok());
  }
  Session& session() { return runner_->session(); }
  // Continues as a program does with a restored session.
  void run_some() {
    for (int i = 0; i < 3; ++i) {
      const std::span<std::byte> input = session().input(0);
      std::fill(input.begin(), input.end(), std::byte{7});
      session().run(2);
      static_cast<void>(session().output(0));
    }
  }
  void end() {
    static_cast<void>(session().input(0));
    session().run(1);
    for (int i = 0; i < 100 && session().flush_calls_left() > 0; ++i) session().run(0);
    static_cast<void>(session().output(0));
  }
  // Restores; what is accepted must run, to the end. A refusal must leave the session as it was.
  bool refused(const Bytes& bytes) {
    session().reset();
    run_some();
    Bytes before(session().saved_bytes()), after(before.size());
    EXPECT_TRUE(session().save(before).ok());
    const Status status = session().restore(bytes);
    if (failed_with_a_sentence(status)) {
      EXPECT_TRUE(session().save(after).ok());
      EXPECT_EQ(before, after) << "a refused session changed the one in place";
      return true;
    }
    run_some();
    end();
    return false;
  }
  // Recomputes the checksum.
  static Bytes signed_again(Bytes bytes) {
    constexpr std::size_t kHeader = 24;
    const std::uint32_t crc = crc32c(std::span<const std::byte>(bytes).subspan(kHeader));
    std::memcpy(bytes.data() + 12, &crc, sizeof(crc));
    return bytes;
  }

  std::unique_ptr<Runner> runner_;
  Bytes saved_;
};

TEST_F(DamagedSession, OriginalIsTaken) {
  EXPECT_FALSE(refused(saved_));
  EXPECT_EQ(signed_again(saved_), saved_);
}

TEST_F(DamagedSession, EveryTruncationIsRefused) {
  for (std::size_t size = 0; size < saved_.size(); ++size) {
    ASSERT_TRUE(refused(Bytes(saved_.begin(), saved_.begin() + static_cast<std::ptrdiff_t>(size))))
        << size << " bytes";
  }
}

TEST_F(DamagedSession, MutationsAreRefused) {
  Mutator mutator(saved_, 51);
  int taken = 0;
  for (int i = 0; i < 2000; ++i) {
    const Bytes bytes = mutator.next();
    if (std::equal(saved_.begin(), saved_.end(), bytes.begin(),
                   bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), saved_.size()))))
      continue;
    taken += refused(bytes) ? 0 : 1;
  }
  EXPECT_EQ(taken, 0);
}

// Forged counters and history positions with a valid checksum.
TEST_F(DamagedSession, ForgedCountersAreRefusedOrHarmless) {
  std::vector<Spot> spots;
  for (std::size_t at = 24; at < 24 + 32 + 8 * 40 && at + 8 <= saved_.size(); at += 8)
    spots.push_back({at, 8});
  Mutator mutator(saved_, 52);
  int taken = 0, tried = 2000;
  for (int i = 0; i < tried; ++i) taken += refused(signed_again(mutator.next(spots))) ? 0 : 1;
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, tried);
}

TEST_F(DamagedSession, ImpossibleCounters) {
  const auto forged = [&](std::size_t offset, std::int64_t value) {
    Bytes bytes = saved_;
    std::memcpy(bytes.data() + 24 + offset, &value, sizeof(value));
    return signed_again(bytes);
  };
  for (const std::int64_t block :
       {std::int64_t{-1}, std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_TRUE(refused(forged(0, block))) << block << " blocks";
  }
  for (const std::int64_t length : {std::int64_t{-1}, std::int64_t{7}, kEndless - 1, kEndless + 1,
                                    std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_TRUE(refused(forged(8, length))) << length << " frames after 3 blocks of 2";
  }
  EXPECT_FALSE(refused(forged(8, 5)));
  EXPECT_TRUE(refused(forged(32, -1))) << "the first history";
  EXPECT_TRUE(refused(forged(32, std::int64_t{1} << 40))) << "the first history";
}

}  // namespace
}  // namespace runnel::test
