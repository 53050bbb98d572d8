#include "pipeline/host/step_times.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace runnel::pipeline {

// Values below 2^kCellBits have a cell each; above, the cell is the exponent and the kCellBits bits after
// the first one.
int StepTimes::cell_of(std::uint64_t value) noexcept {
  const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - kCellBits - 1);
  return (shift << kCellBits) + static_cast<int>(value >> shift);
}

// The upper end of a cell, exclusive.
std::uint64_t StepTimes::end_of(int cell) noexcept {
  const int shift = std::max(0, (cell >> kCellBits) - 1);
  return static_cast<std::uint64_t>(cell - (shift << kCellBits) + 1) << shift;
}

void StepTimes::add(std::int64_t nanoseconds) noexcept {
  const std::int64_t value = std::max<std::int64_t>(nanoseconds, 0);
  ++cells_[static_cast<std::size_t>(cell_of(static_cast<std::uint64_t>(value)))];
  ++count_;
  total_ += value;
  largest_ = std::max(largest_, value);
}

void StepTimes::add(const StepTimes& others) noexcept {
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) cells_[cell] += others.cells_[cell];
  count_ += others.count_;
  total_ += others.total_;
  largest_ = std::max(largest_, others.largest_);
}

double StepTimes::quantile(double q) const noexcept {
  if (count_ == 0) return 0;
  const auto wanted =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(q * static_cast<double>(count_))));
  std::int64_t seen = 0;
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    seen += cells_[cell];
    if (seen < wanted) continue;
    const std::uint64_t end = end_of(static_cast<int>(cell));
    return std::min(static_cast<double>(end - 1), static_cast<double>(largest_)) / 1000;
  }
  return largest();
}

}  // namespace runnel::pipeline
