#include "kernels/pool.h"

namespace runnel::kernels {
namespace {

// The part of a window that is data: rows first, first + dilation, ... below last; columns likewise.
struct Window {
  std::int64_t first_row, last_row, first_column, last_column;
};

std::int64_t first_inside(std::int64_t start, std::int64_t low, std::int64_t dilation) noexcept {
  return start >= low ? start : start + (low - start + dilation - 1) / dilation * dilation;
}
std::int64_t smaller(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }
std::int64_t larger(std::int64_t a, std::int64_t b) noexcept { return a > b ? a : b; }

Window window_of(const PoolSpec& spec, const PoolRange& data, std::int64_t row,
                 std::int64_t column) noexcept {
  const std::int64_t top = row * spec.stride_height - spec.pad_top;
  const std::int64_t left = column * spec.stride_width - spec.pad_left;
  return {first_inside(top, larger(data.first_row, 0), spec.dilation_height),
          smaller(smaller(data.last_row, spec.in_height),
                  top + (spec.kernel_height - 1) * std::int64_t{spec.dilation_height} + 1),
          first_inside(left, larger(data.first_column, 0), spec.dilation_width),
          smaller(smaller(data.last_column, spec.in_width),
                  left + (spec.kernel_width - 1) * std::int64_t{spec.dilation_width} + 1)};
}

std::int64_t positions(std::int64_t first, std::int64_t last, std::int64_t dilation) noexcept {
  return last > first ? (last - first + dilation - 1) / dilation : 0;
}

float average_scale(const PoolSpec& spec, std::int64_t count) noexcept {
  const std::int64_t area = spec.count_padding ? std::int64_t{spec.kernel_height} * spec.kernel_width : count;
  return power_of_two(spec.x_exponent) * (1.0f / static_cast<float>(area)) * power_of_two(-spec.y_exponent);
}

// sum / count to the nearest integer, ties away from zero, or up (half_up), as for integers shifted
// to be positive.
std::int64_t integer_mean(std::int64_t sum, std::int64_t count, Rounding rounding) noexcept {
  if (rounding != Rounding::half_up) return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
  const std::int64_t up = sum + count / 2;
  return up >= 0 ? up / count : -((count - 1 - up) / count);
}

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

// Channels side by side, so that the innermost loops vectorise.
template <class T, class Sum>
void fast(const PoolSpec& spec, const PoolRange& data, const T* x, T* y) noexcept {
  constexpr std::int32_t kBlock = 128;
  for (std::int64_t row = 0; row < spec.out_height; ++row) {
    for (std::int64_t column = 0; column < spec.out_width; ++column) {
      const Window w = window_of(spec, data, row, column);
      const std::int64_t count = positions(w.first_row, w.last_row, spec.dilation_height) *
                                 positions(w.first_column, w.last_column, spec.dilation_width);
      T* out = y + (row * spec.out_width + column) * spec.channels;
      for (std::int32_t start = 0; start < spec.channels; start += kBlock) {
        const std::int32_t lanes = spec.channels - start < kBlock ? spec.channels - start : kBlock;
        Sum lane[kBlock];
        const bool max = spec.op == PoolOp::max;
        for (Sum& value : lane) value = max ? std::numeric_limits<T>::min() : 0;
        for (std::int64_t i = w.first_row; i < w.last_row; i += spec.dilation_height) {
          for (std::int64_t j = w.first_column; j < w.last_column; j += spec.dilation_width) {
            const T* in = x + (i * spec.in_width + j) * spec.channels + start;
            if (max) {
              for (std::int32_t c = 0; c < lanes; ++c) lane[c] = in[c] > lane[c] ? in[c] : lane[c];
            } else {
              for (std::int32_t c = 0; c < lanes; ++c) lane[c] += in[c];
            }
          }
        }
        if (count == 0) {
          for (std::int32_t c = 0; c < lanes; ++c)
            out[start + c] = max ? std::numeric_limits<T>::min() : T{0};
        } else if (max) {
          const int shift = spec.y_exponent - spec.x_exponent;
          for (std::int32_t c = 0; c < lanes; ++c)
            out[start + c] = saturate<T>(round_shift(lane[c], shift, spec.rounding));
        } else if (spec.integer_mean) {
          for (std::int32_t c = 0; c < lanes; ++c)
            out[start + c] = saturate<T>(integer_mean(lane[c], count, spec.rounding));
        } else {
          const float scale = average_scale(spec, count);
          for (std::int32_t c = 0; c < lanes; ++c) {
            out[start + c] = saturate<T>(round_float(static_cast<float>(lane[c]) * scale, spec.rounding));
          }
        }
      }
    }
  }
}

// float32: sums in window order, one division. NaN wins a maximum; no data gives the lowest number.
void floats(const PoolSpec& spec, const PoolRange& data, const float* x, float* y) noexcept {
  const bool max = spec.op == PoolOp::max;
  for (std::int64_t row = 0; row < spec.out_height; ++row) {
    for (std::int64_t column = 0; column < spec.out_width; ++column, y += spec.channels) {
      const Window w = window_of(spec, data, row, column);
      const std::int64_t count = positions(w.first_row, w.last_row, spec.dilation_height) *
                                 positions(w.first_column, w.last_column, spec.dilation_width);
      for (std::int32_t c = 0; c < spec.channels; ++c)
        y[c] = max ? std::numeric_limits<float>::lowest() : 0.0f;
      if (count == 0) continue;
      for (std::int64_t i = w.first_row; i < w.last_row; i += spec.dilation_height) {
        for (std::int64_t j = w.first_column; j < w.last_column; j += spec.dilation_width) {
          const float* in = x + (i * spec.in_width + j) * spec.channels;
          if (max) {
            for (std::int32_t c = 0; c < spec.channels; ++c)
              y[c] = in[c] > y[c] || in[c] != in[c] ? in[c] : y[c];
          } else {
            for (std::int32_t c = 0; c < spec.channels; ++c) y[c] += in[c];
          }
        }
      }
      if (max) continue;
      const auto area = static_cast<float>(
          spec.count_padding ? std::int64_t{spec.kernel_height} * spec.kernel_width : count);
      for (std::int32_t c = 0; c < spec.channels; ++c) y[c] /= area;
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
  if (spec.dtype == DType::float32)
    return floats(spec, data, static_cast<const float*>(x), static_cast<float*>(y));
  // int32 sums are exact below this area.
  const std::int64_t area = std::int64_t{spec.kernel_height} * spec.kernel_width;
  const std::int64_t most = spec.dtype == DType::int16 ? (1 << 16) : (1 << 24);
  if (isa == Isa::reference || area >= most) {
    pool_reference(spec, data, x, y);
  } else if (spec.dtype == DType::int16) {
    fast<std::int16_t, std::int32_t>(spec, data, static_cast<const std::int16_t*>(x),
                                     static_cast<std::int16_t*>(y));
  } else {
    fast<std::int8_t, std::int32_t>(spec, data, static_cast<const std::int8_t*>(x),
                                    static_cast<std::int8_t*>(y));
  }
}

}  // namespace runnel::kernels
