#include "base/host/joined_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <type_traits>
#include <utility>
#include <vector>

namespace runnel {
namespace {

static_assert(!std::is_copy_constructible_v<JoinedThread> &&
              std::is_nothrow_move_constructible_v<JoinedThread>);

TEST(JoinedThread, IsWaitedForWhenItsOwnerGoes) {
  std::atomic<int> done = 0;
  {
    std::vector<JoinedThread> threads;  // which moves them while it grows
    for (int i = 0; i < 20; ++i) threads.emplace_back([&done, i] { done += i; });
  }
  EXPECT_EQ(done, 190);
}

TEST(JoinedThread, TakesTheArgumentsOfItsFunction) {
  std::atomic<int> sum = 0;
  {
    const JoinedThread one([&sum](int a, int b) { sum = a * 10 + b; }, 4, 2);
  }
  EXPECT_EQ(sum, 42);
}

TEST(JoinedThread, WaitsForTheOneThatAnotherReplaces) {
  std::atomic<int> done = 0;
  JoinedThread thread([&done] { ++done; });
  thread = JoinedThread();
  EXPECT_EQ(done, 1);
  EXPECT_FALSE(thread.joinable());
  JoinedThread second([&done] { ++done; });
  thread = std::move(second);
  EXPECT_TRUE(thread.joinable());
  thread.wait();
  EXPECT_FALSE(thread.joinable());
  thread.wait();  // nothing is left to wait for
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace runnel
