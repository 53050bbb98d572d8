// Packs weights and per-lane constants for the vector convolutions.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#if defined(RUNNEL_KERNELS_RVV)
#include "kernels/conv/rvv/conv_rvv.h"
#endif

namespace runnel::kernels {
namespace {

// The weight of a pair whose input is taken as 127 - x: 0, 1 or none.
int turned(const std::int8_t* pair) noexcept {
  if (pair[0] * pair[1] <= 0) return -1;
  return pair[1] == -128 ? 0 : 1;
}

// Whether lanes are channels in their order, whatever their number.
#if defined(RUNNEL_KERNELS_RVV)
constexpr bool kPlainOrder = true;
#else
constexpr bool kPlainOrder = false;
#endif

struct Packing {
  const ConvSpec& spec;
  const ConvPlan& plan;
  bool depthwise;
  std::int64_t run_bytes;  // of a window's piece
  WeightForm form;
  bool offset_input;   // the kernel adds 128 to each input to make it unsigned
  std::int32_t lanes;  // int32 lanes of a vector: 4, 8 or 16; RISC-V: a quarter of a group's
  [[nodiscard]] std::int32_t group() const noexcept { return 4 * lanes; }
  // Vectors of the group that starts at `first`.
  [[nodiscard]] std::int32_t vectors(std::int32_t first) const noexcept {
    const std::int32_t rest = spec.out_channels - first;
    return (depthwise && !kPlainOrder) || rest >= group() ? 4 : (rest + lanes - 1) / lanes;
  }
  // The channel of a lane, or -1.
  [[nodiscard]] std::int32_t channel(std::int32_t first, std::int32_t vector,
                                     std::int32_t lane) const noexcept {
    const bool packed_order = !kPlainOrder && vectors(first) == 4;
    const std::int32_t channel =
        first + (packed_order ? 16 * (lane / 4) + 4 * vector + lane % 4 : vector * lanes + lane);
    if (channel < spec.out_channels) return channel;
    return channel < plan.together * spec.out_channels ? channel % spec.out_channels : -1;
  }
  [[nodiscard]] std::int64_t vector_bytes() const noexcept {
    const bool twice = form == WeightForm::wide || form == WeightForm::paired || form == WeightForm::columns;
    return std::int64_t{lanes} * (twice ? 8 : 4);
  }
  // Quads of a run (depthwise: of a channel) for which there are weights.
  [[nodiscard]] std::int64_t packed_quads() const noexcept {
    return form == WeightForm::eights ? (std::int64_t{plan.quads} + 1) / 2 * 2 : plan.quads;
  }
  // visit(index, four): a channel's weights in fours, as kernels take them.
  template <class Visit>
  void each_four(std::int32_t channel, Visit visit) const noexcept {
    const std::int64_t runs = depthwise ? 1 : plan.runs, bytes = depthwise ? plan.runs : run_bytes;
    const auto* const weights = static_cast<const std::int8_t*>(spec.weights) + channel * runs * bytes;
    std::int64_t index = 0;
    for (std::int64_t run = 0; run < runs; ++run) {
      for (std::int64_t at = 0; at < bytes; at += 4, ++index) {
        std::int8_t four[4] = {};
        std::memcpy(four, weights + run * bytes + at,
                    static_cast<std::size_t>(std::min<std::int64_t>(bytes - at, 4)));
        visit(index, four);
      }
    }
  }
  // Places four weights of one lane; `quad` is the start of its vector.
  void place(std::int8_t* quad, std::int32_t lane, const std::int8_t* four) const noexcept {
    std::int8_t* const second = quad + lanes * 4;
    if (form == WeightForm::bytes) {
      std::memcpy(quad + lane * 4, four, 4);
    } else if (form == WeightForm::wide) {
      const std::int16_t even[2] = {four[0], four[2]};
      const std::int16_t odd[2] = {four[1], four[3]};
      std::memcpy(quad + lane * 4, even, 4);
      std::memcpy(second + lane * 4, odd, 4);
    } else {
      std::int8_t mask[4] = {-128, -128, -128, -128}, weight[4] = {four[0], four[1], four[2], four[3]};
      for (int pair = 0; pair < 4; pair += 2) {
        const int turns = turned(four + pair);
        if (turns < 0) continue;
        mask[pair + turns] = 127;
        weight[pair + turns] = static_cast<std::int8_t>(-four[pair + turns]);
      }
      std::memcpy(quad + lane * 4, mask, 4);
      std::memcpy(second + lane * 4, weight, 4);
    }
  }
  // The term to add to a channel's sum because kernels take 0, x + 128 or 127 - x as input instead of x.
  [[nodiscard]] std::int64_t correction(std::int32_t channel) const noexcept {
    std::int64_t sum = 0;
    each_four(channel, [&](std::int64_t, const std::int8_t* four) {
      for (int i = 0; i < 4; ++i) {
        if (form == WeightForm::paired)
          sum += turned(four + i / 2 * 2) == i % 2 ? 127 * four[i] : -128 * four[i];
        else if (offset_input)
          sum += -128 * four[i];
      }
    });
    return sum;
  }
};

void pack(const Packing& packing, std::int8_t* out) noexcept {
  for (std::int32_t first = 0; first < packing.spec.out_channels; first += packing.group()) {
    const std::int32_t vectors = packing.vectors(first);
    const std::int64_t four_bytes = vectors * packing.vector_bytes();
    for (std::int32_t vector = 0; vector < vectors; ++vector) {
      for (std::int32_t lane = 0; lane < packing.lanes; ++lane) {
        const std::int32_t channel = packing.channel(first, vector, lane);
        if (channel < 0) continue;
        packing.each_four(channel, [&](std::int64_t index, const std::int8_t* four) {
          std::int8_t* const to = out + index * four_bytes;
          if (packing.form == WeightForm::eights) {
            const std::int64_t run = index / packing.plan.quads, quad = index % packing.plan.quads;
            std::memcpy(out + (run * packing.packed_quads() + quad / 2 * 2) * four_bytes +
                            (vector * packing.lanes + lane) * 8 + quad % 2 * 4,
                        four, 4);
          } else if (packing.form == WeightForm::rows) {
            for (int tap = 0; tap < 4; ++tap) to[(tap * vectors + vector) * packing.lanes + lane] = four[tap];
          } else if (packing.form == WeightForm::columns) {
            for (int i = 0; i < 4; ++i) {
              const std::int16_t weight = four[i];
              std::memcpy(to + ((i * vectors + vector) * packing.lanes + lane) * 2, &weight, sizeof weight);
            }
          } else {
            packing.place(to + vector * packing.vector_bytes(), lane, four);
          }
        });
      }
    }
    out += (packing.depthwise ? 1 : packing.plan.runs) * packing.packed_quads() * four_bytes;
  }
}

// The vector arithmetic is valid for shifts of 0..31, and before a multiplication for left shifts that keep
// all bits; finish_scalar takes others.
Finish choose_finish(const ConvSpec& spec, std::int64_t largest) noexcept {
  const Requant& how = spec.requant;
  for (std::int32_t i = 0; i < how.count; ++i) {
    if (how.shift[i] > 31 || (how.shift[i] < 0 && how.multiplier == nullptr)) return Finish::scalar;
    const int left = how.shift[i] < 0 ? -how.shift[i] : 0;
    const std::int64_t half = how.shift[i] > 0 ? std::int64_t{1} << (how.shift[i] - 1) : 0;
    // 512: room for the zero point.
    if (largest >= std::int64_t{1} << (31 - left) || (largest << left) + half + 512 >= std::int64_t{1} << 31)
      return Finish::scalar;
  }
  switch (how.rounding) {
    case Rounding::half_up:
      return Finish::half_up;
    case Rounding::half_even:
      return Finish::half_even;
    case Rounding::tflite_double:
      return Finish::tflite_double;
    case Rounding::single:
      return Finish::single;
  }
  return Finish::scalar;
}

// Bias - zero_point * sum(w), and the correction of inputs: modulo 2^32, as the kernel adds.
std::int32_t folded_bias(const Packing& packing, std::int32_t channel, bool corrected) noexcept {
  const ConvSpec& spec = packing.spec;
  const std::int64_t inputs =
      std::int64_t{spec.kernel_height} * spec.kernel_width * (spec.in_channels / spec.groups);
  const auto* w = static_cast<const std::int8_t*>(spec.weights) + channel * inputs;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < inputs; ++i) sum += w[i];
  const std::int64_t bias = spec.bias == nullptr ? 0 : static_cast<const std::int32_t*>(spec.bias)[channel];
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(bias - sum * spec.in_zero_point +
                                                              (corrected ? packing.correction(channel) : 0)));
}

// The columns of a lane table that a Finish reads. Others take no memory: the data that a stream of single
// frames visits in a step should fit into the first-level cache.
struct Columns {
  std::int32_t *bias, *shift, *mask, *multiplier, *nudge, *half, *left, *channel;
};

// Equal shifts: the first vector serves all lanes (lanes without a channel do not matter, and are the same
// in all vectors).
bool equal_shifts(const Requant& how) noexcept {
  return std::all_of(how.shift, how.shift + how.count,
                     [&](std::int32_t shift) { return shift == how.shift[0]; });
}

// tflite_double by adding `half` (conv_vector.h).
bool adds_half(const Requant& how) noexcept {
  return how.rounding == Rounding::tflite_double &&
         std::all_of(how.shift, how.shift + how.count, [](std::int32_t shift) { return shift > 0; }) &&
         std::all_of(how.multiplier, how.multiplier + how.count, [](std::int32_t m) { return m >= 0; });
}

bool take_columns(std::int64_t lanes, std::int64_t shift_lanes, Finish finish, bool shifts_left, bool halves,
                  Memory& memory, Columns& columns) noexcept {
  bool complete = true;
  const auto take = [&](std::int64_t count) {
    auto* const column = static_cast<std::int32_t*>(
        memory.allocate(static_cast<std::size_t>(count) * sizeof(std::int32_t), 64));
    complete = complete && column != nullptr;
    if (column != nullptr) std::memset(column, 0, static_cast<std::size_t>(count) * sizeof(std::int32_t));
    return column;
  };
  const bool multiplies = finish == Finish::tflite_double || finish == Finish::single;
  columns = {};
  columns.bias = take(lanes);
  columns.shift = take(shift_lanes);
  if (finish == Finish::half_even || (finish == Finish::tflite_double && !halves)) columns.mask = take(lanes);
  if (multiplies) columns.multiplier = take(lanes);
  if (multiplies && !halves) columns.nudge = take(lanes);
  if (finish == Finish::single || halves) columns.half = take(lanes);
  if (multiplies && shifts_left) columns.left = take(lanes);
  if (finish == Finish::scalar) columns.channel = take(lanes);
  return complete;
}

bool fill_lanes(const Packing& packing, std::int64_t lanes, Memory& memory, ConvPlan& plan) noexcept {
  const Requant& how = packing.spec.requant;
  const bool equal = plan.finish == Finish::scalar || equal_shifts(how);
  plan.shift_stride = equal ? 0 : 1;
  plan.equal_shift = how.shift[0];
  const bool shifts_left = *std::min_element(how.shift, how.shift + how.count) < 0;
  const std::int64_t shift_lanes = equal ? packing.lanes : lanes;
  Columns columns;
  const bool halves = plan.finish == Finish::tflite_double && adds_half(how);
  if (!take_columns(lanes, shift_lanes, plan.finish, shifts_left, halves, memory, columns)) return false;
  std::int64_t at = 0;
  for (std::int32_t first = 0; first < packing.spec.out_channels; first += packing.group()) {
    for (std::int32_t vector = 0; vector < packing.vectors(first); ++vector) {
      for (std::int32_t lane = 0; lane < packing.lanes; ++lane, ++at) {
        const std::int32_t channel = packing.channel(first, vector, lane);
        if (columns.channel != nullptr) columns.channel[at] = channel;
        if (channel < 0) continue;
        columns.bias[at] = folded_bias(packing, channel, true);
        if (plan.finish == Finish::scalar) continue;
        const std::int32_t entry = how.count == 1 ? 0 : channel;
        const std::int32_t shift = std::max(how.shift[entry], 0);
        const std::int32_t half = shift > 0 ? static_cast<std::int32_t>(std::uint32_t{1} << (shift - 1)) : 0;
        const auto mask = static_cast<std::int32_t>((std::uint32_t{1} << shift) - 1);
        if (at < shift_lanes) columns.shift[at] = shift;
        if (how.multiplier == nullptr) {
          columns.bias[at] = static_cast<std::int32_t>(static_cast<std::uint32_t>(columns.bias[at]) +
                                                       static_cast<std::uint32_t>(half));
          // Without a shift there are no ties: a mask of all ones finds none, except for 0, where the
          // correction is harmless.
          if (columns.mask != nullptr) columns.mask[at] = shift > 0 ? mask : -1;
        } else {
          if (columns.mask != nullptr) columns.mask[at] = mask;
          columns.multiplier[at] = how.multiplier[entry];
          if (columns.nudge != nullptr)
            columns.nudge[at] = how.rounding == Rounding::tflite_double || shift == 0 ? 1 << 30 : 0;
          if (columns.half != nullptr) columns.half[at] = half;
          if (columns.left != nullptr) columns.left[at] = std::max(-how.shift[entry], 0);
        }
      }
    }
  }
  plan.bias = columns.bias, plan.shift = columns.shift, plan.mask = columns.mask,
  plan.multiplier = columns.multiplier;
  plan.nudge = columns.nudge, plan.half = columns.half, plan.left = columns.left,
  plan.channel = columns.channel;
  return true;
}

// No pair is -128 and -128: neither weight could be negated.
[[maybe_unused]] bool pairs_fit(const Packing& packing) noexcept {
  bool fit = true;
  for (std::int32_t channel = 0; channel < packing.spec.out_channels; ++channel) {
    packing.each_four(channel, [&](std::int64_t, const std::int8_t* four) {
      fit = fit && (four[0] != -128 || four[1] != -128) && (four[2] != -128 || four[3] != -128);
    });
  }
  return fit;
}

#if defined(RUNNEL_KERNELS_SIMD128)
std::int32_t lanes_of(Isa /*isa*/) noexcept { return 4; }
WeightForm form_of(const Packing& /*packing*/, Isa /*isa*/, bool /*unsigned_input*/) noexcept {
  return WeightForm::wide;
}
bool adds_128(Isa /*isa*/, bool /*unsigned_input*/) noexcept { return false; }
const VectorConv& level_of(const Packing& /*packing*/, Isa /*isa*/) noexcept { return vector_conv_simd128(); }
#elif defined(RUNNEL_KERNELS_RVV)
std::int32_t lanes_of(Isa /*isa*/) noexcept { return conv_group_rvv() / 4; }
WeightForm form_of(const Packing& /*packing*/, Isa /*isa*/, bool /*unsigned_input*/) noexcept {
  return WeightForm::columns;
}
bool adds_128(Isa /*isa*/, bool /*unsigned_input*/) noexcept { return false; }
const VectorConv& level_of(const Packing& /*packing*/, Isa /*isa*/) noexcept { return vector_conv_rvv(); }
#elif defined(RUNNEL_KERNELS_NEON)
// No two weights of a channel are -128 and -128 in the same place of two quads that kernels take together, or
// in two such taps.
bool neighbours_fit(const Packing& packing) noexcept {
  bool fit = true;
  for (std::int32_t channel = 0; channel < packing.spec.out_channels; ++channel) {
    std::int8_t before[4] = {};
    packing.each_four(channel, [&](std::int64_t, const std::int8_t* four) {
      for (int i = 0; i < 4; ++i) fit = fit && (before[i] != -128 || four[i] != -128);
      std::memcpy(before, four, sizeof(before));
    });
  }
  return fit;
}

std::int32_t lanes_of(Isa /*isa*/) noexcept { return 4; }
// Products of matrices take two positions: a single one is dot products.
WeightForm form_of(const Packing& packing, Isa isa, bool /*unsigned_input*/) noexcept {
  if (packing.depthwise) return WeightForm::rows;
  const bool one_position = packing.plan.direct && packing.plan.out_width == 1;
  return isa == Isa::neoni8mm && !one_position ? WeightForm::eights : WeightForm::bytes;
}
bool adds_128(Isa /*isa*/, bool /*unsigned_input*/) noexcept { return false; }
const VectorConv& level_of(const Packing& packing, Isa isa) noexcept {
  const bool fit = packing.depthwise ? pairs_fit(packing) : neighbours_fit(packing);
  if (isa == Isa::neoni8mm) return vector_conv_neoni8mm(packing.form, fit);
  return isa == Isa::neondot ? vector_conv_neondot(fit) : vector_conv_neon(fit);
}
#else
// Paired weights take fewer instructions but twice the memory. They do not suit a single position of whole
// groups, which reads them all from a farther cache, nor long windows, whose weights for two groups of
// channels must stay in the first-level cache from one position to the next.
WeightForm form_for_avx2(const Packing& packing) noexcept {
  const ConvPlan& plan = packing.plan;
  constexpr std::int64_t kPairedBytes = 224;
  const bool one_position =
      plan.direct && plan.out_width == 1 && packing.spec.out_channels % packing.group() == 0;
  const bool gains =
      packing.depthwise || (!one_position && std::int64_t{plan.runs} * plan.quads * 4 <= kPairedBytes);
  if (gains && pairs_fit(packing)) return WeightForm::paired;
  return packing.depthwise ? WeightForm::wide : WeightForm::bytes;
}

std::int32_t lanes_of(Isa isa) noexcept { return isa == Isa::avx2 ? 8 : 16; }
WeightForm form_of(const Packing& packing, Isa isa, bool unsigned_input) noexcept {
  if (unsigned_input || isa >= Isa::avx512vnni) return WeightForm::bytes;
  return isa == Isa::avx2 ? form_for_avx2(packing) : WeightForm::wide;
}
bool adds_128(Isa isa, bool unsigned_input) noexcept { return !unsigned_input && isa >= Isa::avx512vnni; }
VectorConv level_of(const Packing& packing, Isa isa) noexcept {
  if (isa >= Isa::amx) return vector_conv_amx();
  if (isa == Isa::avx512vnni) return vector_conv_avx512vnni();
  return isa == Isa::avx2 ? vector_conv_avx2(packing.form) : vector_conv_avx512();
}
#endif

// Tiles multiply signed inputs directly.
[[maybe_unused]] bool fill_tile_bias(const Packing& packing, std::int64_t lanes, Memory& memory,
                                     ConvPlan& plan) noexcept {
  auto* const column =
      static_cast<std::int32_t*>(memory.allocate(static_cast<std::size_t>(lanes) * sizeof(std::int32_t), 64));
  if (column == nullptr) return false;
  std::int64_t at = 0;
  for (std::int32_t first = 0; first < packing.spec.out_channels; first += packing.group()) {
    for (std::int32_t vector = 0; vector < packing.vectors(first); ++vector) {
      for (std::int32_t lane = 0; lane < packing.lanes; ++lane, ++at) {
        const std::int32_t channel = packing.channel(first, vector, lane);
        const auto offset = channel < 0 ? 0u
                                        : static_cast<std::uint32_t>(folded_bias(packing, channel, false)) -
                                              static_cast<std::uint32_t>(folded_bias(packing, channel, true));
        column[at] = static_cast<std::int32_t>(static_cast<std::uint32_t>(plan.bias[at]) + offset);
      }
    }
  }
  plan.tile_bias = column;
  return true;
}

// The number of multiply-adds from which tiles repay their set-up and their trip through memory; `positions`
// in a row, or any number of rows.
[[maybe_unused]] bool tiles_gain(const ConvPlan& plan) noexcept {
  const bool one_position = plan.direct && plan.out_width == 1;
  return std::int64_t{plan.runs} * plan.quads >= 4 && (one_position || plan.outer - plan.inner >= 16);
}

// Whether to copy the whole of x with its padding instead of each window that reaches into it: a patch costs
// some 20 ns and its bytes, twice. Large images stay where they are: the copy should fit into the
// second-level cache. Sets the copy's width in the plan and returns its bytes; 0: patches.
std::int64_t choose_padding(const ConvSpec& spec, ConvPlan& plan) noexcept {
  constexpr std::int64_t kMost = 256 * 1024, kPatch = 1024;
  const std::int64_t reach_rows = (plan.kernel_height - 1) * std::int64_t{plan.dilation_height} + 1,
                     reach_columns = (plan.kernel_width - 1) * std::int64_t{plan.dilation_width} + 1;
  const std::int64_t rows = (plan.out_height - 1) * std::int64_t{plan.stride_height} + reach_rows;
  const std::int64_t columns = std::max<std::int64_t>(
      (plan.out_width - 1) * std::int64_t{plan.stride_width} + reach_columns, plan.pad_left + plan.in_width);
  if (plan.direct || plan.pad_left < 0 || rows > kMost || columns > kMost || rows * columns > kMost) return 0;
  const std::int64_t bytes = rows * columns * spec.in_channels;
  std::int64_t rows_inside = 0;
  for (std::int64_t row = 0; row < plan.out_height; ++row) {
    const std::int64_t top = row * plan.stride_height - plan.pad_top;
    rows_inside += top >= 0 && top + reach_rows <= plan.in_height ? 1 : 0;
  }
  const std::int64_t patches =
      std::int64_t{plan.out_height} * plan.out_width - rows_inside * (plan.outer - plan.inner);
  const std::int64_t window = std::int64_t{plan.kernel_height} * plan.kernel_width * spec.in_channels;
  if (bytes > kMost || bytes >= patches * (kPatch + 2 * window)) return 0;
  plan.padded_width = static_cast<std::int32_t>(columns);
  return bytes;
}

// Where the pieces of a window are, in x or in its padded copy, and in a patch.
bool fill_offsets(const ConvSpec& spec, bool depthwise, bool merged, Memory& memory,
                  ConvPlan& plan) noexcept {
  const std::int64_t taps = std::int64_t{spec.kernel_height} * spec.kernel_width;
  const std::int64_t width = plan.padded_width > 0 ? plan.padded_width : spec.in_width;
  auto* run_offset = memory.array<std::int64_t>(static_cast<std::size_t>(plan.runs));
  auto* patch_offset =
      plan.direct ? nullptr : memory.array<std::int64_t>(static_cast<std::size_t>(taps + plan.runs));
  if (run_offset == nullptr || (patch_offset == nullptr && !plan.direct)) return false;
  const std::int64_t piece = depthwise ? spec.in_channels : std::int64_t{plan.quads} * 4;
  for (std::int32_t run = 0; run < plan.runs; ++run) {
    const std::int64_t row = merged ? run : run / spec.kernel_width;
    const std::int64_t column = merged ? 0 : run % spec.kernel_width;
    run_offset[run] = (row * spec.dilation_height * width + column * spec.dilation_width) * spec.in_channels;
  }
  plan.run_offset = run_offset;
  plan.run_step = plan.runs > 1 ? run_offset[1] : 0;
  plan.even_steps = true;
  for (std::int32_t run = 0; run < plan.runs; ++run)
    plan.even_steps = plan.even_steps && run_offset[run] == run * plan.run_step;
  for (std::int64_t tap = 0; tap < taps && !plan.direct; ++tap) {
    patch_offset[tap] =
        merged ? tap / spec.kernel_width * piece + tap % spec.kernel_width * spec.in_channels : tap * piece;
  }
  for (std::int64_t run = 0; run < plan.runs && !plan.direct; ++run) patch_offset[taps + run] = run * piece;
  plan.patch_offset = patch_offset;
  plan.patch_bytes =
      static_cast<std::int64_t>(align_up(static_cast<std::size_t>(plan.runs * piece), 64)) + 64;
  return true;
}

void run_direct(const Conv& conv, const void* x, void* y, void* /*scratch*/) noexcept {
  conv.direct(conv.extra, x, nullptr, y);
}
void run_direct_add(const Conv& conv, const void* x, const void* addend, void* y,
                    void* /*scratch*/) noexcept {
  conv.direct(conv.extra, x, addend, y);
}

void find_inner_columns(ConvPlan& plan) noexcept {
  const std::int64_t reach = (plan.kernel_width - 1) * std::int64_t{plan.dilation_width};
  const std::int64_t room = plan.in_width - 1 - reach + plan.pad_left;
  std::int64_t inner = plan.pad_left > 0 ? ceil_div(plan.pad_left, plan.stride_width) : 0;
  std::int64_t outer = room < 0 ? 0 : room / plan.stride_width + 1;
  if (outer > plan.out_width) outer = plan.out_width;
  if (inner > outer) inner = outer;
  plan.inner = static_cast<std::int32_t>(inner);
  plan.outer = static_cast<std::int32_t>(outer);
}

}  // namespace

void set_geometry(const ConvSpec& spec, ConvPlan& plan) noexcept {
  plan.in_height = spec.in_height, plan.in_width = spec.in_width, plan.in_channels = spec.in_channels;
  plan.out_height = spec.out_height, plan.out_width = spec.out_width, plan.out_channels = spec.out_channels;
  plan.kernel_height = spec.kernel_height, plan.kernel_width = spec.kernel_width;
  plan.stride_height = spec.stride_height, plan.stride_width = spec.stride_width;
  plan.dilation_height = spec.dilation_height, plan.dilation_width = spec.dilation_width;
  plan.pad_top = spec.pad_top, plan.pad_left = spec.pad_left;
  const bool one_row = spec.kernel_height == 1 && spec.kernel_width == 1 && spec.stride_height == 1 &&
                       spec.stride_width == 1 && spec.pad_top == 0 && spec.pad_left == 0 &&
                       spec.in_height == spec.out_height && spec.in_width == spec.out_width &&
                       std::int64_t{spec.in_height} * spec.in_width < (1 << 30);
  if (one_row) {
    plan.in_width = plan.out_width = spec.in_height * spec.in_width;
    plan.in_height = plan.out_height = 1;
  }
  find_inner_columns(plan);
  plan.direct = plan.out_height == 1 && plan.pad_top == 0 && plan.pad_left == 0 && plan.inner == 0 &&
                plan.outer == plan.out_width &&
                (plan.kernel_height - 1) * std::int64_t{plan.dilation_height} < plan.in_height;
}

Status prepare_vector_conv(Isa isa, std::int64_t largest, Memory& memory, Conv& conv) noexcept {
  const ConvSpec& spec = conv.spec;
  const bool depthwise =
      spec.groups > 1 && spec.groups == spec.in_channels && spec.groups == spec.out_channels;
  if (spec.groups != 1 && !depthwise) return {};
  // Padding is read as the zero point, which must be non-negative as well.
  const bool unsigned_input = spec.input_non_negative && spec.in_zero_point >= 0;
  const Status exhausted =
      Status(Code::out_of_memory, "convolution: the memory for packed weights is exhausted");

  auto* plan = memory.array<ConvPlan>(1);
  if (plan == nullptr) return exhausted;
  *plan = ConvPlan{};
  set_geometry(spec, *plan);
  plan->isa = isa;
  plan->in_zero_point = spec.in_zero_point;
  plan->zero_point = spec.requant.zero_point, plan->low = spec.requant.low, plan->high = spec.requant.high;
  plan->sum_low = spec.sum_low, plan->sum_high = spec.sum_high;
  std::memset(plan->low_bytes, spec.requant.low, sizeof(plan->low_bytes));
  std::memset(plan->sum_low_bytes, spec.sum_low, sizeof(plan->sum_low_bytes));
  plan->finish = choose_finish(spec, largest);
  plan->plain = plan->finish == Finish::half_up && plan->zero_point == 0 && plan->high == 127 &&
                (!spec.add || plan->sum_high == 127);

  const std::int64_t taps = std::int64_t{spec.kernel_height} * spec.kernel_width;
  const bool merged = !depthwise && spec.dilation_width == 1;
  const std::int64_t runs = merged ? spec.kernel_height : taps;
  const std::int64_t run_bytes =
      merged ? std::int64_t{spec.kernel_width} * spec.in_channels : spec.in_channels;
  const std::int64_t quads = depthwise ? (taps + 3) / 4 : (run_bytes + 3) / 4;
  if (runs > (1 << 30) || quads > (1 << 30)) return {};
  plan->runs = static_cast<std::int32_t>(runs);
  plan->quads = static_cast<std::int32_t>(quads);
  Packing packing{spec,         *plan, depthwise, run_bytes, WeightForm::bytes, adds_128(isa, unsigned_input),
                  lanes_of(isa)};
  packing.form = form_of(packing, isa, unsigned_input);
  // finish_scalar() knows one position at a time.
  plan->together = depthwise && !kPlainOrder && plan->finish != Finish::scalar && spec.stride_width == 1
                       ? std::max(packing.group() / spec.out_channels, 1)
                       : 1;
  const std::int64_t padded = choose_padding(spec, *plan);
  if (!fill_offsets(spec, depthwise, merged, memory, *plan)) return exhausted;

  std::int64_t vectors = 0;
  for (std::int32_t first = 0; first < spec.out_channels; first += packing.group())
    vectors += packing.vectors(first);
  const std::int64_t vector_weights =
      (depthwise ? 1 : runs) * packing.packed_quads() * packing.vector_bytes();
  plan->group_weights = 4 * vector_weights;
  // In the order in which a run reads them, so that prefetching ahead stays right from layer to layer.
  if (!fill_lanes(packing, vectors * packing.lanes, memory, *plan)) return exhausted;
  auto* weights =
      static_cast<std::int8_t*>(memory.allocate(static_cast<std::size_t>(vectors * vector_weights), 64));
  if (weights == nullptr) return exhausted;
  std::memset(weights, 0, static_cast<std::size_t>(vectors * vector_weights));
  pack(packing, weights);
  plan->weights = weights;
  if (isa == Isa::amx && !depthwise && tiles_gain(*plan) &&
      !fill_tile_bias(packing, vectors * packing.lanes, memory, *plan))
    return exhausted;

  conv.packed = weights;
  conv.extra = plan;
  constexpr std::int64_t kSlack = 64;  // kernels read whole vectors
  conv.scratch_bytes = padded > 0 ? align_up(static_cast<std::size_t>(padded + kSlack), 64)
                                  : static_cast<std::size_t>(plan->patch_bytes) * kPatches;
  const VectorConv level = level_of(packing, isa);
  const VectorKernels& kernels = depthwise
                                     ? (unsigned_input ? level.depthwise_unsigned : level.depthwise_signed)
                                     : (unsigned_input ? level.dense_unsigned : level.dense_signed);
  const bool single = plan->direct && plan->out_width == 1 && plan->even_steps && plan->plain;
  if (single) conv.direct = (spec.add ? kernels.single_add : kernels.single)[plan->shift_stride == 0 ? 1 : 0];
  conv.run = conv.direct != nullptr && !spec.add ? run_direct : kernels.any;
  conv.run_add = !spec.add ? nullptr : conv.direct != nullptr ? run_direct_add : kernels.any_add;
  conv.run_part = spec.add ? kernels.part_add : kernels.part;
  const bool one_position = plan->direct && plan->out_width == 1;
  conv.run_rows = !one_position ? nullptr : spec.add ? kernels.rows_add : kernels.rows;
  conv.channel_group = packing.group();
  return {};
}

void finish_scalar(const ConvSpec& spec, const std::int32_t* accumulators, const std::int32_t* channel,
                   int lanes, std::int8_t* y, const std::int8_t* addend) noexcept {
  for (int lane = 0; lane < lanes; ++lane) {
    const std::int32_t c = channel[lane];
    if (c < 0) continue;
    const std::int32_t value = requantize(accumulators[lane], spec.requant, c);
    y[c] = static_cast<std::int8_t>(
        addend == nullptr ? value : std::clamp(value + addend[c], spec.sum_low, spec.sum_high));
  }
}

}  // namespace runnel::kernels
