// Transposed convolution, one- and two-dimensional, grouped and depthwise. A stream keeps its last inputs,
// not partial sums (docs/streaming.md), so that every output is rounded once from all its inputs.
#include "kernels/conv/transposed_conv.h"

#include <algorithm>

#include "inference/ops/definitions.h"
#include "inference/ops/support.h"
#include "streaming/certainty.h"

namespace runnel::ops {
namespace {

struct BoundTransposed : BoundOperator {
  kernels::TransposedConv conv;
  Operand x;
  std::int32_t y = -1;
  std::int32_t batch = 1;
  std::size_t x_bytes = 0, y_bytes = 0;  // of one batch entry
  bool reference = false;
};

void run_transposed(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundTransposed&>(self);
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  for (std::int32_t b = 0; b < op.batch; ++b, x += op.x_bytes, y += op.y_bytes) {
    if (op.reference)
      kernels::transposed_conv_reference(op.conv.spec, x, y);
    else
      kernels::run_transposed_conv(op.conv, x, y, context.scratch);
  }
}

// The rule along height (true) or width, which the whole clip uses as well.
streaming::NodeRule rule_of(const fb::TransposedConvOptions& o, const Shape& weights, bool height) noexcept {
  streaming::NodeRule rule;
  rule.kind = streaming::Kind::upsample;
  rule.kernel = height ? weights[1] : weights[2];
  rule.stride = height ? o.stride_height() : o.stride_width();
  rule.dilation = height ? o.dilation_height() : o.dilation_width();
  rule.left = height ? o.crop_top() : o.crop_left();
  rule.right = height ? o.crop_bottom() : o.crop_right();
  rule.padding = streaming::Padding::zero_point;
  return rule;
}

Status check_numbers(const Model& model, const fb::Operator& op, std::int32_t channels) noexcept {
  const TensorView x = input(model, op, 0), w = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_quantized(x, "the input"));
  RUNNEL_TRY(check_quantized(y, "the output"));
  if (!w.constant || w.dtype != x.dtype || y.dtype != x.dtype) {
    return Status(Code::unsupported) << "input " << name_of(x.dtype) << ", weights " << name_of(w.dtype)
                                     << ", output " << name_of(y.dtype)
                                     << ", expected one type and constant weights";
  }
  const bool per_channel =
      static_cast<std::int32_t>(w.exponents.size()) == channels && (channels == 1 || w.channel_axis == 0);
  if ((w.exponents.size() != 1 && !per_channel) || w.zero_point() != 0)
    return Status(Code::unsupported)
           << "weights without one exponent for all or per output channel, or with a zero point";
  if (input_index(op, 2) < 0) return {};
  const TensorView bias = input(model, op, 2);
  const DType wide = x.dtype == DType::int8 ? DType::int32 : DType::int64;
  if (!bias.constant || bias.dtype != wide || bias.shape.elements() != channels) {
    return Status(Code::invalid_data) << "the bias is not a constant of " << channels << ' ' << name_of(wide);
  }
  for (std::size_t i = 0; i < bias.exponents.size(); ++i) {
    const int expected = x.exponent() + w.exponents[w.exponents.size() == 1 ? 0 : i];
    if (bias.exponents[i] != expected) {
      return Status(Code::invalid_data)
             << "bias exponent " << static_cast<int>(bias.exponents[i]) << " of channel " << i
             << ", expected " << expected << " (input plus weight)";
    }
  }
  return {};
}

Status check_transposed(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 3));
  RUNNEL_ASSIGN(const fb::TransposedConvOptions* const o, options<fb::TransposedConvOptions>(op));
  const TensorView x = input(model, op, 0), w = input(model, op, 1), y = output(model, op);
  if ((x.shape.rank != 3 && x.shape.rank != 4) || w.shape.rank != 4) {
    return Status(Code::unsupported) << "an input of rank " << x.shape.rank << " and weights of rank "
                                     << w.shape.rank << ", expected 3 or 4, and 4";
  }
  constexpr std::int32_t kMax = 1 << 12;
  for (const std::int32_t positive :
       {o->stride_height(), o->stride_width(), o->dilation_height(), o->dilation_width()}) {
    if (positive < 1 || positive > kMax)
      return Status(Code::invalid_data)
             << "a stride or dilation of " << positive << ", expected 1 to " << kMax;
  }
  // Frames made of nothing but the bias can be added after the result, not before it.
  for (const std::int32_t crop : {o->crop_top(), o->crop_left()}) {
    if (crop < 0 || crop > kMax)
      return Status(Code::unsupported) << "a crop of " << crop << " in front, expected 0 to " << kMax;
  }
  for (const std::int32_t crop : {o->crop_bottom(), o->crop_right()}) {
    if (crop < -kMax || crop > kMax)
      return Status(Code::unsupported) << "a crop of " << crop << " after, expected at most " << kMax;
  }
  const std::int32_t channels = x.shape[x.shape.rank - 1], groups = o->groups();
  if (groups < 1 || channels % groups != 0 || w.shape[0] % groups != 0 || w.shape[3] != channels / groups) {
    return Status(Code::invalid_data) << "weights for " << w.shape[3] << " channels in " << groups
                                      << " groups, but the input has " << channels;
  }
  if (std::int64_t{w.shape[1]} * w.shape[2] * w.shape[3] > (1 << 16))
    return Status(Code::unsupported) << "a kernel of more than 65536 products";
  Shape expected = x.shape;
  const int width = x.shape.rank - 2;
  for (const bool height : {false, true}) {
    const int axis = height ? width - 1 : width;
    const std::int64_t length =
        streaming::output_length(rule_of(*o, w.shape, height), axis == 0 ? 1 : x.shape[axis]);
    if (length > (1 << 30))
      return Status(Code::unsupported) << "an output of " << length << " elements along axis " << axis;
    if (axis > 0)
      expected[axis] = static_cast<std::int32_t>(length);
    else if (length != 1)
      return Status(Code::invalid_data) << "a kernel, stride or crop in height for an input without height";
  }
  expected[x.shape.rank - 1] = w.shape[0];
  RUNNEL_TRY(expect_shape(y.shape, expected, "the output"));
  return check_numbers(model, op, w.shape[0]);
}

Status stream_transposed(const Model& model, const fb::Operator& op, TimeAxes axes,
                         streaming::NodeRule& rule) noexcept {
  const int rank = input(model, op, 0).shape.rank;
  axes.back() = axes[0];
  if (axes[0] == 0) return {};
  if (axes[0] == rank - 1)
    return Status(Code::unsupported) << "mixes time into its channels: time is axis "
                                     << static_cast<int>(axes[0]) << " of " << rank;
  rule = rule_of(*op.options_as_TransposedConvOptions(), input(model, op, 1).shape, axes[0] == rank - 3);
  return {};
}

Result<const BoundOperator*> prepare_transposed(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::TransposedConvOptions& o = *op.options_as_TransposedConvOptions();
  RUNNEL_ASSIGN(BoundTransposed* const bound, allocate<BoundTransposed>(context, run_transposed));
  const std::int32_t x_tensor = input_index(op, 0);
  const TensorView from = input(context.model(), op, 0), w = input(context.model(), op, 1),
                   to = output(context.model(), op);
  const Shape x = context.shape(x_tensor), y = context.shape(output_index(op));
  const int width = x.rank - 2, time = context.time_axis(x_tensor);
  kernels::TransposedConvSpec spec;
  spec.dtype = from.dtype;
  spec.in_channels = x[x.rank - 1];
  spec.out_channels = w.shape[0];
  spec.groups = o.groups();
  spec.weights = w.data.data();
  spec.bias =
      input_index(op, 2) >= 0 ? static_cast<const void*>(input(context.model(), op, 2).data.data()) : nullptr;
  for (const bool height : {false, true}) {
    const int axis = height ? width - 1 : width;
    const streaming::NodeRule rule = rule_of(o, w.shape, height);
    kernels::TransposedAxis& along = height ? spec.height : spec.width;
    along.kernel = static_cast<std::int32_t>(rule.kernel);
    along.stride = static_cast<std::int32_t>(rule.stride);
    along.dilation = static_cast<std::int32_t>(rule.dilation);
    along.offset = rule.left;
    if (axis == 0) continue;  // an input without height
    along.in = x[axis];
    along.out = y[axis];
    if (!context.streamed() || axis != time) continue;
    // Output f of a block is at m = f - e before which `context` inputs are kept
    // (streaming/plan.cpp).
    const TimeWindow window = context.window(0);
    along.in = static_cast<std::int32_t>(window.frames);
    along.offset = window.back_frames * rule.stride - streaming::certainty(rule);
  }
  spec.requant.rounding = rounding_of(op);
  spec.requant.count = static_cast<std::int32_t>(w.exponents.size());
  auto* shifts = context.memory().array<std::int32_t>(w.exponents.size());
  if (shifts == nullptr)
    return Status(Code::out_of_memory) << "no memory for " << w.exponents.size() << " shifts";
  for (std::size_t i = 0; i < w.exponents.size(); ++i)
    shifts[i] = to.exponent() - w.exponents[i] - from.exponent();
  spec.requant.shift = shifts;
  activation_range(to.dtype, 0, native(o.activation()), spec.requant.low, spec.requant.high);
  RUNNEL_TRY(kernels::prepare_transposed_conv(spec, context.memory(), bound->conv));
  context.request_scratch(bound->conv.scratch_bytes);
  bound->reference = context.isa() == Isa::reference;
  context.chose_kernel({bound->reference ? Isa::reference : Isa::generic, ""});
  if (bound->reference) RUNNEL_TRY(context.read_constant(input_index(op, 1), &bound->conv.spec.weights));
  if (spec.bias != nullptr) RUNNEL_TRY(context.read_constant(input_index(op, 2), &bound->conv.spec.bias));
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->batch = x[0];
  bound->x_bytes = static_cast<std::size_t>(x.product(1, x.rank)) * size_of(from.dtype);
  bound->y_bytes = static_cast<std::size_t>(y.product(1, y.rank)) * size_of(to.dtype);
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kTransposedConv{OpCode::transposed_conv, Arithmetic::espdl, "transposed_conv",
                                         check_transposed,        stream_transposed, prepare_transposed};

}  // namespace runnel::ops
