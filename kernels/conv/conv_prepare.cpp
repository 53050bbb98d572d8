#include <array>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/conv_apart.h"
#include "kernels/conv/conv_generic.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/device/conv_device.h"

namespace runnel::kernels {
namespace {

// Kernels without packed weights or scratch: any part of positions and channels; a sum after them is
// a separate step.
using PlainKernel = void (*)(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept;

template <PlainKernel kKernel>
void run_plain_part(const Conv& conv, const ConvPart& part, const void* x, const void* addend, void* y,
                    void*) noexcept {
  kKernel(conv.spec, part, x, y);
  if (addend != nullptr) conv_add_reference(conv.spec, part, addend, y);
}
template <PlainKernel kKernel>
void run_plain(const Conv& conv, const void* x, void* y, void*) noexcept {
  kKernel(conv.spec, whole_of(conv.spec), x, y);
}
template <PlainKernel kKernel>
void run_plain_add(const Conv& conv, const void* x, const void* addend, void* y, void* scratch) noexcept {
  run_plain_part<kKernel>(conv, whole_of(conv.spec), x, addend, y, scratch);
}
template <PlainKernel kKernel>
void bind_plain(Conv& conv) noexcept {
  conv.run = run_plain<kKernel>;
  conv.run_add = conv.spec.add ? run_plain_add<kKernel> : nullptr;
  conv.run_part = run_plain_part<kKernel>;
}

Status refuse(std::string_view what, std::int64_t found) noexcept {
  return Status(Code::invalid_argument, "convolution: ") << what << ", found " << found;
}

Status check_sizes(const ConvSpec& spec) noexcept {
  if (spec.dtype != DType::int8 && spec.dtype != DType::int16) {
    return Status(Code::invalid_argument, "convolution: expected int8 or int16, found ")
           << name_of(spec.dtype);
  }
  for (const std::int32_t size :
       {spec.in_height, spec.in_width, spec.in_channels, spec.out_height, spec.out_width, spec.out_channels,
        spec.kernel_height, spec.kernel_width, spec.stride_height, spec.stride_width, spec.dilation_height,
        spec.dilation_width, spec.groups}) {
    if (size < 1) return refuse("sizes, strides, dilations and groups must be at least 1", size);
  }
  if (spec.in_channels % spec.groups != 0 || spec.out_channels % spec.groups != 0) {
    return refuse("groups must divide the input and output channels", spec.groups);
  }
  // Products of sizes below this limit cannot overflow index arithmetic in int64.
  constexpr std::int64_t limit = std::int64_t{1} << 40;
  using Sizes = std::array<std::int32_t, 4>;
  for (const Sizes& sizes :
       {Sizes{spec.in_height, spec.in_width, spec.in_channels, 1},
        Sizes{spec.out_height, spec.out_width, spec.out_channels, 1},
        Sizes{spec.kernel_height, spec.kernel_width, spec.in_channels / spec.groups, spec.out_channels}}) {
    std::int64_t product = 1;
    for (const std::int32_t size : sizes) {
      if (!checked_mul<std::int64_t>(product, size, product) || product > limit) {
        return refuse("a tensor must have fewer than 2^40 elements; one of its sizes is", size);
      }
    }
  }
  return {};
}

Status check_requant(const ConvSpec& spec) noexcept {
  const Requant& how = spec.requant;
  const std::int32_t highest = spec.dtype == DType::int8 ? 127 : 32767;
  const auto in_type = [=](std::int32_t value) { return value >= -highest - 1 && value <= highest; };
  if (how.shift == nullptr || spec.weights == nullptr) {
    return Status(Code::invalid_argument, "convolution: weights and shifts are required, found none");
  }
  if (how.count != 1 && how.count != spec.out_channels)
    return refuse("shifts must be one or one per output channel", how.count);
  if (!in_type(how.low) || !in_type(how.high) || how.low > how.high)
    return refuse("clamp is not a range of the type", how.low);
  if (spec.add && spec.dtype != DType::int8)
    return Status(Code::invalid_argument, "convolution: a fused sum needs int8, found ")
           << name_of(spec.dtype);
  if (!in_type(spec.sum_low) || !in_type(spec.sum_high) || spec.sum_low > spec.sum_high) {
    return refuse("clamp of the sum is not a range of the type", spec.sum_low);
  }
  if (!in_type(how.zero_point)) return refuse("output zero point is outside the type", how.zero_point);
  if (!in_type(spec.in_zero_point)) return refuse("input zero point is outside the type", spec.in_zero_point);
  const bool wants_multiplier = how.rounding == Rounding::tflite_double || how.rounding == Rounding::single;
  if (static_cast<std::uint8_t>(how.rounding) > 3 || wants_multiplier != (how.multiplier != nullptr)) {
    return refuse("rounding does not fit the presence of a multiplier",
                  static_cast<std::int64_t>(how.rounding));
  }
  for (std::int32_t i = 0; i < how.count; ++i) {
    if (how.shift[i] < -31 || how.shift[i] > 62) return refuse("shift must be in [-31, 62]", how.shift[i]);
    if (wants_multiplier && how.multiplier[i] < 0)
      return refuse("multiplier must not be negative", how.multiplier[i]);
  }
  return {};
}

std::int64_t bias_at(const ConvSpec& spec, std::int64_t channel) noexcept {
  if (spec.bias == nullptr) return 0;
  return spec.dtype == DType::int8 ? static_cast<const std::int32_t*>(spec.bias)[channel]
                                   : static_cast<const std::int64_t*>(spec.bias)[channel];
}
std::int64_t inputs_of(const ConvSpec& spec) noexcept {
  return std::int64_t{spec.kernel_height} * spec.kernel_width * (spec.in_channels / spec.groups);
}
// Sum of |w| of an output channel.
std::int64_t weight_sum(const ConvSpec& spec, std::int64_t out) noexcept {
  const std::int64_t inputs = inputs_of(spec);
  std::int64_t sum = 0;
  for (std::int64_t i = out * inputs; i < (out + 1) * inputs; ++i) {
    const std::int64_t w = spec.dtype == DType::int8 ? static_cast<const std::int8_t*>(spec.weights)[i]
                                                     : static_cast<const std::int16_t*>(spec.weights)[i];
    sum += w < 0 ? -w : w;
  }
  return sum;
}
// The largest |x - zero point|.
std::int64_t largest_input(const ConvSpec& spec) noexcept {
  return (spec.dtype == DType::int8 ? 128 : 32768) +
         (spec.in_zero_point < 0 ? -std::int64_t{spec.in_zero_point} : spec.in_zero_point);
}

}  // namespace

Status largest_accumulator(const ConvSpec& spec, std::int64_t& largest) noexcept {
  const std::int64_t input = largest_input(spec);
  largest = 0;
  for (std::int64_t out = 0; out < spec.out_channels; ++out) {
    const std::int64_t sum = weight_sum(spec, out);
    const std::int64_t bias = bias_at(spec, out);
    constexpr std::int64_t limit = std::int64_t{1} << 62;
    std::int64_t total = 0;
    if (bias > limit || bias < -limit || !checked_mul(sum, input, total) ||
        total > limit - (bias < 0 ? -bias : bias)) {
      return refuse("the 64-bit accumulator can overflow in output channel", out);
    }
    total += bias < 0 ? -bias : bias;
    largest = total > largest ? total : largest;
  }
  return {};
}

#if !defined(RUNNEL_KERNELS_DEVICE)
namespace {

// Accumulators up to this fit into int32 with every term that rounding and the zero point add.
std::int64_t room_of(const Requant& how) noexcept {
  std::int64_t half = 0;
  for (std::int32_t i = 0; i < how.count; ++i) {
    const int shift = how.shift[i] > 31 ? 31 : how.shift[i];
    if (shift > 0 && half < std::int64_t{1} << (shift - 1)) half = std::int64_t{1} << (shift - 1);
  }
  return (std::int64_t{1} << 31) - 1 - 512 - half;
}

// Quantizers write biases near 2^31 for channels whose result is always a limit of its type. A bias nearer to
// zero gives the same limit, and its sums fit into int32. `swing`: what the products can add to the bias.
// False unless every sum gives that limit: requantize() is monotonic, so the sum nearest to zero decides.
bool smaller_bias(const ConvSpec& spec, std::int32_t channel, std::int64_t room, std::int64_t swing,
                  bool negative, std::int32_t& smaller) noexcept {
  const std::int64_t size = room - swing, nearest = size - swing;
  if (nearest <= 0) return false;
  smaller = static_cast<std::int32_t>(negative ? -size : size);
  return requantize(negative ? -nearest : nearest, spec.requant, channel) ==
         (negative ? spec.requant.low : spec.requant.high);
}

// Gives `spec`, of int8, such biases, and `largest` its new bound, where that makes all accumulators fit.
// Channels whose bias cannot shrink get bias 0 and are listed in `apart`, which has room for all.
Status shrink_biases(ConvSpec& spec, Memory& memory, std::int64_t& largest, std::int32_t* apart,
                     std::int32_t& count) noexcept {
  const std::int64_t room = room_of(spec.requant);
  const auto* given = static_cast<const std::int32_t*>(spec.bias);
  auto* const biases = memory.array<std::int32_t>(static_cast<std::size_t>(spec.out_channels));
  if (biases == nullptr) return Status(Code::out_of_memory, "convolution: no memory for its biases");
  const std::int64_t input = largest_input(spec);
  std::int64_t bound = 0;
  count = 0;
  for (std::int32_t channel = 0; channel < spec.out_channels; ++channel) {
    const std::int64_t swing = weight_sum(spec, channel) * input, bias = given[channel];
    std::int64_t total = swing + (bias < 0 ? -bias : bias);
    biases[channel] = given[channel];
    if (total > room) {
      total = room;
      if (!smaller_bias(spec, channel, room, swing, bias < 0, biases[channel])) {
        if (swing > room) {
          count = 0;
          return {};
        }
        biases[channel] = 0;
        total = swing;
        apart[count++] = channel;
      }
    }
    bound = total > bound ? total : bound;
  }
  spec.bias = biases;
  largest = bound;
  return {};
}

// The vector kernels, for all channels whose sums fit into them.
Status prepare_int8(const ConvSpec& spec, Isa isa, Memory& memory, std::int64_t largest,
                    Conv& conv) noexcept {
  std::int32_t* apart = nullptr;
  std::int32_t count = 0;
  if (largest > room_of(spec.requant) && spec.bias != nullptr) {
    apart = memory.array<std::int32_t>(static_cast<std::size_t>(spec.out_channels));
    if (apart == nullptr) return Status(Code::out_of_memory, "convolution: no memory for its channels");
    RUNNEL_TRY(shrink_biases(conv.spec, memory, largest, apart, count));
  }
  if (largest >= (std::int64_t{1} << 31)) return {};
  bind_plain<run_generic_int8>(conv);
#if defined(RUNNEL_KERNELS_X86) || defined(RUNNEL_KERNELS_NEON) || defined(RUNNEL_KERNELS_SIMD128) || \
    defined(RUNNEL_KERNELS_RVV)
  if (isa >= Isa::avx2) RUNNEL_TRY(prepare_vector_conv(isa, largest, memory, conv));
#endif
  static_cast<void>(isa);
  return count == 0 ? Status() : compute_apart(spec, apart, count, memory, conv);
}

}  // namespace
#endif

#if defined(RUNNEL_KERNELS_DEVICE)
namespace {

// The smallest bias and the largest, and 0.
template <class Bias>
std::pair<std::int64_t, std::int64_t> bias_range(const ConvSpec& spec) noexcept {
  Bias low = 0, high = 0;
  const auto* bias = static_cast<const Bias*>(spec.bias);
  for (std::int32_t out = 0; out < spec.out_channels && bias != nullptr; ++out) {
    low = bias[out] < low ? bias[out] : low;
    high = bias[out] > high ? bias[out] : high;
  }
  return {low, high};
}

// A bound that does not read the weights, which takes a microcontroller longer than the rest of preparing. It
// suffices where it is below 2^30 (int8), that is, except for very long windows.
Status bounded_accumulator(const ConvSpec& spec, std::int64_t& largest) noexcept {
  const bool narrow = spec.dtype == DType::int8;
  const auto [low, high] = narrow ? bias_range<std::int32_t>(spec) : bias_range<std::int64_t>(spec);
  const std::int64_t room = std::int64_t{1} << (narrow ? 30 : 61);
  if (low > -room && high < room &&
      checked_mul(inputs_of(spec), largest_input(spec) * (narrow ? 128 : 32768), largest) && largest < room) {
    largest += high > -low ? high : -low;
    if (!narrow || largest < room) return {};
  }
  return largest_accumulator(spec, largest);
}

}  // namespace
#endif

Status prepare_conv(const ConvSpec& spec, Isa isa, Memory& memory, Conv& conv) noexcept {
  RUNNEL_TRY(check_sizes(spec));
  RUNNEL_TRY(check_requant(spec));
  std::int64_t largest = 0;
#if defined(RUNNEL_KERNELS_DEVICE)
  RUNNEL_TRY(bounded_accumulator(spec, largest));
#else
  RUNNEL_TRY(largest_accumulator(spec, largest));
#endif
  conv = Conv{};
  conv.spec = spec;
  bind_plain<conv_reference>(conv);
  if (isa == Isa::reference) return {};
#if defined(RUNNEL_KERNELS_DEVICE)
  // The portable kernels are not linked in this build.
  if (!device_conv_fits(spec, largest)) return {};
  lay_down(conv.spec);
  if (spec.dtype == DType::int16)
    bind_plain<run_device_int16>(conv);
  else
    bind_plain<run_device_int8>(conv);
  static_cast<void>(memory);
  return {};
#else
  if (spec.dtype == DType::int16) {
    bind_plain<run_generic_int16>(conv);
#if defined(RUNNEL_KERNELS_X86)
    if (isa >= Isa::avx2) return prepare_vector_conv16(isa, memory, conv);
#endif
    return {};
  }
  return prepare_int8(spec, isa, memory, largest, conv);
#endif
}

KernelChoice kernel_choice(const Conv& conv) noexcept {
  if (conv.run == run_plain<conv_reference>) return {Isa::reference, ""};
#if !defined(RUNNEL_KERNELS_DEVICE)
  if (const Conv* const others = kernel_of_others(conv); others != nullptr) {
    const KernelChoice choice = kernel_choice(*others);
    return {choice.isa, conv.spec.groups > 1 ? "depthwise, few channels apart" : "dense, few channels apart"};
  }
#endif
#if defined(RUNNEL_KERNELS_X86) || defined(RUNNEL_KERNELS_NEON) || defined(RUNNEL_KERNELS_SIMD128) || \
    defined(RUNNEL_KERNELS_RVV)
  if (const auto* const plan = static_cast<const ConvPlan*>(conv.extra); plan != nullptr) {
    const bool depthwise = conv.spec.groups > 1;
    if (plan->wide != nullptr) return {plan->isa, depthwise ? "depthwise int16" : "dense int16"};
    const bool scalar = plan->finish == Finish::scalar;
    const Isa isa = plan->isa == Isa::amx && plan->tile_bias == nullptr ? Isa::avx512vnni : plan->isa;
    return {isa, depthwise ? (scalar ? "depthwise, results one by one" : "depthwise")
                           : (scalar ? "dense, results one by one" : "dense")};
  }
#endif
  return {Isa::generic, ""};
}

}  // namespace runnel::kernels
