// Convolution, depthwise and grouped convolution, and fully connected layers on integers.
//
// Data is frame-major, channels last: x[height][width][channels]. A one-dimensional convolution over time has
// height 1 and time as width; a two-dimensional one has time as height. Fully connected is the 1x1 case.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/dtype.h"
#include "base/memory.h"
#include "base/status.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::kernels {

// Parameters of a convolution. Pointers must stay valid as long as the prepared Conv is used.
struct ConvSpec {
  DType dtype = DType::int8;  // of x, weights and y: int8 or int16
  std::int32_t in_height = 1, in_width = 1, in_channels = 1;
  std::int32_t out_height = 1, out_width = 1, out_channels = 1;
  std::int32_t kernel_height = 1, kernel_width = 1;
  std::int32_t stride_height = 1, stride_width = 1;
  std::int32_t dilation_height = 1, dilation_width = 1;
  // Output (i, j) reads input rows i*stride_height - pad_top + k*dilation_height; rows and columns outside
  // the input are skipped, which equals reading the input's zero point. Right and bottom padding follow from
  // the output size.
  std::int32_t pad_top = 0, pad_left = 0;
  std::int32_t groups = 1;         // in_channels = out_channels = groups: depthwise
  const void* weights = nullptr;   // [out_channels][kernel_height][kernel_width][in_channels / groups]
  const void* bias = nullptr;      // int32 for int8, int64 for int16, [out_channels]; or null
  std::int32_t in_zero_point = 0;  // subtracted from each input value
  Requant requant;
  bool input_non_negative = false;  // every x is known to be >= 0 (after ReLU): allows the u8 x s8 path
  // int8: an element-wise sum fused after the convolution, y = clamp(saturate(convolution) + addend, sum_low,
  // sum_high), where `convolution` is everything above, its own clamp included. Run with run_add.
  bool add = false;
  std::int32_t sum_low = -128, sum_high = 127;
};

// A part of an output: positions [first, last), counted row by row, and channels [first_channel,
// last_channel), whose bounds are multiples of Conv::channel_group or the end. Disjoint parts may be computed
// at the same time, each with its own scratch.
struct ConvPart {
  std::int64_t first = 0, last = 0;
  std::int32_t first_channel = 0, last_channel = 0;
};
inline ConvPart whole_of(const ConvSpec& spec) noexcept {
  return {0, std::int64_t{spec.out_height} * spec.out_width, 0, spec.out_channels};
}

// Many runs of a convolution with one output position, on data at equal distances (in bytes).
struct ConvRows {
  const void* x = nullptr;  // the first one's input
  std::int64_t x_step = 0;
  const void* addend = nullptr;  // for spec.add
  std::int64_t addend_step = 0;
  void* y = nullptr;
  std::int64_t y_step = 0;
  std::int64_t count = 0;
};

// A run of a fully bound kernel; `addend` is null where there is none.
using DirectRun = void (*)(const void* self, const void* x, const void* addend, void* y) noexcept;

// A convolution bound to its kernel. Trivially destructible; valid as long as the Memory it
// was prepared from.
struct Conv {
  // x: the whole input; y: the whole output; scratch: scratch_bytes, 64-byte aligned. x may be READ up to 64
  // bytes past its end (the values do not matter); nothing is written outside y and scratch.
  void (*run)(const Conv& conv, const void* x, void* y, void* scratch) noexcept = nullptr;
  // The same with the sum, for spec.add; `addend` has y's size and does not overlap y.
  void (*run_add)(const Conv& conv, const void* x, const void* addend, void* y,
                  void* scratch) noexcept = nullptr;
  // A part of the output; `addend` is null unless spec.add.
  void (*run_part)(const Conv& conv, const ConvPart& part, const void* x, const void* addend, void* y,
                   void* scratch) noexcept = nullptr;
  // run or run_add of a kernel that needs neither scratch nor `conv`, called as `direct(extra, x, addend,
  // y)`. Null unless the output is one position and this kernel has such a form.
  DirectRun direct = nullptr;
  // Null where the kernel gains nothing from it or the output has more than one position.
  void (*run_rows)(const Conv& conv, const ConvRows& rows) noexcept = nullptr;
  std::int32_t channel_group = 1;
  std::size_t scratch_bytes = 0;
  ConvSpec spec;
  const void* packed = nullptr;  // weights in the kernel's own order, or null when used in place
  const void* extra = nullptr;   // other data that the kernel prepared
};

// Chooses the fastest kernel of at most `isa` that computes exactly what conv_reference does, and packs
// weights into `memory`. Errors: invalid_argument for impossible sizes, groups, zero points, shifts or
// clamps, a missing pointer, a rounding that does not match the presence of a multiplier, or an int64
// accumulator that could overflow; out_of_memory when `memory` is exhausted. Reads the values of weights and
// biases: they must not change afterwards.
Status prepare_conv(const ConvSpec& spec, Isa isa, Memory& memory, Conv& conv) noexcept;
// What prepare_conv chose.
KernelChoice kernel_choice(const Conv& conv) noexcept;

// The largest |accumulator| of any input, over all output channels. Error: invalid_argument when an
// int64 could overflow.
Status largest_accumulator(const ConvSpec& spec, std::int64_t& largest) noexcept;

// The specification: plain loops, int64 accumulation.
void conv_reference(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept;
inline void conv_reference(const ConvSpec& spec, const void* x, void* y) noexcept {
  conv_reference(spec, whole_of(spec), x, y);
}
// The sum after it: y holds the convolution's results and is overwritten.
void conv_add_reference(const ConvSpec& spec, const ConvPart& part, const void* addend, void* y) noexcept;
inline void conv_add_reference(const ConvSpec& spec, const void* addend, void* y) noexcept {
  conv_add_reference(spec, whole_of(spec), addend, y);
}

// Multiply-adds of one run.
std::int64_t macs(const ConvSpec& spec) noexcept;

}  // namespace runnel::kernels
