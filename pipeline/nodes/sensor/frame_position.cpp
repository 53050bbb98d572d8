#include "pipeline/nodes/sensor/frame_position.h"

#include <numeric>

#include "base/checked.h"

namespace runnel::pipeline {
namespace {

// A fraction in lowest terms; `good` becomes false on overflow.
struct Fraction {
  std::int64_t over = 0, under = 1;
  bool good = true;

  static Fraction of(std::int64_t over, std::int64_t under) noexcept {
    const std::int64_t common = std::gcd(over, under);
    return common > 1 ? Fraction{over / common, under / common, true} : Fraction{over, under, true};
  }
  friend Fraction operator*(Fraction a, Fraction b) noexcept {
    const Fraction left = of(a.over, b.under), right = of(b.over, a.under);
    Fraction product;
    product.good = a.good && b.good && checked_mul(left.over, right.over, product.over) &&
                   checked_mul(left.under, right.under, product.under);
    return product;
  }
  friend Fraction operator-(Fraction a, Fraction b) noexcept {
    const std::int64_t common = std::gcd(a.under, b.under);
    std::int64_t first = 0, second = 0, difference = 0, shared = 0;
    const bool fits = a.good && b.good && checked_mul(a.over, b.under / common, first) &&
                      checked_mul(b.over, a.under / common, second) &&
                      !__builtin_sub_overflow(first, second, &difference) &&
                      checked_mul(a.under, b.under / common, shared);
    if (!fits) return {0, 1, false};
    return of(difference, shared);
  }
};

}  // namespace

Result<FramePosition> FramePosition::make(const Clock& stream, const Clock& other,
                                          std::int64_t offset_ns) noexcept {
  // Both clocks in fractions of a second; frames of the other stream per second.
  const auto seconds = [](std::int64_t units, const Clock& clock) noexcept {
    return Fraction::of(units, clock.denominator) * Fraction::of(1, clock.sample_rate);
  };
  const Fraction rate = Fraction::of(other.sample_rate, other.hop) * Fraction::of(other.denominator, 1);
  const Fraction start =
      seconds(stream.begin, stream) - seconds(other.begin, other) - Fraction::of(offset_ns, 1000000000);
  const Fraction position = start * rate, step = seconds(stream.hop, stream) * rate;
  std::int64_t denominator = 0, scaled = 0, doubled = 0;
  const bool good =
      position.good && step.good &&
      checked_mul(position.under, step.under / std::gcd(position.under, step.under), denominator) &&
      checked_mul(denominator, std::int64_t{2}, doubled) &&
      checked_mul(position.over, denominator / position.under, scaled);
  std::int64_t scaled_step = 0;
  if (!good || !checked_mul(step.over, denominator / step.under, scaled_step)) {
    return Status(Code::unsupported,
                  "the two clocks have so little in common that 64 bits do not hold their common one");
  }
  FramePosition result;
  result.denominator_ = denominator;
  result.floor_ = floor_div(scaled, denominator);
  result.rest_ = scaled - result.floor_ * denominator;
  result.step_ = scaled_step / denominator;
  result.step_rest_ = scaled_step % denominator;
  return result;
}

void FramePosition::advance() noexcept {
  floor_ += step_;
  rest_ += step_rest_;
  if (rest_ >= denominator_) {
    rest_ -= denominator_;
    ++floor_;
  }
}

}  // namespace runnel::pipeline
