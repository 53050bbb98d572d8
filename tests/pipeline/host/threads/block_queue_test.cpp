#include "pipeline/host/threads/block_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "tests/support/allocations.h"

namespace runnel::pipeline::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBytes = 96;

void send(BlockQueue& queue, std::int64_t number) {
  Message& message = queue.free();
  message.kind = Message::Kind::block;
  message.first = number;
  std::memset(message.data, static_cast<int>(number % 251), kBytes);
  queue.send();
}

// Takes `count` messages as a thread of a graph does, and checks order and content.
void take(BlockQueue& queue, const Bell& bell, std::int64_t count, std::chrono::microseconds each) {
  for (std::int64_t next = 0; next < count;) {
    const std::uint32_t rung = bell.rung.load(std::memory_order_acquire);
    const Message* message = queue.oldest();
    if (message == nullptr) {
      bell.rung.wait(rung);
      continue;
    }
    if (each > 0us) std::this_thread::sleep_for(each);
    ASSERT_EQ(message->first, next);
    for (std::size_t i = 0; i < kBytes; ++i)
      ASSERT_EQ(std::to_integer<int>(message->data[i]), static_cast<int>(next % 251));
    queue.release();
    ++next;
  }
}

TEST(BlockQueue, KeepsOrderAndContent) {
  for (const std::size_t depth : {2, 4, 32}) {
    Bell bell;
    BlockQueue queue;
    ASSERT_TRUE(queue.make(depth, kBytes, 1, bell).ok());
    // Sanitizers are slow.
    const std::int64_t kCount = runnel::test::allocations_are_counted() ? 20000 : 1000;
    std::thread consumer([&] { take(queue, bell, kCount, 0us); });
    for (std::int64_t i = 0; i < kCount; ++i) send(queue, i);
    queue.wait_until_empty();
    EXPECT_EQ(queue.oldest(), nullptr);
    consumer.join();
  }
}

// The producer sleeps, and the consumer too when it is the faster one.
TEST(BlockQueue, EitherSideMayBeSlow) {
  for (const auto& [produce, consume] : {std::pair(300us, 0us), std::pair(0us, 300us)}) {
    Bell bell;
    BlockQueue queue;
    ASSERT_TRUE(queue.make(4, kBytes, 1, bell).ok());
    std::thread consumer([&, each = consume] { take(queue, bell, 200, each); });
    for (std::int64_t i = 0; i < 200; ++i) {
      if (produce > 0us) std::this_thread::sleep_for(produce);
      send(queue, i);
    }
    consumer.join();
  }
}

TEST(BlockQueue, AFullOneMakesItsProducerWait) {
  Bell bell;
  BlockQueue queue;
  ASSERT_TRUE(queue.make(4, kBytes, 1, bell).ok());
  std::atomic<int> sent{0};
  std::thread producer([&] {
    for (int i = 0; i < 10; ++i) {
      send(queue, i);
      ++sent;
    }
  });
  while (sent < 4) std::this_thread::yield();
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(sent, 4);
  queue.release();
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(sent, 4) << "it goes on when half is free";
  queue.release();
  while (sent < 6) std::this_thread::yield();
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(sent, 6);
  for (int i = 2; i < 10; ++i) {
    while (queue.oldest() == nullptr) std::this_thread::yield();
    queue.release();
  }
  producer.join();
}

// A sleeping consumer is woken for some messages at once, for an announcement, or when the ring is full.
TEST(BlockQueue, RingsForSeveralMessages) {
  Bell bell;
  BlockQueue queue;
  ASSERT_TRUE(queue.make(8, kBytes, 3, bell).ok());
  for (int i = 0; i < 2; ++i) send(queue, i);
  EXPECT_EQ(bell.rung, 0u);
  EXPECT_NE(queue.oldest(), nullptr) << "who is awake sees it";
  send(queue, 2);
  EXPECT_EQ(bell.rung, 1u);
  send(queue, 3);
  EXPECT_EQ(bell.rung, 1u);
  queue.announce();
  EXPECT_EQ(bell.rung, 2u);
  queue.announce();
  EXPECT_EQ(bell.rung, 2u) << "once";
}

// A producer that waits for room rings first.
TEST(BlockQueue, AFullOneRings) {
  Bell bell;
  BlockQueue queue;
  ASSERT_TRUE(queue.make(4, kBytes, 100, bell).ok());
  std::thread consumer([&] { take(queue, bell, 200, 0us); });
  for (std::int64_t i = 0; i < 200; ++i) send(queue, i);
  queue.announce();
  queue.wait_until_empty();
  consumer.join();
}

// After 2^32 messages, which takes an hour or two.
TEST(BlockQueue, CountsMayOverflow) {
  Bell bell;
  BlockQueue queue;
  ASSERT_TRUE(queue.make(4, kBytes, 1, bell, 0xffffffff - 50).ok());
  std::thread consumer([&] { take(queue, bell, 200, 0us); });
  for (std::int64_t i = 0; i < 200; ++i) send(queue, i);
  queue.wait_until_empty();
  consumer.join();
}

TEST(BlockQueue, SaysWhenThereIsNoMemory) {
  if (!runnel::test::allocations_are_counted())
    GTEST_SKIP() << "SKIPPED: a sanitizer ends the program instead";
  Bell bell;
  BlockQueue queue;
  const Status status = queue.make(4, std::size_t{1} << 62, 1, bell);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::out_of_memory);
}

}  // namespace
}  // namespace runnel::pipeline::test
