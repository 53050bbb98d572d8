// Saturating: unsigned numbers whose sums and products stop at the largest.
#pragma once

#include <cstdint>

#include "base/checked.h"

namespace runnel::npu {

class Saturating {
 public:
  Saturating(std::int64_t value) noexcept
      : value_(static_cast<std::uint64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  Saturating& operator*=(Saturating other) noexcept {
    if (!checked_mul(value_, other.value_, value_)) value_ = UINT64_MAX;
    return *this;
  }
  Saturating& operator+=(Saturating other) noexcept {
    if (!checked_add(value_, other.value_, value_)) value_ = UINT64_MAX;
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_;
};

}  // namespace runnel::npu
