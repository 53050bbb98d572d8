// A decoder of speech in a program in ROM: its grammar is constants, its texts wait in the queue of
// decisions.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "embed/runnel.h"
#include "spoken.h"
#include "tests/embed/sound.h"

namespace {

constexpr std::size_t kRoom = std::size_t{256} << 10;  // hosts pack weights for their vector units

struct Decision {
  std::string text;
  int label = 0;
  std::int64_t begin = 0, end = 0;
  friend bool operator==(const Decision&, const Decision&) = default;
};

class EmbeddedDecoder : public testing::Test {
 protected:
  EmbeddedDecoder() : bytes_(new (std::align_val_t(64)) unsigned char[kRoom]) {
    const runnel_options options = {bytes_, kRoom, nullptr, 0, nullptr, nullptr};
    EXPECT_EQ(runnel_prepare(&runnel_spoken, &options, &node_), RUNNEL_OK) << runnel_last_failure();
  }
  ~EmbeddedDecoder() override { ::operator delete[](bytes_, std::align_val_t(64)); }

  void take(std::vector<Decision>& to) {
    for (runnel_event event; runnel_poll(node_, &event) == 1;)
      to.push_back({event.label, event.label_index, event.begin, event.end});
  }
  // Blocks of `block` samples; before each of them `between` runs.
  template <class Between>
  std::vector<Decision> run(std::size_t block, const Between& between) {
    std::vector<Decision> decisions;
    const std::vector<std::int16_t> samples = runnel::test::tones_with_pauses();
    EXPECT_EQ(runnel_reset(node_), RUNNEL_OK);
    for (std::size_t at = 0; at < samples.size(); at += block) {
      between(at / block);
      EXPECT_EQ(runnel_push_int16(node_, samples.data() + at, std::min(block, samples.size() - at)),
                RUNNEL_OK);
      take(decisions);
    }
    EXPECT_EQ(runnel_end(node_), RUNNEL_OK);
    take(decisions);
    return decisions;
  }

  unsigned char* bytes_;
  runnel_node* node_ = nullptr;
};

TEST_F(EmbeddedDecoder, GivesTextsOfItsGrammar) {
  const auto decisions = run(160, [](std::size_t) {});
  ASSERT_GT(decisions.size(), 2U);
  bool several = false;
  for (const Decision& one : decisions) {
    ASSERT_FALSE(one.text.empty());
    // Digits with single spaces between them.
    for (std::size_t i = 0; i < one.text.size(); ++i)
      EXPECT_EQ(i % 2 == 0, one.text[i] >= '0' && one.text[i] <= '9') << one.text;
    // A word alone is one of the program's labels.
    EXPECT_EQ(one.label >= 0, one.text.size() == 1);
    several = several || one.text.size() > 1;
    EXPECT_LT(one.begin, one.end);
  }
  EXPECT_TRUE(several);
  EXPECT_EQ(run(33, [](std::size_t) {}), decisions) << "any block size";
}

TEST_F(EmbeddedDecoder, IsSavedAndRestoredInMidWord) {
  const auto decisions = run(160, [](std::size_t) {});
  // Every block: save, lose everything that changes, restore.
  std::vector<unsigned char> saved(runnel_saved_bytes(node_)), elsewhere(saved.size());
  const auto restored = run(160, [&](std::size_t block) {
    ASSERT_EQ(runnel_save(node_, saved.data(), saved.size()), RUNNEL_OK);
    const std::vector<std::int16_t> other(480, static_cast<std::int16_t>(3000 * (block % 3)));
    ASSERT_EQ(runnel_push_int16(node_, other.data(), other.size()), RUNNEL_OK);
    ASSERT_EQ(runnel_restore(node_, saved.data(), saved.size()), RUNNEL_OK);
  });
  EXPECT_EQ(restored, decisions);
}

}  // namespace
