#include "kernels/arithmetic/arithmetic.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/elementwise/functions.h"

namespace runnel::kernels {
namespace {

// Far beyond every result that does not saturate, far within int64.
constexpr std::int64_t kFar = std::int64_t{1} << 61;
std::int64_t limited(std::int64_t value) noexcept {
  return value < -kFar ? -kFar : value > kFar ? kFar : value;
}

template <class X, class Y, class F>
void each(const PairSpec& spec, const void* a_bytes, const void* b_bytes, void* y_bytes, F f) noexcept {
  const auto* a = static_cast<const X*>(a_bytes);
  const auto* b = static_cast<const X*>(b_bytes);
  auto* y = static_cast<Y*>(y_bytes);
  if (spec.a_count == spec.count && spec.b_count == spec.count) {
    RUNNEL_IN_PLACE_LOOP
    for (std::size_t i = 0; i < spec.count; ++i) y[i] = f(a[i], b[i]);
  } else if (spec.a_count == spec.count && spec.b_count == 1) {
    const X right = b[0];
    RUNNEL_IN_PLACE_LOOP
    for (std::size_t i = 0; i < spec.count; ++i) y[i] = f(a[i], right);
  } else if (spec.a_count == 1 && spec.b_count == spec.count) {
    const X left = a[0];
    RUNNEL_IN_PLACE_LOOP
    for (std::size_t i = 0; i < spec.count; ++i) y[i] = f(left, b[i]);
  } else {
    // Pieces in which both are contiguous.
    std::size_t j = 0, k = 0;
    for (std::size_t i = 0; i < spec.count;) {
      std::size_t n = spec.count - i;
      if (spec.a_count - j < n) n = spec.a_count - j;
      if (spec.b_count - k < n) n = spec.b_count - k;
      RUNNEL_IN_PLACE_LOOP
      for (std::size_t at = 0; at < n; ++at) y[i + at] = f(a[j + at], b[k + at]);
      i += n;
      j = j + n == spec.a_count ? 0 : j + n;
      k = k + n == spec.b_count ? 0 : k + n;
    }
  }
}

// a and b moved to the smaller exponent.
struct Common {
  int a, b, exponent;
  explicit Common(const PairSpec& spec) noexcept {
    exponent = spec.a_exponent < spec.b_exponent ? spec.a_exponent : spec.b_exponent;
    a = exponent - spec.a_exponent;
    b = exponent - spec.b_exponent;
  }
  [[nodiscard]] std::int64_t left(std::int64_t value) const noexcept {
    return limited(round_shift(value, a, Rounding::half_up));
  }
  [[nodiscard]] std::int64_t right(std::int64_t value) const noexcept {
    return limited(round_shift(value, b, Rounding::half_up));
  }
};

template <class T>
T clamped(const PairSpec& spec, std::int64_t value) noexcept {
  return static_cast<T>(value < spec.low ? spec.low : value > spec.high ? spec.high : value);
}

std::int64_t remainder(std::int64_t a, std::int64_t b, bool floored) noexcept {
  if (b == 0) return 0;
  const std::int64_t rest = a % b;
  return floored && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <class T>
void integers(const PairSpec& spec, const void* a, const void* b, void* y) noexcept {
  switch (spec.op) {
    case PairOp::div: {
      const float scale = power_of_two(spec.a_exponent - spec.b_exponent - spec.y_exponent);
      return each<T, T>(spec, a, b, y, [&](T p, T q) {
        if (p == 0) return clamped<T>(spec, 0);
        return clamped<T>(spec,
                          round_float(static_cast<float>(p) / static_cast<float>(q) * scale, spec.rounding));
      });
    }
    case PairOp::pow: {
      const float a_scale = power_of_two(spec.a_exponent), b_scale = power_of_two(spec.b_exponent),
                  y_scale = power_of_two(-spec.y_exponent);
      return each<T, T>(spec, a, b, y, [&](T p, T q) {
        const auto value = static_cast<float>(pow_of(static_cast<double>(static_cast<float>(p) * a_scale),
                                                     static_cast<double>(static_cast<float>(q) * b_scale)));
        return clamped<T>(spec, round_float(value * y_scale, spec.rounding));
      });
    }
    case PairOp::mod:
    case PairOp::mod_floor: {
      const Common common(spec);
      return each<T, T>(spec, a, b, y, [&](T p, T q) {
        const std::int64_t rest = remainder(common.left(p), common.right(q), spec.op == PairOp::mod_floor);
        return clamped<T>(spec, round_shift(rest, spec.y_exponent - common.exponent, spec.rounding));
      });
    }
    default:
      return;
  }
}

template <class T, class F>
void compare_with(const PairSpec& spec, const void* a, const void* b, void* y, F f) noexcept {
  if constexpr (!std::is_same_v<T, float>) {
    if (spec.a_exponent != spec.b_exponent) {
      const Common common(spec);
      return each<T, std::uint8_t>(spec, a, b, y, [&](T p, T q) {
        return static_cast<std::uint8_t>(f(common.left(p), common.right(q)));
      });
    }
  }
  each<T, std::uint8_t>(spec, a, b, y, [&](T p, T q) { return static_cast<std::uint8_t>(f(p, q)); });
}

template <class T>
void compare(const PairSpec& spec, const void* a, const void* b, void* y) noexcept {
  switch (spec.op) {
    case PairOp::equal:
      return compare_with<T>(spec, a, b, y, [](auto p, auto q) { return p == q; });
    case PairOp::greater:
      return compare_with<T>(spec, a, b, y, [](auto p, auto q) { return p > q; });
    case PairOp::greater_or_equal:
      return compare_with<T>(spec, a, b, y, [](auto p, auto q) { return p >= q; });
    case PairOp::less:
      return compare_with<T>(spec, a, b, y, [](auto p, auto q) { return p < q; });
    default:
      return compare_with<T>(spec, a, b, y, [](auto p, auto q) { return p <= q; });
  }
}

template <class F>
void float_each(const PairSpec& spec, const void* a, const void* b, void* y, F f) noexcept {
  if (!spec.relu) return each<float, float>(spec, a, b, y, f);
  each<float, float>(spec, a, b, y, [&](float p, float q) {
    const float value = f(p, q);
    return value < 0 ? 0.0f : value;
  });
}

void floats(const PairSpec& spec, const void* a, const void* b, void* y) noexcept {
  switch (spec.op) {
    case PairOp::add:
      return float_each(spec, a, b, y, [](float p, float q) { return p + q; });
    case PairOp::sub:
      return float_each(spec, a, b, y, [](float p, float q) { return p - q; });
    case PairOp::mul:
      return float_each(spec, a, b, y, [](float p, float q) { return p * q; });
    case PairOp::div:
      return float_each(spec, a, b, y, [](float p, float q) { return p / q; });
    // NaN wins on either side.
    case PairOp::max:
      return float_each(spec, a, b, y, [](float p, float q) { return p > q || p != p ? p : q; });
    case PairOp::min:
      return float_each(spec, a, b, y, [](float p, float q) { return p < q || p != p ? p : q; });
    case PairOp::mod:
      return float_each(spec, a, b, y, [](float p, float q) { return __builtin_fmodf(p, q); });
    case PairOp::mod_floor:
      return float_each(spec, a, b, y, [](float p, float q) {
        const float rest = __builtin_fmodf(p, q);
        return rest != 0 && (rest < 0) != (q < 0) ? rest + q : rest;
      });
    case PairOp::pow:
      return float_each(spec, a, b, y, [](float p, float q) {
        return static_cast<float>(pow_of(static_cast<double>(p), static_cast<double>(q)));
      });
    case PairOp::prelu:
      return float_each(spec, a, b, y, [](float p, float q) {
        const float below = p * q;  // outside the choice, so that it becomes a vector loop
        return p < 0 ? below : p;
      });
    default:
      return;
  }
}

void logic(const PairSpec& spec, const void* a, const void* b, void* y) noexcept {
  using Bool = std::uint8_t;
  switch (spec.op) {
    case PairOp::logical_and:
      return each<Bool, Bool>(spec, a, b, y,
                              [](Bool p, Bool q) { return static_cast<Bool>(p != 0 && q != 0); });
    case PairOp::logical_or:
      return each<Bool, Bool>(spec, a, b, y,
                              [](Bool p, Bool q) { return static_cast<Bool>(p != 0 || q != 0); });
    case PairOp::logical_xor:
      return each<Bool, Bool>(spec, a, b, y,
                              [](Bool p, Bool q) { return static_cast<Bool>((p != 0) != (q != 0)); });
    case PairOp::equal:
      return each<Bool, Bool>(spec, a, b, y,
                              [](Bool p, Bool q) { return static_cast<Bool>((p != 0) == (q != 0)); });
    default:
      return;
  }
}

template <class T>
void choose_typed(const ChoiceSpec& spec, const std::uint8_t* condition, const void* a_bytes,
                  const void* b_bytes, void* y_bytes) noexcept {
  const auto* a = static_cast<const T*>(a_bytes);
  const auto* b = static_cast<const T*>(b_bytes);
  auto* y = static_cast<T*>(y_bytes);
  std::size_t c = 0, j = 0, k = 0;
  for (std::size_t i = 0; i < spec.count; ++i) {
    y[i] = condition[c] != 0 ? a[j] : b[k];
    if (++c == spec.condition_count) c = 0;
    if (++j == spec.a_count) j = 0;
    if (++k == spec.b_count) k = 0;
  }
}

template <class To, class From>
To converted(From x) noexcept {
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_floating_point_v<From>) {
    if (x != x) return 0;
    // 2^digits, the first value beyond the type, is exact in every floating-point type.
    const auto beyond =
        static_cast<From>(static_cast<double>(std::uint64_t{1} << std::numeric_limits<To>::digits));
    if (x >= beyond) return std::numeric_limits<To>::max();
    if (x < static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(x);
  } else {
    constexpr auto low = static_cast<std::int64_t>(std::numeric_limits<To>::min());
    constexpr auto high = static_cast<std::int64_t>(std::numeric_limits<To>::max());
    const auto value = static_cast<std::int64_t>(x);
    return static_cast<To>(value < low ? low : value > high ? high : value);
  }
}

template <class From>
void cast_from(DType to, std::size_t count, const From* x, void* y) noexcept {
  const auto all = [&]<class To>(To* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = converted<To>(x[i]);
  };
  switch (to) {
    case DType::float32:
      return all(static_cast<float*>(y));
    case DType::float64:
      return all(static_cast<double*>(y));
    case DType::int8:
      return all(static_cast<std::int8_t*>(y));
    case DType::uint8:
      return all(static_cast<std::uint8_t*>(y));
    case DType::int16:
      return all(static_cast<std::int16_t*>(y));
    case DType::uint16:
      return all(static_cast<std::uint16_t*>(y));
    case DType::int32:
      return all(static_cast<std::int32_t*>(y));
    case DType::int64:
      return all(static_cast<std::int64_t*>(y));
    case DType::boolean:
      for (std::size_t i = 0; i < count; ++i) static_cast<std::uint8_t*>(y)[i] = x[i] != 0 ? 1 : 0;
      return;
    case DType::none:
      return;
  }
}

// Plain integers of 32 and 64 bits: counters, a few at a time, in one small loop. They wrap around, as
// unsigned ones do.
void plain(const PairSpec& spec, const void* a, const void* b, void* y) noexcept {
  const bool wide = spec.dtype == DType::int64;
  const auto at = [wide](const void* values, std::size_t i) {
    return wide ? static_cast<const std::int64_t*>(values)[i] : static_cast<const std::int32_t*>(values)[i];
  };
  for (std::size_t i = 0; i < spec.count; ++i) {
    const std::int64_t p = at(a, i % spec.a_count), q = at(b, i % spec.b_count);
    const auto u = static_cast<std::uint64_t>(p), v = static_cast<std::uint64_t>(q);
    std::uint64_t result = 0;
    switch (spec.op) {
      case PairOp::add:
        result = u + v;
        break;
      case PairOp::sub:
        result = u - v;
        break;
      case PairOp::mul:
        result = u * v;
        break;
      case PairOp::max:
        result = p > q ? u : v;
        break;
      case PairOp::min:
        result = p < q ? u : v;
        break;
      case PairOp::equal:
        result = p == q;
        break;
      case PairOp::greater:
        result = p > q;
        break;
      case PairOp::greater_or_equal:
        result = p >= q;
        break;
      case PairOp::less:
        result = p < q;
        break;
      default:
        result = p <= q;
        break;
    }
    if (spec.op >= PairOp::equal)
      static_cast<std::uint8_t*>(y)[i] = static_cast<std::uint8_t>(result);
    else if (wide)
      static_cast<std::uint64_t*>(y)[i] = result;
    else
      static_cast<std::uint32_t*>(y)[i] = static_cast<std::uint32_t>(result);
  }
}

}  // namespace

void pairs(const PairSpec& spec, const void* a, const void* b, void* y) noexcept {
  const bool compares = spec.op >= PairOp::equal && spec.op <= PairOp::less_or_equal;
  switch (spec.dtype) {
    case DType::int8:
      return compares ? compare<std::int8_t>(spec, a, b, y) : integers<std::int8_t>(spec, a, b, y);
    case DType::int16:
      return compares ? compare<std::int16_t>(spec, a, b, y) : integers<std::int16_t>(spec, a, b, y);
    case DType::float32:
      return compares ? compare<float>(spec, a, b, y) : floats(spec, a, b, y);
    case DType::int32:
    case DType::int64:
      return plain(spec, a, b, y);
    case DType::boolean:
      return logic(spec, a, b, y);
    default:
      return;
  }
}

void choose(const ChoiceSpec& spec, const std::uint8_t* condition, const void* a, const void* b,
            void* y) noexcept {
  switch (spec.element) {
    case 1:
      return choose_typed<std::uint8_t>(spec, condition, a, b, y);
    case 2:
      return choose_typed<std::uint16_t>(spec, condition, a, b, y);
    case 4:
      return choose_typed<std::uint32_t>(spec, condition, a, b, y);
    default:
      return choose_typed<std::uint64_t>(spec, condition, a, b, y);
  }
}

void cast(DType from, DType to, std::size_t count, const void* x, void* y) noexcept {
  switch (from) {
    case DType::float32:
      return cast_from(to, count, static_cast<const float*>(x), y);
    case DType::float64:
      return cast_from(to, count, static_cast<const double*>(x), y);
    case DType::int8:
      return cast_from(to, count, static_cast<const std::int8_t*>(x), y);
    case DType::uint8:
      return cast_from(to, count, static_cast<const std::uint8_t*>(x), y);
    case DType::int16:
      return cast_from(to, count, static_cast<const std::int16_t*>(x), y);
    case DType::uint16:
      return cast_from(to, count, static_cast<const std::uint16_t*>(x), y);
    case DType::int32:
      return cast_from(to, count, static_cast<const std::int32_t*>(x), y);
    case DType::int64:
      return cast_from(to, count, static_cast<const std::int64_t*>(x), y);
    case DType::boolean: {
      // Any byte but 0 is true, which as a number is 1.
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t bit = static_cast<const std::uint8_t*>(x)[i] != 0 ? 1 : 0;
        cast_from(to, 1, &bit, static_cast<std::byte*>(y) + i * size_of(to));
      }
      return;
    }
    case DType::none:
      return;
  }
}

}  // namespace runnel::kernels
