// What operations of an Ethos-U85 have beyond those of the older devices.
#pragma once

#include <cstdint>

namespace runnel::npu::u85 {

// The operation's `mode`.
enum class PoolMode : std::uint8_t { max, average, reduce_sum, sum, none, min, argmax_x, argmax_y };
enum class ElementwiseMode : std::uint8_t {
  mul,
  add,
  sub,
  min,
  max,
  leaky_relu,
  abs,
  clz,
  shr,
  shl,
  lsr,
  div,
  equal = 16,
  not_equal,
  greater_equal,
  greater,
  bit_and = 33,
  bit_or,
  bit_xor,
  bit_not,
  bit_and_not = 42
};
enum class ResizeMode : std::uint8_t { bilinear, replicate, nearest };

enum class Rounding : std::uint8_t {
  double_symmetric,
  natural,
  double_asymmetric,
  symmetric,
  to_zero,
  to_lower
};

// value * multiplier / 2^shift (rounding.h).
struct Scale {
  std::uint32_t multiplier = 1;
  std::uint8_t shift = 0;
  std::uint8_t double_round = 0;  // the bits that a first rounding does not see
  Rounding rounding = Rounding::natural;
};

enum class Function : std::uint8_t {
  none,
  u8_u8 = 1,
  s8_s8 = 4,
  s8_s16 = 5,
  s8_s32 = 7,
  s16_s16 = 8,
  s16_s32 = 9,
  tanh = 10,
  sigmoid = 11
};
enum class AccumulatorStart : std::uint8_t { zero, keep, ifm2 };
enum class Axis : std::uint8_t { none, height, width, depth };
// Axes of the stored map, in terms of the computed one: whc is stored as [width][height][depth].
enum class Transpose : std::uint8_t { hwc, whc, hcw, wch, chw = 6, cwh };

// Along one axis: output i reads position i * (whole * denominator + part) + offset, in units of
// 1 / denominator.
struct ResizeAxis {
  std::int32_t denominator = 1, offset = 0, whole = 0, part = 0;
};

// One end of a copy: bytes from one row and one plane to the next; `indexed`: numbers from memory replace
// those of the rows.
struct CopyEnd {
  std::int64_t row = 0, plane = 0;
  bool indexed = false;
};

struct Fields {
  // Bits 0 to 2 of the first operand along height, width, depth (of the second: Operation::broadcast).
  std::uint8_t first_broadcast = 0;
  bool first_scalar = false;
  std::int32_t scalar = 0;
  Scale ofm_scale, ifm_scale, ifm2_scale;
  Transpose transpose = Transpose::hwc;
  Axis reversed = Axis::none;
  AccumulatorStart start = AccumulatorStart::zero;
  bool silent = false;          // accumulators only, no output
  bool second_weights = false;  // a convolution whose weights are the second map
  bool clips = true;
  Function function = Function::none;
  std::uint8_t table = 0;  // number, in units of the function's table size
  bool fast_weights = false, sparse_weights = false;
  ResizeAxis rows, columns;
  CopyEnd source, target;
  std::uint8_t index_region = 0;
  std::int64_t index_address = 0, index_skip = 0;  // bytes; skipped after each plane
  std::int64_t index_most = 0;
  std::int64_t jump = 0;  // target of a branch: byte of the stream
  bool kept = false;      // set by mark_kept: a later operation starts from these accumulators

  // Widths of accumulators and of what chained maps may hold follow Operation::acc_format: 0: 32 bits, 1: 48.
};

inline constexpr std::int64_t kTableMemory = 2048;
inline constexpr int kChains = 6;

// Bytes of a table.
constexpr std::int64_t table_size(Function function) noexcept {
  switch (function) {
    case Function::none:
      return 0;
    case Function::u8_u8:
    case Function::s8_s8:
      return 256;
    case Function::s8_s16:
      return 512;
    case Function::s8_s32:
      return 1024;
    default:
      return 2048;
  }
}

}  // namespace runnel::npu::u85
