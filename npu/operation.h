// One operation of a command stream, with the state of its registers at that point. The disassembler prints
// it, the validator judges it and the simulator runs it.
#pragma once

#include <cstdint>

#include "npu/registers.h"
#include "npu/u85/fields.h"

namespace runnel::npu {

enum class OperationKind : std::uint8_t {
  conv,
  depthwise,
  pool,
  elementwise,
  resize,
  dma,
  kernel_wait,
  dma_wait,
  irq,
  pmu_mask,
  branch,
  stop
};
enum class PoolMode : std::uint8_t { max, average, reduce_sum };
enum class ElementwiseMode : std::uint8_t { mul, add, sub, min, max, leaky_relu, abs, clz, shr, shl };
enum class Layout : std::uint8_t { nhwc, nhcwb16 };
enum class Rounding : std::uint8_t { tfl, truncate, natural };
// Where a map is. U85: also in three tiles above each other, in a buffer between two operations of a chain,
// or nowhere (a scalar, or a result that is not stored).
enum class Storage : std::uint8_t { tiles_2x2, tiles_3x1, chained, none };
enum class Upscale : std::uint8_t { none, nearest, zeros };

// Limits of every Ethos-U: each size of a map of elements; the shift right and left of a scale, whose factor
// has kMultiplierBits bits.
inline constexpr std::int32_t kMaxSize = 65536;
inline constexpr int kMaxShift = 63, kMaxLeft = 31, kMultiplierBits = 31;

// Three-dimensional maps of elements, in up to four tiles that meet at one point: 0 top left, 1 right of it,
// 2 and 3 below.
struct FeatureMap {
  std::int32_t height = 0, width = 0,
               depth = 0;    // as the operation needs it; each 1 to 65,536 in a valid stream
  std::uint8_t element = 1;  // bytes: 1, 2, 4; U85: 8, too
  bool is_signed = false;
  Layout layout = Layout::nhwc;
  Storage storage = Storage::tiles_2x2;
  std::uint8_t region = 0;  // of a chained map: the number of the buffer
  std::int32_t zero_point = 0;
  std::int32_t width0 = 0, height0 = 0,
               height1 = 0;   // columns of tiles 0 and 2, 0: not in memory; rows of tile 0; rows of tile 1
  std::int64_t base[4] = {};  // bytes from the region's begin
  std::int64_t stride_y = 0, stride_x = 0,
               stride_c = 0;  // bytes; c: from one brick of 16 channels to the next (nhcwb16)
};

struct Kernel {
  std::int32_t height = 1, width = 1;  // with dilation
  std::int32_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
  bool part_kernel = false;                               // order of the weights
  std::int32_t top = 0, left = 0, bottom = 0, right = 0;  // padding

  [[nodiscard]] std::int32_t taps_y() const noexcept { return (height - 1) / dilation_y + 1; }
  [[nodiscard]] std::int32_t taps_x() const noexcept { return (width - 1) / dilation_x + 1; }
};

struct Scale {
  std::uint32_t multiplier = 1;
  std::uint8_t shift = 0;
};

// Bytes of a region.
struct Bytes {
  std::int64_t base = 0;
  std::int64_t length = 0;
};

struct Activation {
  static constexpr std::uint16_t kNone = 0, kTanh = 3, kSigmoid = 4, kFirstTable = 16, kTables = 8;
  std::uint16_t function = kNone;
  std::uint8_t clip = 0;  // 0: by the output's type; 2: uint8; 3: int8; 5: int16
  std::int32_t low = 0, high = 0;

  [[nodiscard]] bool table() const noexcept {
    return function >= kFirstTable && function < kFirstTable + kTables;
  }
  [[nodiscard]] int slot() const noexcept { return function - kFirstTable; }
};

// One end of a copy: in a region, or in the accelerator's own memory.
struct DmaPlace {
  std::uint8_t region = 0;
  bool internal = false;
  std::uint8_t dimensions = 1;
  std::int64_t address = 0;
};
struct Dma {
  DmaPlace source, target;
  std::int64_t length = 0;  // bytes in a row
  std::int64_t rows = 1, planes = 1;
  std::int64_t skip0 = 0,
               skip1 = 0;  // bytes that multi-dimensional ends skip after each row and each plane
};

struct Operation {
  Product product = Product::u55;  // of the stream
  OperationKind kind = OperationKind::stop;
  std::uint8_t mode = 0;    // as in PoolMode, ElementwiseMode; of a U85 as in u85::PoolMode, ...
  std::uint16_t param = 0;  // of the command: how many may be outstanding, masks
  std::uint32_t word = 0;   // of the command in the stream
  std::uint32_t index = 0;  // of the operation in the stream

  FeatureMap ifm, ifm2, ofm;
  bool has_ifm2 = false;                  // there is a second operand, in memory or a scalar
  bool scalar = false, reversed = false;  // the second operand is `ifm2_scalar`; operands change places
  std::int32_t ifm2_scalar = 0;
  std::uint8_t broadcast = 0;  // bits 0 to 2: of ifm2 along height, width, depth
  Upscale upscale = Upscale::none;
  Kernel kernel;
  std::uint8_t weight_region = 0, scale_region = 0;
  std::int32_t cores = 1;  // that share the output's channels, each with its own streams
  Bytes weights[4], scales[2];
  bool has_scales = false;
  bool global_scale = false;  // ofm_scale instead of one scale for each channel
  Scale ofm_scale, opa_scale, opb_scale;
  std::uint8_t operand_to_scale = 0;
  Rounding rounding = Rounding::tfl;
  Activation activation;
  // The block; only its depth affects the result.
  std::int32_t block_height = 0, block_width = 0, block_depth = 0;
  std::int32_t ib_end = 0, ab_start = 0, ifm2_ib_start = 0;
  std::uint8_t acc_format = 0;
  std::uint8_t microblock = 0;  // U85: which of its micro-blocks (u85/configuration.h)
  std::uint8_t block_dependency = 0;
  Dma dma;
  u85::Fields u85;

  [[nodiscard]] bool computes() const noexcept { return kind <= OperationKind::resize; }
  [[nodiscard]] PoolMode pool() const noexcept { return static_cast<PoolMode>(mode); }
  [[nodiscard]] ElementwiseMode elementwise() const noexcept { return static_cast<ElementwiseMode>(mode); }
  [[nodiscard]] bool is(PoolMode wanted) const noexcept {
    return kind == OperationKind::pool && pool() == wanted;
  }
  [[nodiscard]] bool is(ElementwiseMode wanted) const noexcept {
    return kind == OperationKind::elementwise && elementwise() == wanted;
  }
  // 32-bit results without a table have neither zero point nor limits.
  [[nodiscard]] bool raw_output() const noexcept { return ofm.element == 4 && !activation.table(); }
};

// Whether it has weights and scales.
constexpr bool convolves(const Operation& op) noexcept {
  return op.kind == OperationKind::conv || op.kind == OperationKind::depthwise;
}

// Whether they are in streams of their own, not in the second map.
constexpr bool reads_weights(const Operation& op) noexcept { return convolves(op) && !op.u85.second_weights; }

// Bytes of a region that a map may touch: [low, high).
struct Extent {
  std::int64_t low = 0, high = 0;
};
// Includes every tile that is reached.
Extent extent_of(const FeatureMap& map) noexcept;
// A U85's output as it is stored: transposed.
FeatureMap stored_output(const Operation& op) noexcept;
// Of one end of a copy.
Extent extent_of(const Dma& dma, const DmaPlace& place) noexcept;
// First byte of position (y, x); channel c is c elements after it, or in bricks (stride_c).
inline std::int64_t address_of(const FeatureMap& map, std::int32_t y, std::int32_t x) noexcept {
  if (map.storage == Storage::tiles_3x1) {
    const int tile = y < map.height0 ? 0 : y - map.height0 < map.height1 ? 1 : 2;
    const std::int32_t first = tile == 0 ? 0 : tile == 1 ? map.height0 : map.height0 + map.height1;
    return map.base[tile] + std::int64_t{y - first} * map.stride_y +
           std::int64_t{x} * (map.layout == Layout::nhwc ? map.stride_x : 16 * std::int64_t{map.element});
  }
  const bool right = x >= map.width0;
  const std::int32_t rows = right ? map.height1 : map.height0;
  const bool below = y >= rows;
  return map.base[(below ? 2 : 0) + (right ? 1 : 0)] +
         static_cast<std::int64_t>(below ? y - rows : y) * map.stride_y +
         static_cast<std::int64_t>(right ? x - map.width0 : x) *
             (map.layout == Layout::nhwc ? map.stride_x : 16 * std::int64_t{map.element});
}
// "CONV", "MAX", "MUL", "DMA", ...: the operation; for pooling and element-wise ones, their mode.
std::string_view name_of(const Operation& op) noexcept;

}  // namespace runnel::npu
