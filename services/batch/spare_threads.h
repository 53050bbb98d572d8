// Counts idle threads, for work that can use more.
#pragma once

#include <algorithm>
#include <atomic>

namespace runnel::batch {

// Thread-safe.
class SpareThreads {
 public:
  void give(int count) noexcept { spare_ += count; }
  // Takes at most `wanted`, without waiting; give them back afterwards.
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
