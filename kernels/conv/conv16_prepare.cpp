// Packs weights of int16 convolutions for the vector kernels.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"

namespace runnel::kernels {
namespace {

// |sum of products| <= 32768 * sum of |weights| < 2^31.
constexpr std::int64_t kMaxWeightSum = 65535;

// The window as pieces that are contiguous in x: rows of taps, or single taps. Depthwise: a channel's taps
// are one piece, which is not contiguous.
struct Pieces {
  std::int64_t count = 0, elements = 0;  // of each
  bool merged = false;

  Pieces(const ConvSpec& spec, bool depthwise) noexcept
      : count(spec.dilation_width == 1 ? spec.kernel_height
                                       : std::int64_t{spec.kernel_height} * spec.kernel_width),
        elements(spec.dilation_width == 1 ? std::int64_t{spec.kernel_width} * spec.in_channels
                                          : spec.in_channels),
        merged(spec.dilation_width == 1) {
    if (!depthwise) return;
    elements = std::int64_t{spec.kernel_height} * spec.kernel_width;
    count = 1;
    merged = false;
  }
  [[nodiscard]] std::int64_t pairs() const noexcept { return (elements + 1) / 2; }
  [[nodiscard]] std::int64_t offset(const ConvSpec& spec, std::int64_t piece) const noexcept {
    const std::int64_t row = merged ? piece : piece / spec.kernel_width,
                       column = merged ? 0 : piece % spec.kernel_width;
    return (row * spec.dilation_height * spec.in_width + column * spec.dilation_width) * spec.in_channels;
  }
};

// Weight `element` of a piece for one output channel; 0 past the end.
std::int16_t weight(const ConvSpec& spec, const Pieces& pieces, std::int64_t channel, std::int64_t piece,
                    std::int64_t element) noexcept {
  if (channel >= spec.out_channels || element >= pieces.elements) return 0;
  return static_cast<const std::int16_t*>(
      spec.weights)[(channel * pieces.count + piece) * pieces.elements + element];
}

// Calls run(piece, first pair, pairs) for the longest runs of pairs whose sums fit into int32 in every output
// channel; `sums`: one entry per channel. False when a single pair does not fit.
template <class Run>
bool split_runs(const ConvSpec& spec, const Pieces& pieces, std::int64_t* sums, Run run) noexcept {
  for (std::int64_t piece = 0; piece < pieces.count; ++piece) {
    std::int64_t first = 0;
    std::fill_n(sums, spec.out_channels, 0);
    for (std::int64_t pair = 0; pair < pieces.pairs(); ++pair) {
      bool fits = true;
      for (int attempt = 0; attempt < 2; ++attempt) {
        fits = true;
        for (std::int64_t c = 0; c < spec.out_channels; ++c) {
          const std::int64_t a = weight(spec, pieces, c, piece, 2 * pair),
                             b = weight(spec, pieces, c, piece, 2 * pair + 1);
          sums[c] += (a < 0 ? -a : a) + (b < 0 ? -b : b);
          fits = fits && sums[c] <= kMaxWeightSum;
        }
        if (fits || pair == first) break;
        // A new run starts with this pair.
        run(piece, first, pair - first);
        first = pair;
        std::fill_n(sums, spec.out_channels, 0);
      }
      if (!fits) return false;
    }
    run(piece, first, pieces.pairs() - first);
  }
  return true;
}

// Per channel the bias, the shift, and where results are only shifted (`wide.shifts`) the mask of the bits
// that the shift drops, half of it added to the bias. False without memory.
bool set_sums(const ConvSpec& spec, std::int64_t lanes, Memory& memory, Wide& wide) noexcept {
  const std::int64_t padded = ceil_div(spec.out_channels, lanes) * lanes;
  auto* table = static_cast<std::int64_t*>(
      memory.allocate(static_cast<std::size_t>(3 * padded) * sizeof(std::int64_t), 64));
  if (table == nullptr) return false;
  std::int64_t *bias = table, *shift = table + padded, *mask = table + 2 * padded;
  const Requant& how = spec.requant;
  wide.even = how.rounding == Rounding::half_even;
  wide.shifts = how.multiplier == nullptr && how.zero_point == 0;
  for (std::int32_t i = 0; i < how.count; ++i) wide.shifts = wide.shifts && how.shift[i] >= 0;
  for (std::int64_t c = 0; c < padded; ++c) {
    const bool real = c < spec.out_channels;
    bias[c] = real && spec.bias != nullptr ? static_cast<const std::int64_t*>(spec.bias)[c] : 0;
    shift[c] = real ? how.shift[how.count == 1 ? 0 : c] : 0;
    mask[c] = -1;
    if (wide.shifts && shift[c] > 0) {
      bias[c] += std::int64_t{1} << (shift[c] - 1);
      mask[c] = (std::int64_t{1} << shift[c]) - 1;
    }
  }
  wide.bias = bias;
  wide.shift = shift;
  wide.mask = mask;
  return true;
}

}  // namespace

Status prepare_vector_conv16(Isa isa, Memory& memory, Conv& conv) noexcept {
  const ConvSpec& spec = conv.spec;
  const bool depthwise =
      spec.groups > 1 && spec.groups == spec.in_channels && spec.groups == spec.out_channels;
  if ((spec.groups != 1 && !depthwise) || spec.in_zero_point != 0) return {};
  const Conv16Kernels kernels = isa == Isa::avx2 ? conv16_avx2(depthwise) : conv16_avx512(depthwise);
  const Pieces pieces(spec, depthwise);
  const Status exhausted =
      Status(Code::out_of_memory, "convolution: the memory for packed weights is exhausted");
  auto* sums = memory.array<std::int64_t>(static_cast<std::size_t>(spec.out_channels));
  if (sums == nullptr) return exhausted;
  std::int64_t runs = 0;
  if (!split_runs(spec, pieces, sums, [&](std::int64_t, std::int64_t, std::int64_t) { ++runs; })) return {};
  if (runs > (1 << 30)) return {};

  const std::int64_t taps = std::int64_t{spec.kernel_height} * spec.kernel_width,
                     groups = ceil_div(spec.out_channels, kernels.lanes);
  const std::int64_t group_bytes = pieces.count * pieces.pairs() * kernels.lanes * 4;
  auto* plan = memory.array<ConvPlan>(1);
  auto* wide = memory.array<Wide>(1);
  const std::int64_t places = depthwise ? 2 * pieces.pairs() : runs;
  auto* offsets = memory.array<std::int64_t>(static_cast<std::size_t>(2 * places + taps));
  auto* pairs = memory.array<std::int32_t>(static_cast<std::size_t>(runs));
  auto* weights =
      static_cast<std::int8_t*>(memory.allocate(static_cast<std::size_t>(groups * group_bytes), 64));
  if (plan == nullptr || wide == nullptr || offsets == nullptr || pairs == nullptr || weights == nullptr)
    return exhausted;
  *plan = ConvPlan{};
  *wide = Wide{};
  if (!set_sums(spec, kernels.lanes, memory, *wide)) return exhausted;
  set_geometry(spec, *plan);
  const std::int64_t piece_elements = 2 * pieces.pairs();
  std::int64_t *const patch_tap = offsets + places, *const patch_run = patch_tap + taps;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    patch_tap[tap] = depthwise       ? tap * spec.in_channels
                     : pieces.merged ? tap / spec.kernel_width * piece_elements +
                                           tap % spec.kernel_width * spec.in_channels
                                     : tap * piece_elements;
  }
  std::int64_t run = 0;
  split_runs(spec, pieces, sums, [&](std::int64_t piece, std::int64_t first, std::int64_t count) {
    if (!depthwise) {
      offsets[run] = pieces.offset(spec, piece) + 2 * first;
      patch_run[run] = piece * piece_elements + 2 * first;
    }
    pairs[run++] = static_cast<std::int32_t>(count);
  });
  for (std::int64_t place = 0; depthwise && place < places; ++place) {
    const std::int64_t tap = std::min(place, taps - 1);  // weights past the last are zero
    offsets[place] = (tap / spec.kernel_width * spec.dilation_height * spec.in_width +
                      tap % spec.kernel_width * spec.dilation_width) *
                     spec.in_channels;
    patch_run[place] = tap * spec.in_channels;
  }
  std::int8_t* to = weights;
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t piece = 0; piece < pieces.count; ++piece) {
      for (std::int64_t pair = 0; pair < pieces.pairs(); ++pair) {
        for (std::int64_t lane = 0; lane < kernels.lanes; ++lane, to += 4) {
          const std::int64_t channel = group * kernels.lanes + lane;
          const std::int16_t two[2] = {weight(spec, pieces, channel, piece, 2 * pair),
                                       weight(spec, pieces, channel, piece, 2 * pair + 1)};
          std::memcpy(to, two, 4);
        }
      }
    }
  }
  wide->pairs = pairs;
  plan->wide = wide;
  plan->isa = vector_level(isa);
  plan->runs = static_cast<std::int32_t>(runs);
  plan->run_offset = offsets;
  plan->patch_offset = patch_tap;
  plan->patch_bytes =
      static_cast<std::int64_t>(align_up(
          static_cast<std::size_t>(depthwise ? taps * spec.in_channels : pieces.count * piece_elements) *
              sizeof(std::int16_t),
          64)) +
      64;
  plan->weights = weights;
  plan->group_weights = group_bytes;

  conv.packed = weights;
  conv.extra = plan;
  conv.scratch_bytes = static_cast<std::size_t>(plan->patch_bytes) * kPatches;
  conv.run = kernels.any;
  conv.run_part = kernels.part;
  conv.run_rows = plan->direct && plan->out_width == 1 ? kernels.rows : nullptr;
  conv.channel_group = kernels.lanes;
  return {};
}

void finish16_scalar(const ConvSpec& spec, const std::int64_t* sums, std::int32_t first, std::int32_t count,
                     std::int16_t* y) noexcept {
  for (std::int32_t i = 0; i < count; ++i)
    y[first + i] = static_cast<std::int16_t>(requantize(sums[i], spec.requant, first + i));
}

}  // namespace runnel::kernels
