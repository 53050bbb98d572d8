// Times of many steps in fixed memory.
#pragma once

#include <array>
#include <cstdint>

namespace runnel::pipeline {

// A histogram with 64 cells per factor of two, so that a quantile is at most 1.6 % too high. The largest
// value is exact.
class StepTimes {
 public:
  void add(std::int64_t nanoseconds) noexcept;
  void add(const StepTimes& others) noexcept;
  // The quantile `q` (0 .. 1) in microseconds; 0 without steps.
  [[nodiscard]] double quantile(double q) const noexcept;
  [[nodiscard]] double largest() const noexcept { return static_cast<double>(largest_) / 1000; }
  [[nodiscard]] std::int64_t total_nanoseconds() const noexcept { return total_; }

 private:
  static constexpr int kCellBits = 6;
  static int cell_of(std::uint64_t value) noexcept;
  static std::uint64_t end_of(int cell) noexcept;

  std::array<std::int64_t, 64 << kCellBits> cells_{};
  std::int64_t count_ = 0, total_ = 0, largest_ = 0;
};

}  // namespace runnel::pipeline
