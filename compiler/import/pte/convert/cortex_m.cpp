// The kernels of cortex_m: int8 with multipliers and shifts, as CMSIS-NN computes them.
#include <algorithm>

#include "compiler/import/pte/kernels.h"

namespace runnel::compiler::pte_source {
namespace {

Status expect_bytes(const Call& call, const Operand& x) {
  if (x.dtype == DType::int8) return {};
  return call.fail(Code::unsupported) << "of " << name_of(x.dtype) << ", expected int8";
}

// The input's zero point, which the kernel says once more.
Status check_zero_point(Builder& builder, const Call& call, const Operand& x, std::int64_t zero) {
  if (x.constant != nullptr) return call.fail(Code::unsupported) << "of a constant";
  const std::vector<std::int32_t>& known = builder.at(x.id).zero_points;
  if (known.size() == 1 && known[0] == zero) return {};
  return call.fail(Code::unsupported)
         << "zero point " << zero << " of an input that was made with " << (known.empty() ? 0 : known[0]);
}

// Per channel or one for all: operand `position` is a constant, a list, or one number.
Result<std::vector<std::int32_t>> read_numbers(Builder& builder, const Call& call, std::size_t position,
                                               std::size_t channels) {
  std::vector<std::int64_t> wide;
  if (builder.tensor(call, position).ok()) {
    RUNNEL_ASSIGN(const ConstantPtr given, builder.constant(call, position));
    auto integers = integers_of(*given);
    if (!integers.ok()) return call.named(integers.status());
    wide = std::move(integers).value();
  } else {
    RUNNEL_ASSIGN(wide, builder.integers(call, position));
  }
  if (wide.size() != 1 && wide.size() != channels)
    return call.fail() << "operand " << position << " has " << wide.size() << " numbers, expected 1 or "
                       << channels;
  std::vector<std::int32_t> numbers;
  for (const std::int64_t number : wide) {
    if (number < -2147483647 || number > 2147483647)
      return call.fail() << "operand " << position << " has " << number;
    numbers.push_back(static_cast<std::int32_t>(number));
  }
  return numbers;
}

// Where the operands of a layer stand that convolutions and linear layers share.
struct Positions {
  std::size_t in_offset, out_offset, multipliers, shifts, low, high;
};
// Everything after the weights: appends the operands, emits the node, limits its output.
Result<TensorId> emit_layer(Builder& builder, const Call& call, OpCode code, const Operand& x, TensorId input,
                            const Constant& weights, Options options, const Positions& at) {
  RUNNEL_TRY(expect_bytes(call, x));
  if (weights.dtype != DType::int8)
    return call.fail(Code::unsupported) << "weights of " << name_of(weights.dtype) << ", expected int8";
  const auto channels = static_cast<std::size_t>(weights.dims[0]);
  RUNNEL_ASSIGN(const std::int64_t in_offset, builder.integer(call, at.in_offset, -127, 128));
  RUNNEL_ASSIGN(const std::int64_t out_offset, builder.integer(call, at.out_offset, -128, 127));
  RUNNEL_TRY(check_zero_point(builder, call, x, -in_offset));
  RUNNEL_ASSIGN(const auto multipliers, read_numbers(builder, call, at.multipliers, channels));
  RUNNEL_ASSIGN(auto shifts, read_numbers(builder, call, at.shifts, channels));
  // CMSIS-NN counts shifts to the left.
  for (std::int32_t& shift : shifts) shift = -shift;
  RUNNEL_ASSIGN(const std::int64_t low, builder.integer(call, at.low, -128, 127));
  RUNNEL_ASSIGN(const std::int64_t high, builder.integer(call, at.high, low, 127));
  RUNNEL_ASSIGN(const TensorId kernel, builder.add_constant(call, weights, "weights"));
  std::vector<TensorId> inputs{input, kernel, kAbsent};
  RUNNEL_ASSIGN(const ConstantPtr bias, builder.constant(call, 2));
  if (bias != nullptr) {
    RUNNEL_ASSIGN(inputs[2], builder.add_constant(call, *bias, "bias"));
  }
  const auto list = [](const std::vector<std::int32_t>& numbers) {
    return integers({static_cast<std::int32_t>(numbers.size())}, numbers);
  };
  RUNNEL_ASSIGN(const TensorId factors, builder.add_constant(call, list(multipliers), "multipliers"));
  RUNNEL_ASSIGN(const TensorId steps, builder.add_constant(call, list(shifts), "shifts"));
  inputs.push_back(factors);
  inputs.push_back(steps);
  Scale scale{1, static_cast<std::int32_t>(out_offset)};
  if (const Scale* known = builder.scale_of(call.args.back());
      known != nullptr && known->zero_point == out_offset)
    scale = *known;
  RUNNEL_ASSIGN(TensorId y, builder.emit(call, code, inputs, std::move(options), {{}, DType::int8, scale},
                                         Arithmetic::multipliers));
  if (low > -128 || high < 127) {
    ClipOptions clip;
    clip.low = static_cast<int>(low);
    clip.high = static_cast<int>(high);
    RUNNEL_ASSIGN(y, builder.emit(call, OpCode::clip, {y}, clip, {}, Arithmetic::tflite));
  }
  return y;
}

Status emit_conv(Builder& builder, const Call& call, const Operand& x, const Constant& weights, int groups,
                 const Positions& at) {
  ConvOptions options;
  RUNNEL_ASSIGN(const Steps steps, read_steps(builder, call));
  steps.apply_to(options);
  options.groups = groups;
  const Perm perm = channels_last_perm(4);
  RUNNEL_ASSIGN(const TensorId input, builder.stored(call, x, perm));
  RUNNEL_ASSIGN(const TensorId y, emit_layer(builder, call, OpCode::conv, x, input, weights, options, at));
  return builder.result(call, builder.computed(y, perm));
}

Result<ConstantPtr> read_weights(Builder& builder, const Call& call, const Operand& x, std::size_t rank) {
  RUNNEL_ASSIGN(const ConstantPtr weights, builder.constant(call, 1));
  if (weights == nullptr || weights->dims.size() != rank || (rank == 4 && x.dims.size() != 4)) {
    return call.fail() << "input rank " << x.dims.size() << ", weights rank "
                       << (weights == nullptr ? 0 : weights->dims.size()) << ", expected weights of rank "
                       << rank;
  }
  return weights;
}

}  // namespace

// Weights [outputs, height, width, inputs].
Status convert_quantized_conv(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const ConstantPtr weights, read_weights(builder, call, x, 4));
  if (weights->dims[3] < 1 || x.dims[1] % weights->dims[3] != 0)
    return call.fail() << "weights for " << weights->dims[3] << " channels of an input of " << x.dims[1];
  return emit_conv(builder, call, x, *weights, x.dims[1] / weights->dims[3], {6, 7, 8, 9, 10, 11});
}

// Weights [1, height, width, outputs].
Status convert_quantized_depthwise(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const ConstantPtr weights, read_weights(builder, call, x, 4));
  RUNNEL_ASSIGN(const std::int64_t times, builder.integer(call, 6, 1, 1 << 16));
  if (weights->dims[0] != 1 || weights->dims[3] != times * x.dims[1]) {
    return call.fail() << "weights for " << weights->dims[3] << " outputs, expected " << times
                       << " for each of " << x.dims[1] << " channels";
  }
  return emit_conv(builder, call, x, transposed(*weights, {3, 1, 2, 0}), x.dims[1], {7, 8, 9, 10, 11, 12});
}

// The sums of the weights are there to save time, and follow from them.
Status convert_quantized_linear(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const ConstantPtr weights, read_weights(builder, call, x, 2));
  RUNNEL_TRY(builder.integer(call, 5, 0, 0).status());
  RUNNEL_ASSIGN(const TensorId input, builder.plain(call, x));
  RUNNEL_ASSIGN(const TensorId y, emit_layer(builder, call, OpCode::fully_connected, x, input, *weights,
                                             FullyConnectedOptions{}, {4, 6, 7, 8, 10, 9}));
  return builder.result(call, builder.computed(y, identity_perm(x.dims.size())));
}

namespace {

Status emit_pool(Builder& builder, const Call& call, OpCode code, bool dilated, std::size_t ceiling,
                 std::optional<ClipOptions> clip) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_TRY(expect_bytes(call, x));
  if (x.dims.size() != 4 || x.constant != nullptr)
    return call.fail(Code::unsupported) << "input rank " << x.dims.size() << ", expected 4";
  RUNNEL_ASSIGN(PoolOptions options, read_pool_window(builder, call, dilated));
  RUNNEL_ASSIGN(const bool ceil, builder.boolean(call, ceiling));
  if (ceil) return call.fail(Code::unsupported) << "with a ceiling";
  options.count_padding = false;
  const Perm perm = channels_last_perm(4);
  RUNNEL_ASSIGN(const TensorId input, builder.stored(call, x, perm));
  RUNNEL_ASSIGN(TensorId y, builder.emit(call, code, {input}, options, {}, Arithmetic::tflite));
  if (clip) {
    RUNNEL_ASSIGN(y, builder.emit(call, OpCode::clip, {y}, *clip, {}, Arithmetic::tflite));
  }
  return builder.result(call, builder.computed(y, perm));
}

}  // namespace

// Input and output have one scale, so that the kernel does not use zero point, multiplier and shift.
Status convert_quantized_average_pool(Builder& builder, const Call& call) {
  return emit_pool(builder, call, OpCode::average_pool, false, 4, std::nullopt);
}

Status convert_quantized_max_pool(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const std::int64_t in_zero, builder.integer(call, 6));
  RUNNEL_ASSIGN(const std::int64_t out_zero, builder.integer(call, 7));
  if (in_zero != out_zero)
    return call.fail(Code::unsupported)
           << "zero points " << in_zero << " and " << out_zero << ", expected one";
  RUNNEL_ASSIGN(const std::int64_t low, builder.integer(call, 8, -128, 127));
  RUNNEL_ASSIGN(const std::int64_t high, builder.integer(call, 9, low, 127));
  std::optional<ClipOptions> clip;
  if (low > -128 || high < 127) {
    clip.emplace();
    clip->low = static_cast<int>(low);
    clip->high = static_cast<int>(high);
  }
  return emit_pool(builder, call, OpCode::max_pool, true, 5, clip);
}

// Which axis its numbers belong to is not certain, so that only those of no effect are taken.
Status convert_quantized_pad(Builder& builder, const Call& call) {
  for (const std::size_t position : {std::size_t{1}, std::size_t{2}}) {
    RUNNEL_ASSIGN(const auto pads, builder.integers(call, position));
    if (std::ranges::any_of(pads, [](std::int64_t pad) { return pad != 0; }))
      return call.fail(Code::unsupported) << "padding of more than 0";
  }
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  return builder.result(call, x);
}

}  // namespace runnel::compiler::pte_source
