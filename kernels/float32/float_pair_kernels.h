// Kernels of softmax and of sums on pairs of floats (float_pairs.h), one table per instruction level. All
// levels give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "kernels/float32/float_sum.h"

namespace runnel::kernels {

// The term of each element in a sum.
enum class Term : unsigned char { value, size, square };

constexpr std::int64_t kSumLanes = 16;

struct FloatPairKernels {
  // x[0], or the largest of those above it.
  float (*largest)(std::size_t count, const float* x) noexcept = nullptr;
  // high[i] + low[i] = e^(x[i] - from), the difference taken exactly; x may be high.
  void (*exp_terms)(std::size_t count, const float* x, float from, float* high,
                    float* low) noexcept = nullptr;
  // sum[r] = the terms [r][count] of a row in their order, r < rows <= kSumLanes: each high part is added,
  // then its low part to the rest.
  void (*add_terms)(std::size_t rows, std::size_t count, const float* high, const float* low,
                    FloatSum* sum) noexcept = nullptr;
  // y[i] = (high[i] + low[i]) / (sum + rest), the nearest float except for ties closer than 2^-38; y may be
  // high. sum is normal and above 0.
  void (*shares)(std::size_t count, const float* high, const float* low, float sum, float rest,
                 float* y) noexcept = nullptr;
  // y[i] = x[i] - from - log(sum + rest); y may be x. sum is at least 1.
  void (*log_shares)(std::size_t count, const float* x, float from, float sum, float rest,
                     float* y) noexcept = nullptr;
  // sum + rest [k] += x[r * step + k], r < rows, k < width, in the order of rows.
  void (*add_rows)(std::int64_t rows, std::ptrdiff_t step, std::size_t width, const float* x, float* sum,
                   float* rest) noexcept = nullptr;
  // FloatSum::mean() of several sums; y may be sum.
  void (*means)(std::size_t width, std::int64_t count, const float* sum, const float* rest,
                float* y) noexcept = nullptr;
  // The sum of neighbours: element i goes to sum i % kSumLanes; the second half of these is added to the
  // first, and so on. Indexed by Term.
  void (*add_neighbours[3])(std::int64_t count, const float* x, FloatSum& sum) noexcept = {};
};

const FloatPairKernels& float_pair_kernels(Isa isa) noexcept;

}  // namespace runnel::kernels
