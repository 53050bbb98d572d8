#include "services/sessions/frame_session.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "compiler/import/load.h"
#include "tests/support/data.h"

namespace runnel::sessions::test {
namespace {

class FrameSessions : public testing::Test {
 protected:
  void SetUp() override {
    RUNNEL_NEEDS_DATA();
    const auto file = runnel::test::data_folder() / "digits" / "digits_c_s8.espdl";
    auto loaded = compiler::load_model(file);
    ASSERT_TRUE(loaded.ok()) << loaded.status().text();
    owned_ = loaded->model;
    std::mt19937 random(3);
    for (float& value : frames_) value = static_cast<float>(random() % 2001) / 100 - 10;
  }

  std::shared_ptr<const FrameModel> model(std::int64_t block = 0) const {
    FrameOptions options;
    options.block = block;
    auto made = FrameModel::make(owned_, "digits", options);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return made.ok() ? *made : nullptr;
  }
  // All frames of the recording from `session`, in pieces of these sizes in turn.
  std::vector<std::byte> heard(FrameSession& session, const std::vector<std::int64_t>& sizes) const {
    std::vector<std::byte> all;
    FrameBatch batch;
    std::size_t piece = 0;
    for (std::int64_t at = session.taken(); at < kFrames; ++piece) {
      const std::int64_t count = std::min(sizes[piece % sizes.size()], kFrames - at);
      EXPECT_TRUE(
          session.push(reinterpret_cast<const std::byte*>(frames_.data() + at * kValues), count, batch).ok());
      at += count;
      all.insert(all.end(), batch.data.begin(), batch.data.end());
    }
    EXPECT_TRUE(session.flush(batch).ok());
    all.insert(all.end(), batch.data.begin(), batch.data.end());
    return all;
  }

  static constexpr std::int64_t kFrames = 150, kValues = 40;
  std::shared_ptr<const OwnedModel> owned_;
  std::vector<float> frames_ = std::vector<float>(kFrames * kValues);
};

TEST_F(FrameSessions, FramesDoNotDependOnPiecesOrBlocks) {
  const auto smallest = model();
  ASSERT_NE(smallest, nullptr);
  EXPECT_EQ(smallest->input().values, kValues);
  EXPECT_EQ(smallest->output().dtype, DType::int8);
  const auto first = FrameSession::make(smallest);
  ASSERT_TRUE(first.ok());
  const auto expected = heard(**first, {kFrames});
  EXPECT_EQ(expected.size(), static_cast<std::size_t>(kFrames) * smallest->output().bytes());
  for (const std::int64_t block : {1, 4, 8}) {
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{1}, {3, 7}, {50}}) {
      const auto session = FrameSession::make(model(block));
      ASSERT_TRUE(session.ok());
      EXPECT_EQ(heard(**session, sizes), expected) << block;
    }
  }
}

TEST_F(FrameSessions, SavedInTheMiddleOfABlock) {
  const auto eight = model(8);
  const auto session = FrameSession::make(eight);
  ASSERT_TRUE(session.ok());
  FrameBatch batch;
  ASSERT_TRUE((*session)->push(reinterpret_cast<const std::byte*>(frames_.data()), 43, batch).ok());
  const auto saved = (*session)->save();
  ASSERT_TRUE(saved.ok());
  const auto other = FrameSession::make(eight);
  ASSERT_TRUE((*other)->restore(*saved).ok());
  const auto copy = (*session)->clone();
  ASSERT_TRUE(copy.ok());
  const auto expected = heard(**session, {5});
  EXPECT_EQ(heard(**other, {9}), expected);
  EXPECT_EQ(heard(**copy, {1}), expected);
  // Every damaged byte is seen, and leaves the session as it was.
  for (std::size_t at = 0; at < saved->size(); at += 97) {
    std::vector<std::byte> damaged = *saved;
    damaged[at] ^= std::byte{16};
    EXPECT_FALSE((*other)->restore(damaged).ok()) << at;
  }
  EXPECT_TRUE((*other)->ended());
  EXPECT_FALSE((*FrameSession::make(model(4)))->restore(*saved).ok());
}

TEST_F(FrameSessions, ThreadsShareOneModel) {
  const auto shared = model();
  const auto alone = FrameSession::make(shared);
  const auto expected = heard(**alone, {kFrames});
  std::vector<std::thread> threads;
  std::vector<int> equal(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto session = FrameSession::make(shared);
      equal[static_cast<std::size_t>(i)] = heard(**session, {1 + i}) == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 1));
}

TEST_F(FrameSessions, RefusesFramesAfterTheEnd) {
  const auto session = FrameSession::make(model());
  FrameBatch batch;
  ASSERT_TRUE((*session)->flush(batch).ok());
  EXPECT_EQ((*session)->push(reinterpret_cast<const std::byte*>(frames_.data()), 1, batch).code(),
            Code::invalid_argument);
  (*session)->reset();
  EXPECT_TRUE((*session)->push(reinterpret_cast<const std::byte*>(frames_.data()), 1, batch).ok());
}

}  // namespace
}  // namespace runnel::sessions::test
