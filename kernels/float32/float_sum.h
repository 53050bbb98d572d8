// Compensated sum of floats, which keeps the rounding errors of its additions: as exact as in double
// precision. The caller chooses the order of terms.
#pragma once

#include <cstdint>

namespace runnel::kernels {

struct FloatSum {
  float sum = 0, rest = 0;

  void add(float x) noexcept {
    const float next = sum + x, part = next - sum;
    rest += (sum - (next - part)) + (x - part);
    sum = next;
  }
  // x * x.
  void add_square(float x) noexcept {
    const float square = x * x;
    rest += product_rest(x, x, square);
    add(square);
  }

  // The rest of a sum beyond the largest float is not a number.
  [[nodiscard]] bool is_finite() const noexcept { return rest - rest == 0; }
  // Whether mean() and square_root() have what they need; then they are the nearest float, except for ties
  // closer than a float resolves.
  [[nodiscard]] bool has_rest() const noexcept { return is_finite() && sum < 1e30f && sum > -1e30f; }
  [[nodiscard]] float value() const noexcept { return sum + rest; }
  [[nodiscard]] float mean(std::int64_t count) const noexcept {
    const auto n = static_cast<float>(count);
    const float quotient = sum / n, product = quotient * n;
    return quotient + ((sum - product) - product_rest(quotient, n, product) + rest) / n;
  }
  [[nodiscard]] float square_root() const noexcept {
    const float whole = value();
    if (!(whole > 0)) return whole;
    const float root = __builtin_sqrtf(whole), square = root * root;
    return root + ((sum - square) - product_rest(root, root, square) + rest) / (root + root);
  }

  // a * b - product, where product is a * b rounded; |a|, |b| < 2^115. Not every machine has a fused
  // multiply-add, so it uses none.
  static float product_rest(float a, float b, float product) noexcept {
    const float a_high = upper_half(a), a_low = a - a_high, b_high = upper_half(b), b_low = b - b_high;
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
  }

 private:
  static float upper_half(float x) noexcept {
    const float shifted = x * 4097.0f;
    return shifted - (shifted - x);
  }
};

}  // namespace runnel::kernels
