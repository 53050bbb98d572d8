#include "pipeline/host/live/capture_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "pipeline/host/live/sample_code.h"

namespace runnel::pipeline::test {
namespace {

TEST(CaptureRing, GivesSlotsInOrderAndSaysWhenItIsFull) {
  CaptureRing ring;
  ring.make(3, 4);
  EXPECT_EQ(ring.take(), nullptr);
  for (int i = 0; i < 3; ++i) {
    CaptureRing::Slot* slot = ring.writable();
    ASSERT_NE(slot, nullptr);
    slot->first = i;
    slot->count = 1;
    ring.put();
  }
  EXPECT_EQ(ring.writable(), nullptr);
  EXPECT_EQ(ring.filled(), 3u);
  const CaptureRing::Slot* oldest = ring.take();
  ASSERT_NE(oldest, nullptr);
  EXPECT_EQ(oldest->first, 0);
  EXPECT_EQ(ring.drop_oldest(), 0) << "it is being read";
  EXPECT_EQ(ring.writable(), nullptr);
  ring.release();
  EXPECT_NE(ring.writable(), nullptr);
  EXPECT_EQ(ring.drop_oldest(), 1);
  EXPECT_EQ(ring.take()->first, 2);
}

TEST(CaptureRing, LosesNothingBetweenTwoThreadsThatIsNotCounted) {
  constexpr std::int64_t kCount = 200000;
  CaptureRing ring;
  ring.make(8, 64 * sizeof(std::int64_t));
  std::atomic<bool> done{false};
  std::int64_t dropped = 0;
  std::thread writer([&] {
    for (std::int64_t i = 0; i < kCount; ++i) {
      CaptureRing::Slot* slot = ring.writable();
      if (slot == nullptr) {
        dropped += ring.drop_oldest();
        slot = ring.writable();
      }
      if (slot == nullptr) {
        ++dropped;
        continue;
      }
      slot->first = i;
      slot->count = 1;
      for (int k = 0; k < 64; ++k) std::memcpy(slot->data + k * 8, &i, sizeof i);
      ring.put();
    }
    done = true;
  });
  std::int64_t taken = 0, last = -1;
  for (bool ended = false; !ended;) {
    ended = done;
    while (const CaptureRing::Slot* slot = ring.take()) {
      EXPECT_GT(slot->first, last);
      last = slot->first;
      for (int k = 0; k < 64; ++k) {
        std::int64_t value = 0;
        std::memcpy(&value, slot->data + k * 8, sizeof value);
        ASSERT_EQ(value, last);
      }
      ++taken;
      ring.release();
    }
  }
  writer.join();
  EXPECT_EQ(taken + dropped, kCount);
}

TEST(SampleCode, EveryCodeGivesTheSameValue) {
  const auto value = [](SampleCode code, std::initializer_list<int> bytes) {
    std::byte raw[4]{};
    std::size_t count = 0;
    for (const int byte : bytes) raw[count++] = static_cast<std::byte>(byte);
    EXPECT_EQ(count, bytes_of(code));
    float to = 9;
    to_float(code, raw, {&to, 1});
    return to;
  };
  EXPECT_EQ(value(SampleCode::s16, {0x00, 0xc0}), -0.5f);
  EXPECT_EQ(value(SampleCode::s32, {0, 0, 0, 0xc0}), -0.5f);
  EXPECT_EQ(value(SampleCode::s24, {0, 0, 0xc0, 0}), -0.5f) << "whatever the fourth byte holds";
  EXPECT_EQ(value(SampleCode::s24, {0, 0, 0xc0, 0xff}), -0.5f);
  EXPECT_EQ(value(SampleCode::s24_3, {0, 0, 0xc0}), -0.5f);
  EXPECT_EQ(value(SampleCode::float32, {0, 0, 0, 0xbf}), -0.5f);
  EXPECT_EQ(value(SampleCode::s24_3, {1, 0, 0}), 0x1p-23f);
  EXPECT_LT(value(SampleCode::s32, {0xff, 0xff, 0xff, 0x7f}), 1.0f);
  EXPECT_EQ(value(SampleCode::float32, {0, 0, 0xc0, 0x7f}), 0.0f) << "not a number";
}

}  // namespace
}  // namespace runnel::pipeline::test
