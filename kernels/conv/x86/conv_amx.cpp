// Dense convolutions in AMX tiles of 16 positions by 16 output channels; AVX512_VNNI takes fewer positions
// and depthwise convolutions.
//
// tdpbssd multiplies a tile of 16 rows (positions) of 64 bytes (inputs) by one of 16 rows (4 inputs each) of
// 16 channels: 16,384 signed multiply-adds in 16 cycles. ConvPlan's order of weights fits such tiles: 16
// quads are their rows. The floor of 64 x 64 is 64 cycles per 16 positions, an eighth of vpdpbusd's.
// Requantization, about six instructions and as many loads for 64 channels of a position on two ports, takes
// as long again and overlaps the next tile's multiplication.
#include "kernels/conv/conv_vector.h"
#include "kernels/conv/x86/conv_vnni.h"

namespace runnel::kernels {
namespace {

constexpr int kRows = 16;

// Tiles 0..3 are the sums of up to 4 vectors of channels, 4 and 5 the inputs and weights of 16 quads, 6 and 7
// those of the remaining quads.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {kRows, kRows, kRows, kRows, kRows, 16};
};

// The compiler does not know that tile loads read memory.
RUNNEL_VECTOR void after_stores() noexcept { __asm__ volatile("" ::: "memory"); }

template <int kVectors>
[[gnu::always_inline]] inline void clear_sums() noexcept {
  _tile_zero(0);
  if constexpr (kVectors > 1) _tile_zero(1);
  if constexpr (kVectors > 2) _tile_zero(2);
  if constexpr (kVectors > 3) _tile_zero(3);
}

template <int kVectors>
[[gnu::always_inline]] inline void store_sums(std::int32_t* sums) noexcept {
  constexpr long kStep = kVectors * 64;
  _tile_stored(0, sums, kStep);
  if constexpr (kVectors > 1) _tile_stored(1, sums + 16, kStep);
  if constexpr (kVectors > 2) _tile_stored(2, sums + 32, kStep);
  if constexpr (kVectors > 3) _tile_stored(3, sums + 48, kStep);
}

template <int kVectors>
[[gnu::always_inline]] inline void add_quads(const std::int8_t* x, long x_step,
                                             const std::int8_t* weights) noexcept {
  constexpr long kStep = kVectors * 64;
  _tile_loadd(4, x, x_step);
  _tile_loadd(5, weights, kStep);
  _tile_dpbssd(0, 4, 5);
  if constexpr (kVectors > 1) {
    _tile_loadd(5, weights + 64, kStep);
    _tile_dpbssd(1, 4, 5);
  }
  if constexpr (kVectors > 2) {
    _tile_loadd(5, weights + 128, kStep);
    _tile_dpbssd(2, 4, 5);
  }
  if constexpr (kVectors > 3) {
    _tile_loadd(5, weights + 192, kStep);
    _tile_dpbssd(3, 4, 5);
  }
}

template <int kVectors>
[[gnu::always_inline]] inline void add_rest(const std::int8_t* x, long x_step,
                                            const std::int8_t* weights) noexcept {
  constexpr long kStep = kVectors * 64;
  _tile_loadd(6, x, x_step);
  _tile_loadd(7, weights, kStep);
  _tile_dpbssd(0, 6, 7);
  if constexpr (kVectors > 1) {
    _tile_loadd(7, weights + 64, kStep);
    _tile_dpbssd(1, 6, 7);
  }
  if constexpr (kVectors > 2) {
    _tile_loadd(7, weights + 128, kStep);
    _tile_dpbssd(2, 6, 7);
  }
  if constexpr (kVectors > 3) {
    _tile_loadd(7, weights + 192, kStep);
    _tile_dpbssd(3, 6, 7);
  }
}

// The sums of 16 positions, [position][vector][lane].
template <int kVectors>
[[gnu::always_inline]] inline void multiply(const ConvPlan& plan, const Block& block,
                                            const std::int8_t* weights, std::int32_t* sums) noexcept {
  clear_sums<kVectors>();
  const std::int32_t rest = plan.quads % 16;
  for (std::int32_t run = 0; run < plan.runs; ++run) {
    const std::int8_t* x = block.x + block.offset[run];
    for (std::int32_t quad = 16; quad <= plan.quads; quad += 16) {
      add_quads<kVectors>(x, block.x_step, weights);
      x += 64;
      weights += kVectors * 16 * 64;
    }
    if (rest != 0) {
      add_rest<kVectors>(x, block.x_step, weights);
      weights += kVectors * rest * 64;
    }
  }
  store_sums<kVectors>(sums);
}

// As dense_group, for `tiles` times 16 positions.
template <int kVectors, class Finisher>
[[gnu::noinline]] void tile_group(const Conv& conv, const ConvPlan& plan, Block block, std::int64_t tiles,
                                  const std::int8_t* weights, std::int64_t lane, std::int32_t first,
                                  std::int32_t count) noexcept {
  alignas(64) std::int32_t sums[2][kRows * kVectors * 16];
  const Finisher finish(conv, plan, lane, first, count);
  __m512i bias[kVectors];
  RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) bias[v] =
      _mm512_load_si512(plan.tile_bias + lane + v * 16);
  const auto finish_tile = [&](const std::int32_t* sum, std::int64_t tile) __attribute__((always_inline)) {
    std::int8_t* y = block.y + tile * kRows * block.y_step;
    const std::int8_t* addend = Finisher::kAdds ? block.addend + tile * kRows * block.addend_step : nullptr;
    for (int row = 0; row < kRows; ++row, sum += kVectors * 16, y += block.y_step) {
      __m512i sums_of_row[kVectors];
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) sums_of_row[v] =
          _mm512_add_epi32(_mm512_load_si512(sum + v * 16), bias[v]);
      finish(sums_of_row, y, addend);
      if constexpr (Finisher::kAdds) addend += block.addend_step;
    }
  };
  after_stores();
  for (std::int64_t tile = 0; tile < tiles; ++tile, block.x += kRows * block.x_step) {
    multiply<kVectors>(plan, block, weights, sums[tile % 2]);
    if (tile > 0) finish_tile(sums[(tile - 1) % 2], tile - 1);
  }
  finish_tile(sums[(tiles - 1) % 2], tiles - 1);
}

template <bool kSum, int kVectors>
void tile_group_of(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t tiles,
                   const std::int8_t* weights, std::int32_t first, std::int32_t count) noexcept {
  if (kVectors == 4 && plan.plain && count == 64) {
    if constexpr (kVectors == 4) {
      if (plan.shift_stride == 0)
        tile_group<4, PlainHalfUp<Avx512, kSum, true>>(conv, plan, block, tiles, weights, first, first,
                                                       count);
      else
        tile_group<4, PlainHalfUp<Avx512, kSum, false>>(conv, plan, block, tiles, weights, first, first,
                                                        count);
    }
  } else if (plan.finish == Finish::half_up) {
    tile_group<kVectors, HalfUp<Avx512, kVectors, kSum>>(conv, plan, block, tiles, weights, first, first,
                                                         count);
  } else {
    tile_group<kVectors, AnyRounding<Avx512, kVectors, kSum>>(conv, plan, block, tiles, weights, first, first,
                                                              count);
  }
}

template <class Dot, bool kSum>
struct TiledDense {
  using Element = std::int8_t;
  static void frames(const Conv& conv, const ConvPlan& plan, Block block, std::int64_t frames,
                     Channels channels) noexcept {
    const std::int64_t tiles = plan.tile_bias == nullptr ? 0 : frames / kRows;
    if (tiles > 0) {
      all_groups(conv, plan, block, tiles, channels);
      block.x += tiles * kRows * block.x_step;
      block.y += tiles * kRows * block.y_step;
      if constexpr (kSum) block.addend += tiles * kRows * block.addend_step;
    }
    if (frames > tiles * kRows)
      Dense<Avx512, Dot, kSum>::frames(conv, plan, block, frames - tiles * kRows, channels);
  }
  static void all_groups(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t tiles,
                         Channels channels) noexcept {
    TileShapes shapes;
    const std::int32_t rest = plan.quads % 16;
    if (rest != 0) {
      shapes.rows[6] = kRows, shapes.row_bytes[6] = static_cast<std::uint16_t>(rest * 4);
      shapes.rows[7] = static_cast<std::uint8_t>(rest), shapes.row_bytes[7] = 64;
    }
    after_stores();
    _tile_loadconfig(&shapes);
    const std::int8_t* weights = plan.weights + channels.first / 64 * plan.group_weights;
    for (std::int32_t first = channels.first; first < channels.last;
         first += 64, weights += plan.group_weights) {
      const std::int32_t count = channels.last - first < 64 ? channels.last - first : 64;
      switch ((count + 15) / 16) {
        case 4:
          tile_group_of<kSum, 4>(conv, plan, block, tiles, weights, first, count);
          break;
        case 3:
          tile_group_of<kSum, 3>(conv, plan, block, tiles, weights, first, count);
          break;
        case 2:
          tile_group_of<kSum, 2>(conv, plan, block, tiles, weights, first, count);
          break;
        default:
          tile_group_of<kSum, 1>(conv, plan, block, tiles, weights, first, count);
          break;
      }
    }
    // So that the operating system has nothing to save.
    _tile_release();
  }
};

template <class Dot>
VectorKernels tiled(const VectorKernels& vnni) noexcept {
  using Plain = TiledDense<Dot, false>;
  using Sum = TiledDense<Dot, true>;
  VectorKernels kernels = vnni;
  kernels.any = run<Plain>, kernels.part = run_part<Plain>, kernels.rows = run_rows<Plain>;
  kernels.any_add = run_add<Sum>, kernels.part_add = run_part<Sum>, kernels.rows_add = run_rows<Sum>;
  return kernels;
}

}  // namespace

VectorConv vector_conv_amx() noexcept {
  VectorConv conv = vector_conv_avx512vnni();
  conv.dense_unsigned = tiled<Unsigned>(conv.dense_unsigned);
  conv.dense_signed = tiled<Signed>(conv.dense_signed);
  return conv;
}

}  // namespace runnel::kernels
