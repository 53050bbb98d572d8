// How many streams one thread can serve, from what they cost.
#pragma once

#include <chrono>
#include <cstdint>

namespace runnel::serve {

// The cost of a second of sound is measured as the time that passes, so that a machine shared with others has
// less capacity. A stream that fits is expected to send in real time; one that sends faster waits its turn,
// as each takes at most a tenth of a second per step. So a step of all streams takes at most `most_load`
// tenths of a second, which bounds their lateness. Not thread-safe.
class Capacity {
 public:
  // `most_load`: share of the thread's time that all streams together may take; 0: no limit.
  explicit Capacity(double most_load) noexcept : most_load_(most_load) {}

  // The first estimate, in seconds per second of sound.
  void expect(double cost) noexcept { cost_ = cost; }

  // The thread was busy for `busy` with `microseconds` of sound.
  void took(std::chrono::nanoseconds busy, std::int64_t microseconds) noexcept {
    busy_ += std::chrono::duration<double>(busy).count();
    sound_ += 1e-6 * static_cast<double>(microseconds);
  }
  // Call four times a second: recent costs count most, half of them are of the last 0.8 s.
  void update() noexcept;

  // Whether the thread has time for `streams`, one at least.
  [[nodiscard]] bool fits(int streams) const noexcept {
    return streams <= 1 || most_load_ <= 0 || cost_ * streams <= most_load_;
  }
  // Seconds of the thread's time per second of sound of a stream.
  [[nodiscard]] double cost() const noexcept { return cost_; }

 private:
  double most_load_;
  double cost_ = 0, busy_ = 0, sound_ = 0;
};

}  // namespace runnel::serve
