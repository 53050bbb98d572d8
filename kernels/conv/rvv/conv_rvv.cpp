// Convolutions for RISC-V's vectors of any length.
//
// There is no dot product of bytes, and products of bytes are int16, so that a sum in int32 takes two
// instructions of different types, with a change of the vector type between them. Weights that are int16 in
// memory (WeightForm::columns) take one: a register group of weights times a scalar, added to sums of twice
// the width. Eight registers of sums (32 channels at 128 bits) take one instruction for each input, and the
// type never changes in the loop. Floor at 128 bits: 1 instruction for 32 multiply-adds, besides the input, a
// load of a byte, and half a load of weights, which two positions share.
#include "kernels/conv/rvv/conv_rvv.h"

#include "kernels/conv/conv_vector.h"
#include "kernels/conv/rvv/finish_rvv.h"

namespace runnel::kernels {
namespace {

// Of sums, so that longer vectors are not used than memory for them is kept on the stack.
constexpr std::size_t kMostLanes = 256;

RUNNEL_VECTOR std::int32_t group_lanes() noexcept {
  const std::size_t most = __riscv_vsetvlmax_e32m8();
  return static_cast<std::int32_t>(most < kMostLanes ? most : kMostLanes);
}

// The channels of one group.
struct Group {
  const std::int16_t* weights;
  std::ptrdiff_t row;  // weights from one input, or tap, to the next
  std::int32_t first;
  std::size_t vl;
};

// Calls part<kWhole>(group) for the groups of `channels`. kWhole: all registers are full, so that two rows of
// weights are one load.
template <class Part>
RUNNEL_VECTOR void each_group(const ConvPlan& plan, Channels channels, const Part& part) noexcept {
  const std::int32_t lanes = group_lanes();
  Group group{reinterpret_cast<const std::int16_t*>(plan.weights), lanes, channels.first,
              static_cast<std::size_t>(lanes)};
  if (channels.first > 0)
    group.weights += channels.first / lanes * (plan.group_weights / std::int64_t{sizeof(std::int16_t)});
  const auto next = [&]() __attribute__((always_inline)) {
    group.weights += plan.group_weights / std::int64_t{sizeof(std::int16_t)};
    group.first += lanes;
  };
  if (group.vl == __riscv_vsetvlmax_e16m4()) {
    _Pragma("GCC unroll 1") for (; channels.last - group.first >= lanes; next())
        part.template operator()<true>(group);
  }
  for (; group.first < channels.last; next()) {
    // Rows of the last group of a layer are padded to quarters of a group (conv_plan.h), which is a power of
    // two.
    const std::int32_t all = plan.out_channels - group.first, left = channels.last - group.first,
                       quarter = lanes / 4;
    if (all < lanes) group.row = (all + quarter - 1) & -quarter;
    if (left < lanes) group.vl = static_cast<std::size_t>(left);
    part.template operator()<false>(group);
  }
}

// Two rows of weights.
template <bool kWhole>
struct Rows {
  RUNNEL_VECTOR vint16m8_t load(const std::int16_t*& from, std::ptrdiff_t row, std::size_t vl) noexcept {
    vint16m8_t both;
    if constexpr (kWhole) {
      both = *reinterpret_cast<const vint16m8_t*>(from);  // of any vector type: no vsetvli
    } else {
      both = __riscv_vset_v_i16m4_i16m8(__riscv_vundefined_i16m8(), 0, __riscv_vle16_v_i16m4(from, vl));
      both = __riscv_vset_v_i16m4_i16m8(both, 1, __riscv_vle16_v_i16m4(from + row, vl));
    }
    from += 2 * row;
    return both;
  }
};

// a += products of kQuads times four inputs at x; b: of those at z, for kFrames == 2.
template <int kFrames, bool kWhole, int kQuads>
RUNNEL_VECTOR void add_quads(const std::int8_t* x, const std::int8_t* z, const std::int16_t*& weights,
                             std::ptrdiff_t row, std::size_t vl, vint32m8_t& a, vint32m8_t& b) noexcept {
  RUNNEL_UNROLL for (int i = 0; i < 4 * kQuads; i += 2) {
    const vint16m8_t both = Rows<kWhole>::load(weights, row, vl);
    const vint16m4_t even = __riscv_vget_v_i16m8_i16m4(both, 0), odd = __riscv_vget_v_i16m8_i16m4(both, 1);
    a = __riscv_vwmacc_vx_i32m8(a, x[i], even, vl);
    if constexpr (kFrames == 2) b = __riscv_vwmacc_vx_i32m8(b, z[i], even, vl);
    a = __riscv_vwmacc_vx_i32m8(a, x[i + 1], odd, vl);
    if constexpr (kFrames == 2) b = __riscv_vwmacc_vx_i32m8(b, z[i + 1], odd, vl);
  }
}

// The same of a window.
template <int kFrames, bool kWhole>
RUNNEL_VECTOR void add_window(const Block& block, std::int32_t runs, std::int32_t quads, const Group& group,
                              vint32m8_t& a, vint32m8_t& b) noexcept {
  const std::int16_t* weights = group.weights;
  for (std::int32_t run = 0; run < runs; ++run) {
    const std::int8_t *x = block.x + block.offset[run], *z = x + block.x_step;
    std::int32_t left = quads;
    for (; left >= 2; left -= 2, x += 8, z += 8)
      add_quads<kFrames, kWhole, 2>(x, z, weights, group.row, group.vl, a, b);
    if (left > 0) add_quads<kFrames, kWhole, 1>(x, z, weights, group.row, group.vl, a, b);
  }
}

// Results of a group from registers, for plain plans,
template <bool kSum, bool kEqual>
struct ToPlain {
  PlainFinish<kSum, kEqual> finish;
  std::int32_t first;
  std::size_t vl;

  [[gnu::always_inline]] ToPlain(const Conv*, const ConvPlan& plan, const Group& group) noexcept
      : finish(plan, group.first), first(group.first), vl(group.vl) {}
  [[gnu::always_inline]] void operator()(vint32m8_t sum, const std::int8_t* addend,
                                         std::int8_t* y) const noexcept {
    finish(sum, kSum ? addend + first : nullptr, y + first, vl);
  }
};
// or through memory, for all others.
template <bool kSum>
struct ToAny {
  const Conv* conv;
  const ConvPlan& plan;
  std::int32_t first;
  std::size_t vl;

  [[gnu::always_inline]] ToAny(const Conv* of, const ConvPlan& its, const Group& group) noexcept
      : conv(of), plan(its), first(group.first), vl(group.vl) {}
  [[gnu::always_inline]] void operator()(vint32m8_t sum, const std::int8_t* addend,
                                         std::int8_t* y) const noexcept {
    alignas(64) std::int32_t sums[kMostLanes];
    __riscv_vse32_v_i32m8(sums, sum, vl);
    finish_sums(*conv, plan, sums, first, static_cast<std::int32_t>(vl), y, kSum ? addend : nullptr);
  }
};

template <int kFrames, bool kWhole, class To>
RUNNEL_VECTOR void dense_blocks(const ConvPlan& plan, const Group& group, const To& to, Block& block,
                                std::int64_t& frames) noexcept {
  for (; frames >= kFrames; frames -= kFrames) {
    vint32m8_t a = __riscv_vle32_v_i32m8(plan.bias + group.first, group.vl), b = a;
    add_window<kFrames, kWhole>(block, plan.runs, plan.quads, group, a, b);
    to(a, block.addend, block.y);
    if constexpr (kFrames == 2) to(b, block.addend + block.addend_step, block.y + block.y_step);
    block.x += kFrames * block.x_step;
    block.y += kFrames * block.y_step;
    block.addend += kFrames * block.addend_step;
  }
}

template <bool kWhole, class To>
[[gnu::noinline]] void dense_group(const Conv* conv, const ConvPlan& plan, const Group& group, Block block,
                                   std::int64_t frames) noexcept {
  const To to(conv, plan, group);
  dense_blocks<2, kWhole>(plan, group, to, block, frames);
  dense_blocks<1, kWhole>(plan, group, to, block, frames);
}

// A single position.
template <bool kWhole, class To>
RUNNEL_VECTOR void dense_one(const ConvPlan& plan, const Group& group, const Block& block) noexcept {
  vint32m8_t sum = __riscv_vle32_v_i32m8(plan.bias + group.first, group.vl), none = sum;
  add_window<1, kWhole>(block, plan.runs, plan.quads, group, sum, none);
  To(nullptr, plan, group)(sum, block.addend, block.y);
}

template <class To>
struct DenseColumns {
  static void all(const Conv* conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                  Channels channels) noexcept {
    each_group(
        plan, channels, [&]<bool kWhole>(const Group& group) __attribute__((always_inline)) {
          dense_group<kWhole, To>(conv, plan, group, block, frames);
        });
  }
  static void one(const ConvPlan& plan, const Block& block) noexcept {
    each_group(
        plan,
        Channels{0, plan.out_channels}, [&]<bool kWhole>(const Group& group) __attribute__((always_inline)) {
          if constexpr (kWhole)
            dense_one<true, To>(plan, group, block);
          else
            last(plan, group, block);
        });
  }
  // A call, so that whole groups do not save its registers.
  [[gnu::noinline]] static void last(const ConvPlan& plan, const Group& group, const Block& block) noexcept {
    dense_one<false, To>(plan, group, block);
  }
};

// A tap is a load of inputs, made int16, and one of weights.
template <bool kWhole>
RUNNEL_VECTOR vint32m8_t depthwise_sum(const Group& group, const std::int8_t* x, const std::int64_t* offset,
                                       std::int32_t taps, vint32m8_t sum) noexcept {
  const std::int16_t* weights = group.weights;
  const std::size_t vl = group.vl;
  const auto words = [=](std::int64_t at) __attribute__((always_inline)) {
    return __riscv_vsext_vf2_i16m4(__riscv_vle8_v_i8m2(x + at, vl), vl);
  };
  for (; taps >= 2; taps -= 2, offset += 2) {
    const vint16m8_t both = Rows<kWhole>::load(weights, group.row, vl);
    sum = __riscv_vwmacc_vv_i32m8(sum, words(offset[0]), __riscv_vget_v_i16m8_i16m4(both, 0), vl);
    sum = __riscv_vwmacc_vv_i32m8(sum, words(offset[1]), __riscv_vget_v_i16m8_i16m4(both, 1), vl);
  }
  if (taps > 0) sum = __riscv_vwmacc_vv_i32m8(sum, words(offset[0]), __riscv_vle16_v_i16m4(weights, vl), vl);
  return sum;
}

template <class To>
struct DepthwiseColumns {
  template <bool kWhole>
  static void group_of(const Conv* conv, const ConvPlan& plan, const Group& group, const Block& block,
                       std::int64_t frames) noexcept {
    const To to(conv, plan, group);
    const std::int8_t* x = block.x + group.first;
    std::int8_t* y = block.y;
    for (; frames > 0; --frames, x += block.x_step, y += block.y_step) {
      to(depthwise_sum<kWhole>(group, x, block.offset, plan.runs,
                               __riscv_vle32_v_i32m8(plan.bias + group.first, group.vl)),
         nullptr, y);
    }
  }
  static void all(const Conv* conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                  Channels channels) noexcept {
    each_group(
        plan, channels, [&]<bool kWhole>(const Group& group) __attribute__((always_inline)) {
          group_of<kWhole>(conv, plan, group, block, frames);
        });
  }
};

// What run_part() and others of conv_vector.h take.
template <template <class To> class Form, bool kSum>
struct Kernel {
  using Element = std::int8_t;
  static void frames(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                     Channels channels) noexcept {
    if (!plan.plain)
      Form<ToAny<kSum>>::all(&conv, plan, block, frames, channels);
    else if (plan.shift_stride == 0)
      Form<ToPlain<kSum, true>>::all(&conv, plan, block, frames, channels);
    else
      Form<ToPlain<kSum, false>>::all(&conv, plan, block, frames, channels);
  }
};

[[gnu::always_inline]] inline Block one_position(const ConvPlan& plan, const void* x, const void* addend,
                                                 void* y) noexcept {
  return {static_cast<const std::int8_t*>(x),      0, plan.run_offset, static_cast<std::int8_t*>(y), 0,
          static_cast<const std::int8_t*>(addend), 0};
}
template <bool kSum, bool kEqual>
void dense_single(const void* of, const void* x, const void* addend, void* y) noexcept {
  const auto& plan = *static_cast<const ConvPlan*>(of);
  DenseColumns<ToPlain<kSum, kEqual>>::one(plan, one_position(plan, x, addend, y));
}
template <bool kEqual>
void depthwise_single(const void* of, const void* x, const void*, void* y) noexcept {
  const auto& plan = *static_cast<const ConvPlan*>(of);
  DepthwiseColumns<ToPlain<false, kEqual>>::all(nullptr, plan, one_position(plan, x, nullptr, y), 1,
                                                Channels{0, plan.out_channels});
}

using DensePlain = Kernel<DenseColumns, false>;
using DenseSum = Kernel<DenseColumns, true>;
using DepthwisePlain = Kernel<DepthwiseColumns, false>;
constexpr VectorKernels kDense = {
    run<DensePlain>,      {dense_single<false, false>, dense_single<false, true>},
    run_part<DensePlain>, run_rows<DensePlain>,
    run_add<DenseSum>,    {dense_single<true, false>, dense_single<true, true>},
    run_part<DenseSum>,   run_rows<DenseSum>};
constexpr VectorKernels kDepthwise = {run<DepthwisePlain>,
                                      {depthwise_single<false>, depthwise_single<true>},
                                      run_part<DepthwisePlain>,
                                      run_rows<DepthwisePlain>,
                                      run_then_add<DepthwisePlain>,
                                      {},
                                      run_part_then_add<DepthwisePlain>,
                                      nullptr};
constexpr VectorConv kConv = {kDense, kDense, kDepthwise, kDepthwise};

}  // namespace

std::int32_t conv_group_rvv() noexcept { return group_lanes(); }
const VectorConv& vector_conv_rvv() noexcept { return kConv; }

}  // namespace runnel::kernels
