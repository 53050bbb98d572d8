#include "services/fleet/look.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/services/fleet/memory_exchange.h"

namespace runnel::fleet::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LookTest : public testing::Test {
 protected:
  // Seconds at which a look begins, of so many; each one is over at once.
  std::vector<int> begins(Look& look, int until, std::size_t streams, const std::vector<int>& wrong) {
    std::vector<int> out;
    for (int s = 0; s < until; ++s) {
      const bool is = !wrong.empty() && s >= wrong[0] && (wrong.size() < 2 || s < wrong[1]);
      look.work(seconds(s), streams, is);
      if (look.feed() == 0) continue;
      out.push_back(s);
      look.delivered(0, seconds(s));
      look.work(seconds(s) + milliseconds(1), streams, is);
      EXPECT_EQ(look.feed(), 0U);
    }
    return out;
  }

  MemoryLogs logs_{1, {}};
  MemoryExchange exchange_{logs_};
};

TEST_F(LookTest, BeginsEverySoOften) {
  Look look(exchange_, "$KV.runnel.s.>", seconds(30), 500);
  EXPECT_EQ(begins(look, 110, 100, {}), (std::vector<int>{15, 45, 75, 105}));
}

// 100 entries a second at most.
TEST_F(LookTest, BeginsMoreRarelyWhereThereAreMany) {
  Look look(exchange_, "$KV.runnel.s.>", seconds(30), 0);
  EXPECT_EQ(begins(look, 250, 10000, {}), (std::vector<int>{100, 200}));
}

// Moves take less than five seconds. What stays wrong is looked at more and more rarely.
TEST_F(LookTest, BeginsSoonerWhenSomethingIsWrong) {
  Look brief(exchange_, "$KV.runnel.s.>", seconds(300), 0);
  EXPECT_EQ(begins(brief, 100, 10, {20, 25}), std::vector<int>{});
  Look look(exchange_, "$KV.runnel.s.>", seconds(300), 0);
  EXPECT_EQ(begins(look, 200, 10, {20}), (std::vector<int>{25, 45, 85, 165}));
}

TEST_F(LookTest, EndsWhenAllIsThereOrNothingComes) {
  Look look(exchange_, "$KV.runnel.s.>", seconds(30), 0);
  look.work(seconds(0), 10, false);
  look.work(seconds(30), 10, false);
  const std::uint64_t feed = look.feed();
  ASSERT_NE(feed, 0U);
  look.work(seconds(39), 10, false);
  EXPECT_EQ(look.feed(), feed);
  look.delivered(7, seconds(39));
  look.work(seconds(40), 10, false);
  EXPECT_EQ(look.feed(), feed);
  look.work(seconds(41), 10, false);
  EXPECT_EQ(look.feed(), 0U);
  look.work(seconds(60), 10, false);
  EXPECT_NE(look.feed(), 0U);
  look.end();
  look.work(seconds(200), 10, true);
  EXPECT_EQ(look.feed(), 0U);
}

}  // namespace
}  // namespace runnel::fleet::test
