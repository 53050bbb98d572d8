// The kernels on pairs of floats as loops over vectors of W lanes. Included once by each
// float_pair_kernels_<level>.cpp, which is compiled for that level's instructions.
#pragma once

#include "kernels/float32/float_pair_kernels.h"
#include "kernels/float32/float_pairs.h"

namespace runnel::kernels {

// The tables of the instruction levels, for float_pair_kernels(isa) only.
extern const FloatPairKernels kFloatPairsGeneric, kFloatPairsAvx2, kFloatPairsAvx512;

namespace {

// A few elements are faster one by one than as a partial vector.
constexpr std::size_t kFew = 2;

template <int W>
void exp_terms(std::size_t count, const float* x, float from, float* high, float* low) noexcept {
  if constexpr (W > 1) {
    if (count <= kFew) return exp_terms<1>(count, x, from, high, low);
  }
  each_vector<W>(
      count, [=](auto in, auto out) __attribute__((always_inline)) {
        const Pair<W> e = exp_of<W>(sum_of<W>(in(x), splat<W>(-from)));
        out(high, e.high);
        out(low, e.low);
      });
}
template <int W>
void shares(std::size_t count, const float* high, const float* low, float sum, float rest,
            float* y) noexcept {
  if constexpr (W > 1) {
    if (count <= kFew) return shares<1>(count, high, low, sum, rest, y);
  }
  const float inverse = 1 / sum;
  each_vector<W>(
      count, [=](auto in, auto out) __attribute__((always_inline)) {
        const F<W> x = in(high), share = x * splat<W>(inverse);
        // The remainder: the term less share * sum.
        const F<W> left = fma<W>(-share, splat<W>(sum), x) + fma<W>(-share, splat<W>(rest), in(low));
        out(y, fma<W>(left, splat<W>(inverse), share));
      });
}
template <int W>
void log_shares(std::size_t count, const float* x, float from, float sum, float rest, float* y) noexcept {
  if constexpr (W > 1) {
    if (count <= kFew) return log_shares<1>(count, x, from, sum, rest, y);
  }
  Pair<1> log = log_of<1>(ordered_sum<1>(sum, rest));
  if (sum != sum) log.high = sum;
  each_vector<W>(
      count, [=](auto in, auto out) __attribute__((always_inline)) {
        const Pair<W> difference = sum_of<W>(in(x), splat<W>(-from)),
                      whole = sum_of<W>(difference.high, splat<W>(-log.high));
        const F<W> y_of = whole.high + (whole.low + (difference.low - splat<W>(log.low)));
        out(y, difference.high > splat<W>(-1e30f) ? y_of
                                                  : difference.high);  // the low parts of an infinity are NaN
      });
}

template <int W>
RUNNEL_LANES_INLINE void add_to(Pair<W>& sum, F<W> x) {
  const Pair<W> next = sum_of<W>(sum.high, x);
  sum = {next.high, sum.low + next.low};
}
template <int W>
float largest(std::size_t count, const float* x) noexcept {
  F<W> most = splat<W>(x[0]);
  std::size_t i = 0;
  for (; i + W <= count; i += W) {
    const F<W> next = load<W>(x + i);
    most = next > most ? next : most;
  }
  float lanes[W];
  store<W>(lanes, most);
  float found = lanes[0];
  for (int lane = 1; lane < W; ++lane) found = lanes[lane] > found ? lanes[lane] : found;
  for (; i < count; ++i) found = x[i] > found ? x[i] : found;
  return found;
}
// Lanes are rows: a row's sum is a chain of additions, each waiting for the one before.
template <int W>
void add_terms(std::size_t rows, std::size_t count, const float* high, const float* low,
               FloatSum* sum) noexcept {
  constexpr std::size_t kRows = W, kFar = std::size_t{1} << 26;  // indices of lanes are int32
  if constexpr (W > 1) {
    if (rows <= kFew || count > kFar) return add_terms<1>(rows, count, high, low, sum);
  }
  for (std::size_t first = 0; first < rows; first += kRows) {
    const std::size_t together = rows - first < kRows ? rows - first : kRows;
    std::int32_t index[W];
    for (std::size_t lane = 0; lane < kRows; ++lane)
      index[lane] = static_cast<std::int32_t>((lane < together ? lane : 0) * count);
    I<W> at;
    __builtin_memcpy(&at, index, sizeof at);
    Pair<W> total{splat<W>(0), splat<W>(0)};
    for (std::size_t i = 0; i < count; ++i) {
      add_to<W>(total, looked_up<W>(high + first * count + i, at));
      total.low = total.low + looked_up<W>(low + first * count + i, at);
    }
    float highs[W], lows[W];
    store<W>(highs, total.high);
    store<W>(lows, total.low);
    for (std::size_t lane = 0; lane < together; ++lane) {
      sum[first + lane].sum = highs[lane];
      sum[first + lane].rest = lows[lane];
    }
  }
}
template <int W>
void add_rows(std::int64_t rows, std::ptrdiff_t step, std::size_t width, const float* x, float* sum,
              float* rest) noexcept {
  each_vector<W>(
      width, [=](auto in, auto out) __attribute__((always_inline)) {
        Pair<W> total{in(sum), in(rest)};
        for (std::int64_t r = 0; r < rows; ++r) add_to<W>(total, in(x + r * step));
        out(sum, total.high);
        out(rest, total.low);
      });
}
template <int W>
void means(std::size_t width, std::int64_t count, const float* sum, const float* rest, float* y) noexcept {
  const auto n = static_cast<float>(count);
  each_vector<W>(
      width, [=](auto in, auto out) __attribute__((always_inline)) {
        const F<W> total = in(sum), quotient = total / splat<W>(n);
        out(y, quotient + (fma<W>(-quotient, splat<W>(n), total) + in(rest)) / splat<W>(n));
      });
}
template <int W, Term kTerm>
void add_neighbours(std::int64_t count, const float* x, FloatSum& sum) noexcept {
  constexpr int kVectors = kSumLanes / W;
  Pair<W> total[kVectors];
  for (int v = 0; v < kVectors; ++v) total[v] = {splat<W>(0), splat<W>(0)};
  const auto add = [&](int v, F<W> value) __attribute__((always_inline)) {
    if constexpr (kTerm == Term::square) {
      const F<W> square = value * value;
      total[v].low = total[v].low + fma<W>(value, value, -square);
      add_to<W>(total[v], square);
    } else {
      add_to<W>(total[v], kTerm == Term::size ? absolute<W>(value) : value);
    }
  };
  for (; count >= kSumLanes; count -= kSumLanes, x += kSumLanes) {
    for (int v = 0; v < kVectors; ++v) add(v, load<W>(x + v * W));
  }
  // Padding with zeros changes nothing.
  for (int v = 0; v < kVectors && count > v * W; ++v)
    add(v, count - v * W >= W ? load<W>(x + v * W)
                              : load_some<W>(x + v * W, static_cast<std::size_t>(count - v * W)));
  // Adds the upper half of the lanes to the lower half.
  for (int half = kVectors / 2; half > 0; half /= 2) {
    for (int v = 0; v < half; ++v) {
      add_to<W>(total[v], total[v + half].high);
      total[v].low = total[v].low + total[v + half].low;
    }
  }
  float high[W], low[W];
  store<W>(high, total[0].high);
  store<W>(low, total[0].low);
  for (int half = W / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) {
      const Pair<1> both = sum_of<1>(high[i], high[i + half]);
      high[i] = both.high;
      low[i] = (low[i] + both.low) + low[i + half];
    }
  }
  sum.add(high[0]);
  sum.rest += low[0];
}

template <int W>
constexpr FloatPairKernels pair_table() noexcept {
  return {largest<W>,
          exp_terms<W>,
          add_terms<W>,
          shares<W>,
          log_shares<W>,
          add_rows<W>,
          means<W>,
          {add_neighbours<W, Term::value>, add_neighbours<W, Term::size>, add_neighbours<W, Term::square>}};
}

}  // namespace
}  // namespace runnel::kernels
