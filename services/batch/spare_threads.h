// Threads that have nothing to do any more, for those that could use them.
#pragma once

#include <algorithm>
#include <atomic>

namespace runnel::batch {

// A number of them; from any thread.
class SpareThreads {
 public:
  void give(int count) noexcept { spare_ += count; }
  // At most `wanted`, without waiting; they are to be given back.
  int take(int wanted) noexcept {
    int spare = spare_.load();
    while (spare > 0 && wanted > 0) {
      const int taken = std::min(spare, wanted);
      if (spare_.compare_exchange_weak(spare, spare - taken)) return taken;
    }
    return 0;
  }

 private:
  std::atomic<int> spare_{0};
};

}  // namespace runnel::batch
