// Between float32 and integers with scales, and what kernels say about the scales of their operands.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/number_text.h"
#include "compiler/import/pte/kernels.h"

namespace runnel::compiler::pte_source {
namespace {

struct Range {
  std::int64_t low = 0, high = 0;
};
std::optional<Range> range_of(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return Range{-128, 127};
    case DType::uint8:
      return Range{0, 255};
    case DType::int16:
      return Range{-32768, 32767};
    case DType::int32:
      return Range{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default:
      return std::nullopt;
  }
}

bool is_scale(double scale) { return scale > 1e-30 && scale < 1e30; }

// Scale and zero point, with the type of the integers.
Result<Scale> read_scale(Builder& builder, const Call& call, DType dtype) {
  RUNNEL_ASSIGN(const double scale, builder.number(call, 1));
  const auto range = range_of(dtype);
  if (!range)
    return call.fail(Code::unsupported)
           << "integers of " << name_of(dtype) << ", expected int8, uint8, int16 or int32";
  if (!is_scale(scale)) return call.fail() << "a scale of " << shortest_text(scale).view();
  RUNNEL_ASSIGN(const std::int64_t zero, builder.integer(call, 2, range->low, range->high));
  if (dtype == DType::int32 && zero != 0)
    return call.fail(Code::unsupported) << "int32 with zero point " << zero;
  return Scale{static_cast<float>(scale), static_cast<std::int32_t>(zero)};
}

// Limits `position` and the one after it: none when they are those of the type.
Result<std::optional<ClipOptions>> read_limits(Builder& builder, const Call& call, std::size_t position,
                                               DType dtype) {
  RUNNEL_ASSIGN(const std::int64_t low, builder.integer(call, position));
  RUNNEL_ASSIGN(const std::int64_t high, builder.integer(call, position + 1));
  const auto range = range_of(dtype);
  if (!range || low > high) return call.fail() << "limits of " << low << " and " << high;
  if (low <= range->low && high >= range->high) return std::optional<ClipOptions>();
  ClipOptions clip;
  clip.low = static_cast<int>(std::clamp(low, range->low, range->high));
  clip.high = static_cast<int>(std::clamp(high, range->low, range->high));
  return std::optional(clip);
}

// The type that operand `position` names must be that of the tensor.
Status check_type(Builder& builder, const Call& call, std::size_t position, DType dtype) {
  RUNNEL_ASSIGN(const std::int64_t type, builder.integer(call, position, 0, 127));
  const auto named = dtype_of(static_cast<std::int8_t>(type));
  if (named && *named == dtype) return {};
  return call.fail() << "type " << type << " for a tensor of " << name_of(dtype);
}

// Per channel: numbers along one axis, of the last rank of a shape of ones.
Result<Dims> channel_shape(const Call& call, const Dims& dims, int axis, std::size_t count) {
  if (static_cast<std::int64_t>(count) != dims[static_cast<std::size_t>(axis)])
    return call.fail() << count << " scales for " << dims[static_cast<std::size_t>(axis)] << " channels";
  Dims shape(dims.size(), 1);
  shape[static_cast<std::size_t>(axis)] = dims[static_cast<std::size_t>(axis)];
  return shape;
}

struct Channels {
  int axis = 0;
  Dims shape;  // ones, and the channels
  std::vector<double> scales;
  std::vector<std::int64_t> zeros;
};
Result<Channels> read_channels(Builder& builder, const Call& call, const Dims& dims) {
  Channels out;
  RUNNEL_ASSIGN(out.axis, builder.axis(call, 3, dims.size()));
  RUNNEL_ASSIGN(const ConstantPtr scales, builder.constant(call, 1));
  RUNNEL_ASSIGN(const ConstantPtr zeros, builder.constant(call, 2));
  if (scales == nullptr) return call.fail() << "no scales";
  auto numbers = numbers_of(*scales);
  if (!numbers.ok()) return call.named(numbers.status());
  out.scales = std::move(numbers).value();
  for (const double scale : out.scales) {
    if (!is_scale(scale)) return call.fail() << "a scale of " << shortest_text(scale).view();
  }
  out.zeros.assign(out.scales.size(), 0);
  if (zeros != nullptr) {
    auto integers = integers_of(*zeros);
    if (!integers.ok()) return call.named(integers.status());
    out.zeros = std::move(integers).value();
  }
  RUNNEL_ASSIGN(out.shape, channel_shape(call, dims, out.axis, out.scales.size()));
  if (out.zeros.size() != out.scales.size())
    return call.fail() << out.zeros.size() << " zero points for " << out.scales.size() << " scales";
  for (const std::int64_t zero : out.zeros) {
    if (zero < std::numeric_limits<std::int32_t>::min() || zero > std::numeric_limits<std::int32_t>::max())
      return call.fail() << "a zero point of " << zero;
  }
  return out;
}

Result<Operand> quantized(Builder& builder, const Call& call, const Operand& x, DType dtype, Scale scale,
                          std::size_t limits) {
  if (x.dtype != DType::float32)
    return call.fail(Code::unsupported) << "of " << name_of(x.dtype) << ", expected float32";
  const Perm perm = x.constant == nullptr ? x.perm : identity_perm(x.dims.size());
  RUNNEL_ASSIGN(const TensorId id, builder.stored(call, x, perm));
  RUNNEL_ASSIGN(const auto clip, read_limits(builder, call, limits, dtype));
  RUNNEL_ASSIGN(TensorId y, builder.emit(call, OpCode::quantize, {id}, {}, {{}, dtype, scale},
                                         Arithmetic::tflite, kernels::Rounding::half_even));
  if (clip) {
    RUNNEL_ASSIGN(y, builder.emit(call, OpCode::clip, {y}, *clip, {}, Arithmetic::tflite));
  }
  return builder.computed(y, perm);
}

}  // namespace

Status convert_quantize(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const Tensor* const out, builder.tensor(call, 6));
  RUNNEL_TRY(check_type(builder, call, 5, out->dtype));
  RUNNEL_ASSIGN(const Scale scale, read_scale(builder, call, out->dtype));
  RUNNEL_ASSIGN(const Operand y, quantized(builder, call, x, out->dtype, scale, 3));
  return builder.result(call, y);
}

Status convert_dequantize(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_TRY(check_type(builder, call, 5, x.dtype));
  RUNNEL_ASSIGN(const Scale scale, read_scale(builder, call, x.dtype));
  if (x.constant != nullptr) {
    RUNNEL_ASSIGN(const auto integers, integers_of(*x.constant));
    std::vector<float> values;
    for (const std::int64_t q : integers)
      values.push_back(
          static_cast<float>(static_cast<double>(q - scale.zero_point) * static_cast<double>(scale.scale)));
    return builder.result(call, constant_operand(floats(x.dims, values)));
  }
  const compiler::Tensor tensor = builder.at(x.id);
  if (tensor.zero_points != std::vector<std::int32_t>{scale.zero_point})
    return call.fail(Code::unsupported)
           << "zero point " << scale.zero_point << " of a tensor that was made with another one";
  RUNNEL_ASSIGN(const TensorId y, builder.emit(call, OpCode::dequantize, {x.id}, {},
                                               {{}, DType::float32, std::nullopt}, Arithmetic::tflite));
  Operand real = builder.computed(y, x.perm);
  if (tensor.scales[0] != scale.scale) {
    // Nobody has told the scale of these integers so far.
    if (tensor.scales[0] != 1)
      return call.fail(Code::unsupported)
             << "a scale of " << shortest_text(scale.scale).view() << " of a tensor that was made with "
             << shortest_text(tensor.scales[0]).view();
    RUNNEL_ASSIGN(real, binary(builder, call, OpCode::mul, real, scalar(scale.scale)));
  }
  return builder.result(call, real);
}

// With one zero point for all: x divided by its channel's scale, to integers of scale 1.
Status convert_quantize_channels(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const Tensor* const out, builder.tensor(call, 7));
  RUNNEL_TRY(check_type(builder, call, 6, out->dtype));
  if (x.dtype != DType::float32)
    return call.fail(Code::unsupported) << "of " << name_of(x.dtype) << ", expected float32";
  RUNNEL_ASSIGN(const Channels channels, read_channels(builder, call, x.dims));
  const auto range = range_of(out->dtype);
  const std::int64_t zero = channels.zeros[0];
  const bool same = std::ranges::all_of(channels.zeros, [&](std::int64_t other) { return other == zero; });
  if (!same || !range || zero < range->low || zero > range->high)
    return call.fail(Code::unsupported) << "zero points that differ, or are no " << name_of(out->dtype);
  std::vector<float> factors;
  for (const double scale : channels.scales) factors.push_back(1.0f / static_cast<float>(scale));
  RUNNEL_ASSIGN(const Operand scaled,
                binary(builder, call, OpCode::mul, x, constant_operand(floats(channels.shape, factors))));
  RUNNEL_ASSIGN(const Operand y,
                quantized(builder, call, scaled, out->dtype, {1, static_cast<std::int32_t>(zero)}, 4));
  return builder.result(call, y);
}

Status convert_dequantize_channels(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_TRY(check_type(builder, call, 6, x.dtype));
  RUNNEL_ASSIGN(const Channels channels, read_channels(builder, call, x.dims));
  std::vector<float> scales, zeros;
  for (const double scale : channels.scales) scales.push_back(static_cast<float>(scale));
  if (x.constant == nullptr) {
    // The integers as they are, or without the zero point that they were made with.
    const compiler::Tensor tensor = builder.at(x.id);
    const bool made = !tensor.scales.empty();
    if (made && tensor.scales[0] != 1)
      return call.fail(Code::unsupported) << "of a tensor that was made with one scale for all, "
                                          << shortest_text(tensor.scales[0]).view();
    const std::int64_t without = made ? tensor.zero_points[0] : 0;
    for (const std::int64_t zero : channels.zeros) zeros.push_back(static_cast<float>(zero - without));
    RUNNEL_ASSIGN(const TensorId plain, builder.emit(call, made ? OpCode::dequantize : OpCode::cast, {x.id},
                                                     {}, {{}, DType::float32, std::nullopt},
                                                     made ? Arithmetic::tflite : Arithmetic::espdl));
    RUNNEL_ASSIGN(Operand y, binary(builder, call, OpCode::sub, builder.computed(plain, x.perm),
                                    constant_operand(floats(channels.shape, zeros))));
    RUNNEL_ASSIGN(y, binary(builder, call, OpCode::mul, y, constant_operand(floats(channels.shape, scales))));
    return builder.result(call, y);
  }
  RUNNEL_ASSIGN(const auto integers, integers_of(*x.constant));
  std::size_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(channels.axis) + 1; i < x.dims.size(); ++i)
    inner *= static_cast<std::size_t>(x.dims[i]);
  std::vector<float> values;
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const std::size_t c = i / inner % scales.size();
    values.push_back(static_cast<float>(static_cast<double>(integers[i] - channels.zeros[c]) *
                                        static_cast<double>(scales[c])));
  }
  return builder.result(call, constant_operand(floats(x.dims, values)));
}

std::map<std::int32_t, Scale> scales_of(const Method& method) {
  // Where a kernel says something about a tensor: positions of the tensor (-1: the last one), of the scale
  // (-1: nowhere) and of the zero point, which offsets of inputs have with the other sign.
  struct Saying {
    std::string_view kernel;
    int tensor, scale, zero, sign;
  };
  constexpr Saying kSayings[] = {
      {"cortex_m::quantize_per_tensor.out", -1, 1, 2, 1},
      {"quantized_decomposed::quantize_per_tensor.out", -1, 1, 2, 1},
      {"cortex_m::dequantize_per_tensor.out", 0, 1, 2, 1},
      {"quantized_decomposed::dequantize_per_tensor.out", 0, 1, 2, 1},
      {"cortex_m::quantized_conv2d.out", 0, -1, 6, -1},
      {"cortex_m::quantized_conv2d.out", -1, -1, 7, 1},
      {"cortex_m::quantized_depthwise_conv2d.out", 0, -1, 7, -1},
      {"cortex_m::quantized_depthwise_conv2d.out", -1, -1, 8, 1},
      {"cortex_m::quantized_linear.out", 0, -1, 4, -1},
      {"cortex_m::quantized_linear.out", -1, -1, 6, 1},
      {"cortex_m::quantized_avg_pool2d.out", 0, -1, 5, 1},
      {"cortex_m::quantized_max_pool2d.out", 0, -1, 6, 1},
  };
  std::map<std::int32_t, Scale> scales;
  for (const Instruction& instruction : method.instructions) {
    if (instruction.kind != Instruction::Kind::kernel) continue;
    const auto at = [&](int position) {
      return position < 0 ? instruction.args.size() - 1 : static_cast<std::size_t>(position);
    };
    for (const Saying& saying : kSayings) {
      // The converters refuse kernels with too few arguments later.
      if (saying.kernel != method.operators[instruction.which] ||
          std::cmp_less_equal(instruction.args.size(), std::max({saying.tensor, saying.scale, saying.zero})))
        continue;
      const std::int32_t tensor = instruction.args[at(saying.tensor)];
      const auto* zero = std::get_if<std::int64_t>(
          &method.values[static_cast<std::size_t>(instruction.args[at(saying.zero)])]);
      const auto* scale =
          saying.scale < 0
              ? nullptr
              : std::get_if<double>(
                    &method.values[static_cast<std::size_t>(instruction.args[at(saying.scale)])]);
      if (zero == nullptr || *zero < -65536 || *zero > 65536) continue;
      Scale& known =
          scales.try_emplace(tensor, Scale{1, static_cast<std::int32_t>(*zero) * saying.sign}).first->second;
      if (scale != nullptr && is_scale(*scale)) known.scale = static_cast<float>(*scale);
    }
  }
  return scales;
}

}  // namespace runnel::compiler::pte_source
