// Convolution in every form (1-D, 2-D, depthwise, grouped) and fully connected layers.
#include "kernels/conv/conv.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "inference/ops/affine.h"
#include "inference/ops/bound.h"
#include "inference/ops/conv/float_conv.h"
#include "inference/ops/definitions.h"
#include "inference/ops/support.h"

namespace runnel::ops {
namespace {

// Positions are shared out unless there are fewer of them than parts, and more channels.
bool by_positions(const kernels::Conv& conv, std::int32_t parts) noexcept {
  const kernels::ConvPart whole = kernels::whole_of(conv.spec);
  const std::int64_t blocks = ceil_div(whole.last, 4);
  return blocks >= parts || blocks >= ceil_div(whole.last_channel, conv.channel_group);
}

// Which piece of the output a part computes: neighbouring positions or neighbouring channels.
kernels::ConvPart piece(const kernels::Conv& conv, std::int32_t part, std::int32_t parts) noexcept {
  kernels::ConvPart piece = kernels::whole_of(conv.spec);
  if (by_positions(conv, parts)) {
    const PositionShare share = share_of(piece.last, part, parts);
    piece.first = share.first;
    piece.last = share.last;
  } else {
    const std::int64_t groups = ceil_div(piece.last_channel, conv.channel_group);
    piece.first_channel = static_cast<std::int32_t>(groups * part / parts * conv.channel_group);
    piece.last_channel = static_cast<std::int32_t>(
        std::min<std::int64_t>(piece.last_channel, groups * (part + 1) / parts * conv.channel_group));
  }
  return piece;
}

void run_piece(const BoundConv& op, const RunContext& context) noexcept {
  const kernels::ConvPart part = piece(op.conv, context.part, context.parts);
  if (part.first >= part.last || part.first_channel >= part.last_channel) return;
  const std::byte* x = op.x.at(context);
  const std::byte* addend = op.addend.tensor >= 0 ? op.addend.at(context) : nullptr;
  std::byte* y = context.data[op.y];
  std::byte* const scratch = context.scratch + static_cast<std::size_t>(context.part) * op.conv.scratch_bytes;
  for (std::int32_t b = 0; b < op.batch; ++b) {
    const std::size_t at = static_cast<std::size_t>(b) * op.y_bytes;
    op.conv.run_part(op.conv, part, x + static_cast<std::size_t>(b) * op.x_bytes,
                     addend == nullptr ? nullptr : addend + at, y + at, scratch);
  }
}

void run_conv(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundConv&>(self);
  if (context.parts > 1) return run_piece(op, context);
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  for (std::int32_t b = 0; b < op.batch; ++b, x += op.x_bytes, y += op.y_bytes)
    op.conv.run(op.conv, x, y, context.scratch);
}

// The usual case, and the same with a sum after the convolution.
void run_single(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundConv&>(self);
  op.conv.run(op.conv, op.x.at(context), context.data[op.y], context.scratch);
}
void run_single_sum(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundConv&>(self);
  op.conv.run_add(op.conv, op.x.at(context), op.addend.at(context), context.data[op.y], context.scratch);
}
void run_conv_sum(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundConv&>(self);
  if (context.parts > 1) return run_piece(op, context);
  const std::byte *x = op.x.at(context), *addend = op.addend.at(context);
  std::byte* y = context.data[op.y];
  for (std::int32_t b = 0; b < op.batch; ++b, x += op.x_bytes, addend += op.y_bytes, y += op.y_bytes) {
    op.conv.run_add(op.conv, x, addend, y, context.scratch);
  }
}

// The same layer of many sessions: rows at equal distances are one call. Sessions whose histories stand
// elsewhere in their rings break such a series, and a new one begins.
template <bool kSum>
void run_conv_together(const BoundOperator& self, const RunContext* contexts, int count) noexcept {
  const auto& op = static_cast<const BoundConv&>(self);
  const auto x_of = [&](int i) { return op.x.at(contexts[i]); };
  const auto y_of = [&](int i) { return contexts[i].data[op.y]; };
  const auto addend_of = [&](int i) { return kSum ? op.addend.at(contexts[i]) : nullptr; };
  for (int first = 0; first < count;) {
    kernels::ConvRows rows{x_of(first), 0, addend_of(first), 0, y_of(first), 0, 1};
    int next = first + 1;
    if (next < count) {
      const std::byte *x = x_of(first), *y = y_of(first), *addend = addend_of(first);
      rows.x_step = x_of(next) - x;
      rows.y_step = y_of(next) - y;
      if constexpr (kSum) rows.addend_step = addend_of(next) - addend;
      do {
        x += rows.x_step;
        y += rows.y_step;
        if constexpr (kSum) addend += rows.addend_step;
      } while (++next < count && x_of(next) == x + rows.x_step && y_of(next) == y + rows.y_step &&
               (!kSum || addend_of(next) == addend + rows.addend_step));
    }
    rows.count = next - first;
    op.conv.run_rows(op.conv, rows);
    first = next;
  }
}

// Dimension `back` places before the last one (channels: 0, width: 1, height: 2); 1 where there is none.
std::int32_t from_end(const Shape& shape, int back) noexcept {
  return shape.rank > back ? shape[shape.rank - 1 - back] : 1;
}

// Multipliers and shifts are operands 3 and 4, one for all or one per output channel; scales are ignored.
bool has_multipliers(const fb::Operator& op) noexcept { return arithmetic_of(op) == Arithmetic::multipliers; }

std::int32_t integer_at(const TensorView& tensor, std::size_t i) noexcept {
  std::int32_t value = 0;
  std::memcpy(&value, tensor.data.data() + i * sizeof value, sizeof value);
  return value;
}

Status check_multipliers(const Model& model, const fb::Operator& op, std::int32_t channels) noexcept {
  RUNNEL_TRY(check_affine(input(model, op, 0), "the input"));
  for (const int position : {3, 4}) {
    if (input_index(op, position) < 0)
      return Status(Code::invalid_data) << "input " << position << " is absent";
    const TensorView numbers = input(model, op, position);
    if (!numbers.constant || numbers.dtype != DType::int32 ||
        (numbers.shape.elements() != 1 && numbers.shape.elements() != channels)) {
      return Status(Code::invalid_data)
             << "input " << position << " is no constant int32 of 1 or " << channels;
    }
  }
  const TensorView multipliers = input(model, op, 3), shifts = input(model, op, 4);
  if (multipliers.shape.elements() != shifts.shape.elements()) {
    return Status(Code::invalid_data) << multipliers.shape.elements() << " multipliers and "
                                      << shifts.shape.elements() << " shifts, expected as many";
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(multipliers.shape.elements()); ++i) {
    const std::int32_t multiplier = integer_at(multipliers, i), shift = integer_at(shifts, i);
    if (multiplier != 0 && multiplier < (1 << 30))
      return Status(Code::invalid_data) << "multiplier " << multiplier << ", expected 0 or 2^30 to 2^31 - 1";
    if (shift < -31 || shift > 31)
      return Status(Code::invalid_data) << "a shift of " << shift << ", expected -31 to 31";
  }
  return {};
}

// The same for operands with scales and zero points: multipliers instead of shifts.
Status check_affine_weighted(const Model& model, const fb::Operator& op, std::int32_t channels) noexcept {
  const TensorView x = input(model, op, 0), w = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_affine(x, "the input"));
  RUNNEL_TRY(check_affine(y, "the output"));
  if (!is_integer(x.dtype) || w.dtype != x.dtype || y.dtype != x.dtype || !w.constant) {
    return Status(Code::unsupported) << "input " << name_of(x.dtype) << ", weights " << name_of(w.dtype)
                                     << ", output " << name_of(y.dtype)
                                     << ", expected int8 or int16 throughout and constant weights";
  }
  const bool per_channel =
      static_cast<std::int32_t>(w.scales.size()) == channels && (channels == 1 || w.channel_axis == 0);
  const bool scaled = w.scales.size() == 1 || per_channel || has_multipliers(op);
  if (!scaled) return Status(Code::unsupported) << "weights without one scale for all or per output channel";
  for (const std::int32_t zero : w.zero_points) {
    if (zero != 0) return Status(Code::unsupported) << "weights with a zero point of " << zero;
  }
  if (rounding_of(op) != kernels::Rounding::tflite_double && rounding_of(op) != kernels::Rounding::single) {
    return Status(Code::invalid_data) << "scales that are no powers of two, but a rounding of shifts";
  }
  if (input_index(op, 2) < 0) return {};
  const TensorView bias = input(model, op, 2);
  const DType wide = x.dtype == DType::int8 ? DType::int32 : DType::int64;
  if (bias.constant && bias.dtype == wide && bias.shape.elements() == channels) return {};
  return Status(Code::invalid_data) << "the bias is not a constant of " << channels << ' ' << name_of(wide);
}

Activation activation_of(const fb::Operator& op) noexcept {
  return code_of(op) == OpCode::conv ? native(op.options_as_ConvOptions()->activation())
                                     : native(op.options_as_FullyConnectedOptions()->activation());
}

// Weights, bias and scales that convolution and fully connected layers have in common. `channels`: of the
// output.
Status check_weighted(const Model& model, const fb::Operator& op, std::int32_t channels) noexcept {
  const TensorView x = input(model, op, 0), w = input(model, op, 1), y = output(model, op);
  if (has_multipliers(op)) RUNNEL_TRY(check_multipliers(model, op, channels));
  if (!x.scales.empty()) return check_affine_weighted(model, op, channels);
  const bool floats = x.dtype == DType::float32;
  RUNNEL_TRY(check_number(x, floats, "the input"));
  RUNNEL_TRY(check_number(y, floats, "the output"));
  RUNNEL_TRY(check_plain_activation(activation_of(op)));
  if (!w.constant) return Status(Code::unsupported) << "weights that are not a constant";
  if (w.dtype != x.dtype || y.dtype != x.dtype) {
    return Status(Code::unsupported) << "input " << name_of(x.dtype) << ", weights " << name_of(w.dtype)
                                     << ", output " << name_of(y.dtype) << ", expected one type";
  }
  if (floats) {
    if (input_index(op, 2) < 0) return {};
    const TensorView bias = input(model, op, 2);
    if (bias.constant && bias.dtype == DType::float32 && bias.shape.elements() == channels) return {};
    return Status(Code::invalid_data) << "the bias is not a constant of " << channels << " float32";
  }
  const bool per_channel =
      static_cast<std::int32_t>(w.exponents.size()) == channels && (channels == 1 || w.channel_axis == 0);
  if (w.exponents.size() != 1 && !per_channel)
    return Status(Code::unsupported) << "weights without one exponent for all or per output channel";
  if (w.zero_point() != 0) return Status(Code::unsupported) << "weights with a zero point";
  if (input_index(op, 2) >= 0) {
    const TensorView bias = input(model, op, 2);
    const DType wide = x.dtype == DType::int8 ? DType::int32 : DType::int64;
    if (!bias.constant || bias.dtype != wide || bias.shape.elements() != channels) {
      return Status(Code::invalid_data)
             << "the bias is not a constant of " << channels << ' ' << name_of(wide);
    }
    for (std::size_t i = 0; i < bias.exponents.size(); ++i) {
      const int expected = x.exponent() + w.exponents[w.exponents.size() == 1 ? 0 : i];
      if (bias.exponents[i] != expected) {
        return Status(Code::invalid_data)
               << "bias exponent " << static_cast<int>(bias.exponents[i]) << " of channel " << i
               << ", expected " << expected << " (input plus weight)";
      }
    }
  }
  return {};
}

// Multipliers as the model says them, or as TensorFlow Lite computes them: where all of a fully connected
// layer has one scale, with a product in float32.
Status bind_multipliers(PrepareContext& context, Activation activation, kernels::ConvSpec& spec) noexcept {
  const fb::Operator& op = context.op();
  const TensorView x = input(context.model(), op, 0), w = input(context.model(), op, 1),
                   y = output(context.model(), op);
  const bool said = has_multipliers(op);
  const std::size_t count =
      said ? static_cast<std::size_t>(input(context.model(), op, 3).shape.elements()) : w.scales.size();
  auto* const multipliers = context.memory().array<std::int32_t>(count);
  auto* const shifts = context.memory().array<std::int32_t>(count);
  if (multipliers == nullptr || shifts == nullptr)
    return Status(Code::out_of_memory) << "no memory for " << count << " multipliers";
  const bool one_product = code_of(op) == OpCode::fully_connected && count == 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (said) {
      multipliers[i] = integer_at(input(context.model(), op, 3), i);
      shifts[i] = integer_at(input(context.model(), op, 4), i);
      continue;
    }
    const double product = one_product ? static_cast<double>(x.scales[0] * w.scales[i])
                                       : static_cast<double>(x.scales[0]) * static_cast<double>(w.scales[i]);
    const kernels::Multiplier multiplier = kernels::multiplier_of(product / static_cast<double>(y.scales[0]));
    multipliers[i] =
        rounding_of(op) == kernels::Rounding::single ? kernels::reduced(multiplier.value) : multiplier.value;
    shifts[i] = multiplier.shift;
  }
  spec.in_zero_point = x.zero_point();
  spec.requant.multiplier = multipliers;
  spec.requant.shift = shifts;
  spec.requant.count = static_cast<std::int32_t>(count);
  spec.requant.zero_point = y.zero_point();
  affine_range(y, activation, spec.requant.low, spec.requant.high);
  return {};
}

// The part of a ConvSpec that follows from types and scales.
Status bind_numbers(PrepareContext& context, Activation activation, kernels::ConvSpec& spec) noexcept {
  const Model& model = context.model();
  const fb::Operator& op = context.op();
  const TensorView x = input(model, op, 0), w = input(model, op, 1), y = output(model, op);
  spec.dtype = x.dtype;
  spec.weights = w.data.data();
  spec.bias = input_index(op, 2) >= 0 ? static_cast<const void*>(input(model, op, 2).data.data()) : nullptr;
  spec.input_non_negative = x.non_negative;
  spec.requant.rounding = rounding_of(op);
  if (!x.scales.empty()) return bind_multipliers(context, activation, spec);
  spec.requant.count = static_cast<std::int32_t>(w.exponents.size());
  auto* shifts = context.memory().array<std::int32_t>(w.exponents.size());
  if (shifts == nullptr)
    return Status(Code::out_of_memory) << "no memory for " << w.exponents.size() << " shifts";
  for (std::size_t i = 0; i < w.exponents.size(); ++i)
    shifts[i] = y.exponent() - w.exponents[i] - x.exponent();
  spec.requant.shift = shifts;
  activation_range(y.dtype, 0, activation, spec.requant.low, spec.requant.high);
  return {};
}

Result<const BoundOperator*> finish(PrepareContext& context, kernels::ConvSpec& spec,
                                    BoundConv& bound) noexcept {
  const Absorbed sum = context.absorbed();
  spec.add = sum.kind == Absorbed::Kind::sum;
  // A depthwise multiply-add takes as long as several of a dense layer, and one channel as long as the others
  // that a vector has room for.
  constexpr std::int32_t kLanes = 8;
  const std::int64_t macs = kernels::macs(spec);
  const std::int64_t work = spec.groups > 1 ? macs * kLanes
                            : spec.out_channels > 0 && spec.out_channels < kLanes
                                ? macs / spec.out_channels * kLanes
                                : macs;
  bound.parts = context.parts(work * bound.batch);
  const bool single = bound.batch == 1 && bound.parts == 1;
  if (spec.add) {
    activation_range(spec.dtype, 0, sum.activation, spec.sum_low, spec.sum_high);
    bound.addend = {sum.addend, sum.back_bytes};
    bound.run = single ? run_single_sum : run_conv_sum;
  } else if (single) {
    bound.run = run_single;
  }
  RUNNEL_TRY(kernels::prepare_conv(spec, context.isa(), context.memory(), bound.conv));
  context.chose_kernel(kernels::kernel_choice(bound.conv));
  if (bound.conv.packed == nullptr) {
    RUNNEL_TRY(context.read_constant(input_index(context.op(), 1), &bound.conv.spec.weights));
    if (spec.bias != nullptr)
      RUNNEL_TRY(context.read_constant(input_index(context.op(), 2), &bound.conv.spec.bias));
  }
  if (bound.parts > 1 && bound.batch == 1 && by_positions(bound.conv, bound.parts)) {
    bound.positions = kernels::whole_of(spec).last;
    bound.same_positions = spec.kernel_height == 1 && spec.kernel_width == 1 && spec.stride_height == 1 &&
                           spec.stride_width == 1 && spec.pad_top == 0 && spec.pad_left == 0 &&
                           spec.in_height == spec.out_height && spec.in_width == spec.out_width;
  }
  bound.conv.scratch_bytes = align_up(bound.conv.scratch_bytes, 64);
  context.request_scratch(bound.conv.scratch_bytes * static_cast<std::size_t>(bound.parts));
  // Rows have no padding: of a stream it is in the history.
  const auto inside = [](std::int64_t size, std::int64_t kernel, std::int64_t dilation, std::int64_t pad) {
    return pad == 0 && (kernel - 1) * dilation < size;
  };
  const bool unpadded =
      context.streamed() || (inside(spec.in_height, spec.kernel_height, spec.dilation_height, spec.pad_top) &&
                             inside(spec.in_width, spec.kernel_width, spec.dilation_width, spec.pad_left));
  if (bound.conv.run_rows != nullptr && bound.batch == 1 && unpadded) {
    bound.run_together = spec.add ? run_conv_together<true> : run_conv_together<false>;
  }
  bound.x = operand(context, 0);
  bound.y = spec.add ? sum.output : output_index(context.op());
  constexpr std::int64_t kFar = std::int64_t{1} << 30;
  if (single && bound.conv.direct != nullptr && bound.x.back < kFar && bound.addend.back < kFar) {
    bound.direct = {bound.conv.direct,
                    bound.conv.extra,
                    bound.x.tensor,
                    bound.addend.tensor,
                    bound.y,
                    static_cast<std::int32_t>(bound.x.back),
                    static_cast<std::int32_t>(bound.addend.back)};
  }
  return static_cast<const BoundOperator*>(&bound);
}

// ---- convolution: x [.., (height,) width, C], weights [N, kernel height, kernel width, C/groups]
// ----------------------

std::int64_t output_size(std::int64_t size, std::int64_t before, std::int64_t after, std::int64_t kernel,
                         std::int64_t dilation, std::int64_t stride) noexcept {
  const std::int64_t room = size + before + after - ((kernel - 1) * dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

Status check_conv(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, has_multipliers(op) ? 5 : 3));
  RUNNEL_ASSIGN(const fb::ConvOptions* const o, options<fb::ConvOptions>(op));
  const TensorView x = input(model, op, 0), w = input(model, op, 1), y = output(model, op);
  if (x.shape.rank < 2 || w.shape.rank != 4 || y.shape.rank != x.shape.rank) {
    return Status(Code::invalid_data)
           << "input rank " << x.shape.rank << ", weights rank " << w.shape.rank << ", output rank "
           << y.shape.rank << ", expected at least 2, exactly 4, and as the input";
  }
  constexpr std::int32_t kMax = 1 << 16;
  for (const std::int32_t positive :
       {o->stride_height(), o->stride_width(), o->dilation_height(), o->dilation_width(), o->groups()}) {
    if (positive < 1 || positive > kMax)
      return Status(Code::invalid_data)
             << "a stride, dilation or group count of " << positive << ", expected 1 to " << kMax;
  }
  for (const std::int32_t pad : {o->pad_top(), o->pad_left(), o->pad_bottom(), o->pad_right()}) {
    if (pad < -kMax || pad > kMax)
      return Status(Code::invalid_data) << "padding of " << pad << ", expected at most " << kMax;
  }
  const std::int32_t channels = from_end(x.shape, 0);
  if (channels % o->groups() != 0 || w.shape[0] % o->groups() != 0 || w.shape[3] != channels / o->groups()) {
    return Status(Code::invalid_data) << "weights for " << w.shape[3] << " channels in " << o->groups()
                                      << " groups, but the input has " << channels;
  }
  const std::int64_t height = output_size(from_end(x.shape, 2), o->pad_top(), o->pad_bottom(), w.shape[1],
                                          o->dilation_height(), o->stride_height());
  const std::int64_t width = output_size(from_end(x.shape, 1), o->pad_left(), o->pad_right(), w.shape[2],
                                         o->dilation_width(), o->stride_width());
  Shape expected = x.shape;
  if (x.shape.rank > 2) expected[x.shape.rank - 3] = static_cast<std::int32_t>(height);
  expected[x.shape.rank - 2] = static_cast<std::int32_t>(width);
  expected[x.shape.rank - 1] = w.shape[0];
  RUNNEL_TRY(expect_shape(y.shape, expected, "the output"));
  return check_weighted(model, op, w.shape[0]);
}

Status stream_conv(const Model& model, const fb::Operator& op, TimeAxes axes,
                   streaming::NodeRule& rule) noexcept {
  const fb::ConvOptions& o = *op.options_as_ConvOptions();
  const TensorView x = input(model, op, 0), w = input(model, op, 1);
  const int axis = axes[0];
  rule.kind = streaming::Kind::window;
  rule.padding = streaming::Padding::zero_point;
  if (axis == x.shape.rank - 2) {
    rule.kernel = w.shape[2];
    rule.stride = o.stride_width();
    rule.dilation = o.dilation_width();
    rule.left = o.pad_left();
    rule.right = o.pad_right();
  } else if (axis == x.shape.rank - 3) {
    rule.kernel = w.shape[1];
    rule.stride = o.stride_height();
    rule.dilation = o.dilation_height();
    rule.left = o.pad_top();
    rule.right = o.pad_bottom();
  } else {
    return Status(Code::unsupported) << "mixes time into its channels: time is axis " << axis << " of "
                                     << x.shape.rank;
  }
  axes.back() = static_cast<std::int8_t>(axis);
  return {};
}

Result<const BoundOperator*> prepare_conv_op(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::ConvOptions& o = *op.options_as_ConvOptions();
  const std::int32_t x_tensor = input_index(op, 0);
  const Shape x = context.shape(x_tensor), y = context.shape(output_index(op)),
              w = input(context.model(), op, 1).shape;
  kernels::ConvSpec spec;
  spec.in_height = from_end(x, 2);
  spec.in_width = from_end(x, 1);
  spec.in_channels = from_end(x, 0);
  spec.out_height = from_end(y, 2);
  spec.out_width = from_end(y, 1);
  spec.out_channels = w[0];
  spec.kernel_height = w[1];
  spec.kernel_width = w[2];
  spec.stride_height = o.stride_height();
  spec.stride_width = o.stride_width();
  spec.dilation_height = o.dilation_height();
  spec.dilation_width = o.dilation_width();
  spec.pad_top = o.pad_top();
  spec.pad_left = o.pad_left();
  spec.groups = o.groups();
  const TimeWindow window = context.window(0);
  const int axis = context.time_axis(x_tensor);
  if (axis == x.rank - 2) {
    spec.in_width = static_cast<std::int32_t>(window.frames);
    spec.pad_left = static_cast<std::int32_t>(window.pad);
  } else if (axis >= 0) {
    spec.in_height = static_cast<std::int32_t>(window.frames);
    spec.pad_top = static_cast<std::int32_t>(window.pad);
  }
  const auto batch = static_cast<std::int32_t>(x.product(0, std::max(0, x.rank - 3)));
  const std::size_t element = size_of(input(context.model(), op, 0).dtype);
  const std::size_t x_bytes = static_cast<std::size_t>(x.product(std::max(0, x.rank - 3), x.rank)) * element;
  const std::size_t y_bytes = static_cast<std::size_t>(y.product(std::max(0, y.rank - 3), y.rank)) * element;
  if (input(context.model(), op, 0).dtype == DType::float32)
    return prepare_float_conv_op(context, spec, native(o.activation()), batch, x_bytes, y_bytes);
  RUNNEL_ASSIGN(BoundConv* const bound, allocate<BoundConv>(context, run_conv));
  bound->batch = batch;
  bound->x_bytes = x_bytes;
  bound->y_bytes = y_bytes;
  RUNNEL_TRY(bind_numbers(context, native(o.activation()), spec));
  return finish(context, spec, *bound);
}

// ---- fully connected: x [.., C], weights [N, C], y [.., N]
// -------------------------------------------------------------

Status check_fully_connected(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, has_multipliers(op) ? 5 : 3));
  RUNNEL_TRY(options<fb::FullyConnectedOptions>(op).status());
  const TensorView x = input(model, op, 0), w = input(model, op, 1), y = output(model, op);
  if (x.shape.rank < 1 || w.shape.rank != 2 || w.shape[1] != x.shape[x.shape.rank - 1]) {
    return Status(Code::invalid_data)
           << "weights of rank " << w.shape.rank << " for " << (w.shape.rank == 2 ? w.shape[1] : 0)
           << " channels, expected rank 2 for the input's channels";
  }
  Shape expected = x.shape;
  expected[x.shape.rank - 1] = w.shape[0];
  RUNNEL_TRY(expect_shape(y.shape, expected, "the output"));
  return check_weighted(model, op, w.shape[0]);
}

Status stream_fully_connected(const Model& model, const fb::Operator& op, TimeAxes axes,
                              streaming::NodeRule&) noexcept {
  const int rank = input(model, op, 0).shape.rank;
  if (axes[0] == rank - 1)
    return Status(Code::unsupported)
           << "sums over time; give it a window of frames (a convolution over time) instead";
  axes.back() = axes[0];
  return {};
}

Result<const BoundOperator*> prepare_fully_connected(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const Shape x = context.shape(input_index(op, 0)), w = input(context.model(), op, 1).shape;
  const Activation activation = native(op.options_as_FullyConnectedOptions()->activation());
  kernels::ConvSpec spec;
  spec.in_channels = w[1];
  spec.out_channels = w[0];
  spec.in_width = spec.out_width = static_cast<std::int32_t>(x.product(0, x.rank - 1));
  if (input(context.model(), op, 0).dtype == DType::float32)
    return prepare_float_conv_op(context, spec, activation, 1, 0, 0);
  RUNNEL_ASSIGN(BoundConv* const bound, allocate<BoundConv>(context, run_conv));
  RUNNEL_TRY(bind_numbers(context, activation, spec));
  return finish(context, spec, *bound);
}

}  // namespace

const OperatorDefinition kConv{OpCode::conv, Arithmetic::espdl, "conv",      check_conv,
                               stream_conv,  prepare_conv_op,   InPlace::no, true};
const OperatorDefinition kFullyConnected{
    OpCode::fully_connected, Arithmetic::espdl,       "fully_connected", check_fully_connected,
    stream_fully_connected,  prepare_fully_connected, InPlace::no,       true};
// Multipliers and shifts that the model says, as CMSIS-NN takes them.
const OperatorDefinition kConvMultipliers{OpCode::conv, Arithmetic::multipliers, "conv", check_conv,
                                          stream_conv,  prepare_conv_op};
const OperatorDefinition kFullyConnectedMultipliers{OpCode::fully_connected, Arithmetic::multipliers,
                                                    "fully_connected",       check_fully_connected,
                                                    stream_fully_connected,  prepare_fully_connected};

}  // namespace runnel::ops
