#include "services/page/message_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace runnel::page {
namespace {

using std::chrono::milliseconds;

TEST(MessageLog, GivesWhatComesInOrderFromANumberOn) {
  MessageLog log(1000);
  EXPECT_EQ(log.next(), 1u);
  for (const char* text : {"a", "b", "c"}) log.add(text);
  bool closed = true;
  const auto all = log.read(1, milliseconds(0), closed);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].text, "a");
  EXPECT_EQ(all[2].number, 3u);
  EXPECT_FALSE(closed);
  const auto last = log.read(3, milliseconds(0), closed);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].text, "c");
  EXPECT_TRUE(log.read(4, milliseconds(1), closed).empty());
}

TEST(MessageLog, DropsTheOldestBeyondItsBytes) {
  MessageLog log(100);
  for (int i = 0; i < 1000; ++i) log.add(std::string(30, static_cast<char>('a' + i % 26)));
  bool closed = false;
  const auto kept = log.read(1, milliseconds(0), closed);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].number, 998u);
  EXPECT_EQ(log.next(), 1001u);
  log.add(std::string(1000, 'x'));  // larger than all: it alone is kept
  ASSERT_EQ(log.read(1, milliseconds(0), closed).size(), 1u);
}

TEST(MessageLog, WakesReadersAndTellsThemTheEnd) {
  MessageLog log(1 << 16);
  std::atomic<int> sum{0};
  std::thread reader([&] {
    std::uint64_t next = 1;
    for (bool closed = false; !closed;) {
      for (const auto& message : log.read(next, std::chrono::seconds(30), closed)) {
        sum += std::stoi(message.text);
        EXPECT_EQ(message.number, next);
        ++next;
      }
    }
  });
  for (int i = 1; i <= 500; ++i) log.add(std::to_string(i));
  log.close();
  reader.join();
  EXPECT_EQ(sum, 500 * 501 / 2);
}

}  // namespace
}  // namespace runnel::page
