// Plans that the vector convolutions prepare and share. Only data and ordinary functions: files compiled for
// newer instructions include this header, and their inline functions must not reach the rest of the program.
#pragma once

#include "kernels/conv/conv.h"

namespace runnel::kernels {

// How int32 accumulators become results without leaving the vector unit; `scalar` calls finish_scalar.
enum class Finish : std::uint8_t { half_up, half_even, tflite_double, single, scalar };

// Additional plan of a convolution of int16 data, which accumulates in int64; lanes in plain order. Its
// `runs` are so short that the sum of their products fits into int32 for every input; weights: [group of
// lanes][run][pair][lane][2 inputs]. run_offset, patch_run and patch_tap count elements. Depthwise: pairs are
// of taps; run_offset and patch_run have an entry for each tap of each pair.
struct Wide {
  const std::int64_t* bias;   // per lane, plus the half for rounding when `shifts`
  const std::int64_t* shift;  // per lane
  const std::int64_t* mask;   // per lane: the bits that are shifted out; all ones where there are none
  const std::int32_t* pairs;  // per run
  bool shifts;                // rounding by shift, without zero point: vectors can do it
  bool even;                  // half_even
};

// Plan of a convolution of int8 data with groups == 1 (dense) or groups == channels (depthwise).
//
// Kernels compute output channels in groups of 4 vectors of int32 lanes (64 channels for AVX-512, 32
// for AVX2, 16 for AArch64 and WebAssembly; for RISC-V a quarter of the bits of a register: 32 for 128).
// Lanes of a whole group are in the order that packing instructions undo: lane l of vector v holds channel 16
// * (l / 4) + 4 * v + l % 4. The dense kernel's last group has as many vectors as it needs; fewer than 4 are
// in plain order.
struct alignas(64) ConvPlan {
  // All that a single position needs (conv_single.h), in one cache line: a stream of single frames visits
  // many plans per step.
  const std::int8_t* weights;  // see below
  const std::int32_t* bias;    // per lane, with every constant term added
  const std::int32_t* shift;   // per lane; a single vector for all when shift_stride is 0
  std::int64_t run_step;       // distance of the pieces of a window in x, where it is the same for all
  // Dense: a window is `runs` pieces of memory of `quads` * 4 bytes each; weights beyond a piece's data are
  // zero. Depthwise: `runs` taps.
  std::int32_t runs, quads;
  std::int32_t out_channels;
  std::int32_t equal_shift;                    // of all lanes, when shift_stride is 0
  std::int32_t shift_stride;                   // 0 or 1
  std::int8_t low_bytes[4], sum_low_bytes[4];  // low and sum_low, four times each
  Finish finish;
  bool direct;      // one row of output, all of whose windows are inside x
  bool even_steps;  // run_step is valid
  bool plain;       // half_up, no zero point, no upper clamp but the type's: packing to int8 saturates

  const std::int64_t* run_offset;  // from the window's first element in x, or in its padded copy
  std::int64_t group_weights;      // bytes of one whole group
  std::int32_t zero_point, low, high;
  std::int32_t sum_low, sum_high;

  // A 1x1 convolution without padding and strides is a single row of positions here.
  std::int32_t in_height, in_width, in_channels;
  std::int32_t out_height, out_width;
  std::int32_t kernel_height, kernel_width;
  std::int32_t stride_height, stride_width;
  std::int32_t dilation_height, dilation_width;
  std::int32_t pad_top, pad_left;
  std::int32_t in_zero_point;
  std::int32_t inner, outer;  // output columns [inner, outer) have their whole window inside a row of x
  // Depthwise: positions side by side whose channels fill one group of lanes; 1: none.
  std::int16_t together;
  Isa isa;  // of the kernel
  // Windows are read from a copy of x with its padding around it, where that takes less than patches: its
  // width; 0: patches.
  std::int32_t padded_width;
  // Patches are copies of windows with padding. Where each tap (row by row) goes in one, then the window's
  // pieces in it.
  const std::int64_t* patch_offset;
  std::int64_t patch_bytes;

  // Weights. Dense: [group][run][quad][vector][lane][4 inputs]; depthwise: [group][4 taps][vector][lane][4
  // taps]. Wide weights are int16, each vector followed by a second one: inputs 0 and 2, then inputs 1 and 3.
  // Rows, depthwise only: [group][tap][lane]. Paired weights: a vector of masks, then one of weights. An
  // input is xored with its mask: 0x80 gives x + 128; 0x7f, for one of a pair of weights of equal sign, gives
  // 127 - x, used with the negated weight. Eights, dense only: [group][run][two quads][vector][lane][8
  // inputs]; the second quad of the last two of an odd number is zero. Columns: int16, dense [group][run][4 *
  // quads inputs][vector][lane], depthwise [group][tap][vector][lane], with lanes in plain order and no more
  // vectors than the last group's channels need.

  // One entry per lane.
  const std::int32_t* mask;  // half_even, tflite_double: the bits that are shifted out
  const std::int32_t* multiplier;
  const std::int32_t* nudge;  // added to the product with the multiplier
  const std::int32_t* half;   // single and, in place of nudge and mask, tflite_double: added before the shift
  const std::int32_t* left;   // shifts to the left before the multiplication; null where there are none
  const std::int32_t* channel;    // the output channel of a lane, -1 for none
  const std::int32_t* tile_bias;  // bias for kernels that take signed inputs; null where tiles gain nothing

  const Wide* wide;  // int16 data; null for int8

  [[nodiscard]] const std::int64_t* patch_run() const noexcept {
    return patch_offset + std::int64_t{kernel_height} * kernel_width;
  }
};

inline constexpr int kPatches = 4;  // windows that are staged at a time

// The forms of one kernel. `single`: for streams of single frames (conv_single.h lists the plans). `rows`:
// for direct plans. `_add` and null: see Conv.
struct VectorKernels {
  void (*any)(const Conv& conv, const void* x, void* y, void* scratch) noexcept;
  DirectRun single[2];  // with a shift per channel, with equal ones
  void (*part)(const Conv& conv, const ConvPart& part, const void* x, const void* addend, void* y,
               void* scratch) noexcept;
  void (*rows)(const Conv& conv, const ConvRows& rows) noexcept;
  void (*any_add)(const Conv& conv, const void* x, const void* addend, void* y, void* scratch) noexcept;
  DirectRun single_add[2];
  void (*part_add)(const Conv& conv, const ConvPart& part, const void* x, const void* addend, void* y,
                   void* scratch) noexcept;
  void (*rows_add)(const Conv& conv, const ConvRows& rows) noexcept;
};

// One instruction level. `_unsigned` needs x in 0..127.
struct VectorConv {
  VectorKernels dense_unsigned, dense_signed, depthwise_unsigned, depthwise_signed;
};
// Layout of weights in memory: see ConvPlan.
enum class WeightForm : std::uint8_t { bytes, rows, wide, paired, eights, columns };
// For signed inputs. bytes: dense only; paired: no pair of weights is -128 and -128.
const VectorConv& vector_conv_avx2(WeightForm form) noexcept;
const VectorConv& vector_conv_avx512() noexcept;
const VectorConv& vector_conv_avx512vnni() noexcept;
VectorConv vector_conv_amx() noexcept;

// AArch64. weights_pair: no two weights of a channel are -128 and -128 in the same place of two neighbouring
// quads of a piece, or, depthwise, in two neighbouring taps.
const VectorConv& vector_conv_neon(bool weights_pair) noexcept;
const VectorConv& vector_conv_neondot(bool weights_pair) noexcept;
// form: rows (depthwise), bytes or eights.
const VectorConv& vector_conv_neoni8mm(WeightForm form, bool weights_pair) noexcept;

// WebAssembly. Weights are wide.
const VectorConv& vector_conv_simd128() noexcept;

// RISC-V's vectors, as long as this processor's. Weights are columns.
const VectorConv& vector_conv_rvv() noexcept;

// Puts the fastest vector kernel of at most `isa` (avx2, neon, simd128, rvv or more) into `conv`, or leaves
// `conv` unchanged when none fits. `largest` bounds every accumulator.
Status prepare_vector_conv(Isa isa, std::int64_t largest, Memory& memory, Conv& conv) noexcept;

// Sets the sizes of a plan and what follows from them for positions.
void set_geometry(const ConvSpec& spec, ConvPlan& plan) noexcept;

// Convolutions of int16 data.
struct Conv16Kernels {
  void (*any)(const Conv& conv, const void* x, void* y, void* scratch) noexcept;
  void (*part)(const Conv& conv, const ConvPart& part, const void* x, const void* addend, void* y,
               void* scratch) noexcept;
  void (*rows)(const Conv& conv, const ConvRows& rows) noexcept;
  std::int32_t lanes;
};
Conv16Kernels conv16_avx2(bool depthwise) noexcept;
Conv16Kernels conv16_avx512(bool depthwise) noexcept;

// As prepare_vector_conv, for int16: leaves `conv` unchanged for grouped convolutions that are not depthwise,
// zero points, and weights of which a pair overflows int32.
Status prepare_vector_conv16(Isa isa, Memory& memory, Conv& conv) noexcept;

// y[first + i] = requantized sums[i], for `count` channels. y: channel 0 of the position.
void finish16_scalar(const ConvSpec& spec, const std::int64_t* sums, std::int32_t first, std::int32_t count,
                     std::int16_t* y) noexcept;

// y[channel of a lane] = requantized accumulator, for `lanes` lanes, plus `addend` unless it is null. y,
// addend: channel 0 of the position.
void finish_scalar(const ConvSpec& spec, const std::int32_t* accumulators, const std::int32_t* channel,
                   int lanes, std::int8_t* y, const std::int8_t* addend) noexcept;

}  // namespace runnel::kernels
