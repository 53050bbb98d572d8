// The float kernels for RISC-V's vectors: products and depthwise convolutions. Sums have the order of all
// levels (float_matrix.h); a lane is a column or a channel, so that the length of vectors changes no bit.
#include "kernels/float32/float_loops.h"
#include "kernels/rvv/vectors.h"

namespace runnel::kernels {
namespace {

// Panels of up to 64 columns, padded to four.
constexpr std::int32_t kLanesRvv = 4, kPanelRvv = 16;

// NaN and -0 stay.
RUNNEL_VECTOR vfloat32m4_t limited(vfloat32m4_t v, const FloatLimits& limits, std::size_t vl) noexcept {
  v = __riscv_vfmerge_vfm_f32m4(v, limits.low, __riscv_vmflt_vf_f32m4_b8(v, limits.low, vl), vl);
  return __riscv_vfmerge_vfm_f32m4(v, limits.high, __riscv_vmfgt_vf_f32m4_b8(v, limits.high, vl), vl);
}
RUNNEL_VECTOR void finish_rvv(vfloat32m4_t sum, const float* bias, const FloatLimits& limits, float* y,
                              std::size_t vl, std::size_t count) noexcept {
  sum = __riscv_vfadd_vv_f32m4(sum, __riscv_vle32_v_f32m4(bias, vl), vl);
  __riscv_vse32_v_f32m4(y, limited(sum, limits, vl), count);
}

// Some columns of a panel: `vl` from w on, of which `count` exist.
struct Columns {
  const float *w, *bias;
  std::ptrdiff_t width;  // of the panel
  std::size_t vl, count;
};

// Products [begin, end) of one row,
template <class Place>
RUNNEL_VECTOR vfloat32m4_t segment_of(const Columns& at, const float* x, Place place, std::int64_t begin,
                                      std::int64_t end) noexcept {
  vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, at.vl);
  const float* w = at.w + begin * at.width;
  for (std::int64_t k = begin; k < end; ++k, w += at.width)
    sum = __riscv_vfmacc_vf_f32m4(sum, x[place(k)], __riscv_vle32_v_f32m4(w, at.vl), at.vl);
  return sum;
}
// and of four rows, added to a, b, c and d if there is a segment before.
template <class Place>
RUNNEL_VECTOR void add_segment(const Columns& at, const float* x, std::ptrdiff_t x_step, Place place,
                               std::int64_t begin, std::int64_t end, vfloat32m4_t& a, vfloat32m4_t& b,
                               vfloat32m4_t& c, vfloat32m4_t& d) noexcept {
  const std::size_t vl = at.vl;
  vfloat32m4_t e = __riscv_vfmv_v_f_f32m4(0, vl), f = e, g = e, h = e;
  const float* w = at.w + begin * at.width;
  for (std::int64_t k = begin; k < end; ++k, w += at.width) {
    const vfloat32m4_t weights = __riscv_vle32_v_f32m4(w, vl);
    const float* const factors = x + place(k);
    e = __riscv_vfmacc_vf_f32m4(e, factors[0], weights, vl);
    f = __riscv_vfmacc_vf_f32m4(f, factors[x_step], weights, vl);
    g = __riscv_vfmacc_vf_f32m4(g, factors[2 * x_step], weights, vl);
    h = __riscv_vfmacc_vf_f32m4(h, factors[3 * x_step], weights, vl);
  }
  if (begin == 0) {
    a = e, b = f, c = g, d = h;
  } else {
    a = __riscv_vfadd_vv_f32m4(a, e, vl);
    b = __riscv_vfadd_vv_f32m4(b, f, vl);
    c = __riscv_vfadd_vv_f32m4(c, g, vl);
    d = __riscv_vfadd_vv_f32m4(d, h, vl);
  }
}

template <class Place>
RUNNEL_VECTOR void all_rows(const FloatMatrix& m, const Columns& at, std::int64_t rows, const float* x,
                            std::ptrdiff_t x_step, Place place, float* y, std::ptrdiff_t y_step,
                            const FloatLimits& limits) noexcept {
  const std::int64_t length = m.inner / m.segments;
  const auto end_of = [&](std::int32_t segment) {
    return segment + 1 == m.segments ? m.inner : (segment + 1) * length;
  };
  for (; rows >= 4; rows -= 4, x += 4 * x_step, y += 4 * y_step) {
    vfloat32m4_t a = __riscv_vfmv_v_f_f32m4(0, at.vl), b = a, c = a, d = a;
    for (std::int32_t segment = 0; segment < m.segments; ++segment)
      add_segment(at, x, x_step, place, segment * length, end_of(segment), a, b, c, d);
    finish_rvv(a, at.bias, limits, y, at.vl, at.count);
    finish_rvv(b, at.bias, limits, y + y_step, at.vl, at.count);
    finish_rvv(c, at.bias, limits, y + 2 * y_step, at.vl, at.count);
    finish_rvv(d, at.bias, limits, y + 3 * y_step, at.vl, at.count);
  }
  for (; rows > 0; --rows, x += x_step, y += y_step) {
    vfloat32m4_t sum = segment_of(at, x, place, 0, end_of(0));
    for (std::int32_t segment = 1; segment < m.segments; ++segment)
      sum = __riscv_vfadd_vv_f32m4(sum, segment_of(at, x, place, segment * length, end_of(segment)), at.vl);
    finish_rvv(sum, at.bias, limits, y, at.vl, at.count);
  }
}

// Panels as pack_float_matrix() lays them out.
template <class Place>
RUNNEL_VECTOR void all_columns(const FloatMatrix& m, std::int64_t rows, const float* x, std::ptrdiff_t x_step,
                               Place place, float* y, std::ptrdiff_t y_step,
                               const FloatLimits& limits) noexcept {
  const std::int64_t vectors = (m.columns + kLanesRvv - 1) / kLanesRvv,
                     panels = (vectors + kPanelRvv - 1) / kPanelRvv;
  const float* w = m.packed;
  std::int64_t first = 0;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const std::int64_t width = (vectors / panels + (panel < vectors % panels ? 1 : 0)) * kLanesRvv;
    for (std::int64_t column = 0; column < width;) {
      const std::size_t vl = __riscv_vsetvl_e32m4(static_cast<std::size_t>(width - column));
      const auto left = static_cast<std::size_t>(m.columns - first - column);
      all_rows(m, Columns{w + column, m.bias + first + column, width, vl, left < vl ? left : vl}, rows, x,
               x_step, place, y + first + column, y_step, limits);
      column += static_cast<std::int64_t>(vl);
    }
    w += m.inner * width;
    first += width;
  }
}
void product_rvv(const FloatMatrix& m, std::int64_t rows, const float* x, std::ptrdiff_t x_step, float* y,
                 std::ptrdiff_t y_step, const FloatLimits& limits) noexcept {
  all_columns(m, rows, x, x_step, Neighbours(), y, y_step, limits);
}
void product_at_rvv(const FloatMatrix& m, std::int64_t rows, const float* x, std::ptrdiff_t x_step,
                    const std::int32_t* at, float* y, std::ptrdiff_t y_step,
                    const FloatLimits& limits) noexcept {
  all_columns(m, rows, x, x_step, Places{at}, y, y_step, limits);
}

// Products are rounded before they are added.
void pair_product_rvv(std::int64_t rows, std::int64_t inner, std::int64_t columns, const float* a,
                      const float* b, float* y, bool relu) noexcept {
  for (std::int64_t row = 0; row < rows; ++row, a += inner, y += columns) {
    for (std::int64_t n = 0; n < columns;) {
      const std::size_t vl = __riscv_vsetvl_e32m8(static_cast<std::size_t>(columns - n));
      vfloat32m8_t sum = __riscv_vfmv_v_f_f32m8(0, vl);
      const float* line = b + n;
      for (std::int64_t k = 0; k < inner; ++k, line += columns)
        sum = __riscv_vfadd_vv_f32m8(sum, __riscv_vfmul_vf_f32m8(__riscv_vle32_v_f32m8(line, vl), a[k], vl),
                                     vl);
      if (relu) sum = __riscv_vfmerge_vfm_f32m8(sum, 0, __riscv_vmflt_vf_f32m8_b4(sum, 0, vl), vl);
      __riscv_vse32_v_f32m8(y + n, sum, vl);
      n += static_cast<std::int64_t>(vl);
    }
  }
}

void depthwise_rvv(const FloatDepthwise& s, const float* x, float* y) noexcept {
  const std::int64_t row_step = std::int64_t{s.dilation_height} * s.in_width * s.channels,
                     column_step = std::int64_t{s.dilation_width} * s.channels;
  for (std::int64_t row = 0; row < s.out_height; ++row) {
    Taps taps;
    const std::int64_t top = row * s.stride_height - s.pad_top;
    taps_inside(top, s.kernel_height, s.dilation_height, s.in_height, taps.i0, taps.i1);
    for (std::int64_t column = 0; column < s.out_width; ++column, y += s.channels) {
      const std::int64_t left = column * s.stride_width - s.pad_left;
      taps_inside(left, s.kernel_width, s.dilation_width, s.in_width, taps.j0, taps.j1);
      for (std::int64_t c = 0; c < s.channels;) {
        const std::size_t vl = __riscv_vsetvl_e32m4(static_cast<std::size_t>(s.channels - c));
        vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0, vl);
        for (std::int64_t i = taps.i0; i < taps.i1; ++i) {
          const float* in =
              x + (top * s.in_width + left) * s.channels + i * row_step + taps.j0 * column_step + c;
          const float* tap = s.weights + (i * s.kernel_width + taps.j0) * s.channels + c;
          for (std::int64_t j = taps.j0; j < taps.j1; ++j, in += column_step, tap += s.channels)
            sum = __riscv_vfmacc_vv_f32m4(sum, __riscv_vle32_v_f32m4(in, vl), __riscv_vle32_v_f32m4(tap, vl),
                                          vl);
        }
        finish_rvv(sum, s.bias + c, s.limits, y + c, vl, vl);
        c += static_cast<std::int64_t>(vl);
      }
    }
  }
}

constexpr FloatKernels with_vectors(FloatKernels kernels) noexcept {
  kernels.lanes = kLanesRvv;
  kernels.panel_vectors = kPanelRvv;
  kernels.product = product_rvv;
  kernels.product_at = product_at_rvv;
  kernels.pair_product = pair_product_rvv;
  kernels.depthwise = depthwise_rvv;
  return kernels;
}

}  // namespace

// Functions of single floats and gates are those without vectors.
constinit const FloatKernels kFloatRvv = with_vectors(table<1, 4, 16>());

}  // namespace runnel::kernels
