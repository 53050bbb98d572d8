#include "kernels/pool.h"

#include "kernels/pool_levels.h"
#include "kernels/pool_loops.h"

namespace runnel::kernels {
namespace {

template <class T>
void reference(const PoolSpec& spec, const PoolRange& data, const T* x, T* y) noexcept {
  for (std::int64_t row = 0; row < spec.out_height; ++row) {
    for (std::int64_t column = 0; column < spec.out_width; ++column) {
      for (std::int64_t c = 0; c < spec.channels; ++c) {
        std::int64_t sum = 0, count = 0;
        std::int64_t best = std::numeric_limits<T>::min();
        for (std::int64_t i = 0; i < spec.kernel_height; ++i) {
          const std::int64_t in_row = row * spec.stride_height - spec.pad_top + i * spec.dilation_height;
          if (in_row < data.first_row || in_row >= data.last_row || in_row < 0 || in_row >= spec.in_height)
            continue;
          for (std::int64_t j = 0; j < spec.kernel_width; ++j) {
            const std::int64_t in_column =
                column * spec.stride_width - spec.pad_left + j * spec.dilation_width;
            if (in_column < data.first_column || in_column >= data.last_column) continue;
            if (in_column < 0 || in_column >= spec.in_width) continue;
            const std::int64_t value = x[(in_row * spec.in_width + in_column) * spec.channels + c];
            sum += value;
            best = value > best ? value : best;
            ++count;
          }
        }
        T& out = y[(row * spec.out_width + column) * spec.channels + c];
        if (spec.op == PoolOp::max) {
          out = count == 0 ? std::numeric_limits<T>::min()
                           : saturate<T>(round_shift(best, spec.y_exponent - spec.x_exponent, spec.rounding));
        } else if (spec.integer_mean && count != 0) {
          out = saturate<T>(integer_mean(sum, count, spec.rounding));
        } else {
          out = count == 0 ? T{0}
                           : saturate<T>(round_float(static_cast<float>(sum) * average_scale(spec, count),
                                                     spec.rounding));
        }
      }
    }
  }
}

}  // namespace

void pool_reference(const PoolSpec& spec, const PoolRange& data, const void* x, void* y) noexcept {
  if (spec.dtype == DType::int16) {
    reference(spec, data, static_cast<const std::int16_t*>(x), static_cast<std::int16_t*>(y));
  } else {
    reference(spec, data, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(y));
  }
}

void pool(const PoolSpec& spec, const PoolRange& data, const void* x, void* y, Isa isa) noexcept {
  // int32 sums are exact below this area.
  const std::int64_t area = std::int64_t{spec.kernel_height} * spec.kernel_width;
  const std::int64_t most = spec.dtype == DType::int16 ? (1 << 16) : (1 << 24);
  if (spec.dtype != DType::float32 && (isa == Isa::reference || area >= most))
    return pool_reference(spec, data, x, y);
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx512) return pool_avx512(spec, data, x, y);
  if (isa == Isa::avx2) return pool_avx2(spec, data, x, y);
#endif
  pool_loops(spec, data, x, y);
}

void add_rows(DType dtype, std::int64_t rows, std::ptrdiff_t step, std::int32_t width, const void* x,
              std::int32_t* sums, [[maybe_unused]] Isa isa) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx512) return add_rows_avx512(dtype, rows, step, width, x, sums);
  if (isa == Isa::avx2) return add_rows_avx2(dtype, rows, step, width, x, sums);
#endif
  add_rows_loops(dtype, rows, step, width, x, sums);
}

}  // namespace runnel::kernels
