// What a library calls back after its object is gone.
#include "services/fleet/nats/here.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace runnel::fleet {
namespace {

struct Counter {
  int count = 0;
  Here<Counter> here{*this};
};

void call(void* closure) {
  Here<Counter>::call(closure, [](Counter& it) { ++it.count; });
}

TEST(Here, FindsOnlyWhatIsThere) {
  auto first = std::make_unique<Counter>();
  Counter second;
  void* const gone = first->here.closure();
  call(gone);
  call(second.here.closure());
  call(second.here.closure());
  EXPECT_EQ(first->count, 1);
  EXPECT_EQ(second.count, 2);
  first = nullptr;
  call(gone);
  second.here.leave();
  call(second.here.closure());
  EXPECT_EQ(second.count, 2);
  // Nobody gets the number again.
  Counter third;
  EXPECT_NE(third.here.closure(), gone);
}

TEST(Here, LeavesWhileOthersCall) {
  for (int round = 0; round < 200; ++round) {
    auto it = std::make_unique<Counter>();
    void* const closure = it->here.closure();
    std::vector<std::thread> callers;
    for (int i = 0; i < 2; ++i)
      callers.emplace_back([closure] {
        for (int k = 0; k < 100; ++k) call(closure);
      });
    it->here.leave();
    const int at_the_end = it->count;
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(it->count, at_the_end);
  }
}

}  // namespace
}  // namespace runnel::fleet
