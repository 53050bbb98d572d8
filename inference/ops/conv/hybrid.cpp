// Convolution and fully connected layers with float32 activations and int8 weights.
#include "kernels/hybrid.h"

#include <algorithm>

#include "inference/ops/affine.h"
#include "inference/ops/definitions.h"

namespace runnel::ops {
namespace {

struct BoundHybrid : BoundOperator {
  kernels::HybridConvSpec spec;
  Operand x;
  std::int32_t y = -1;
  std::int64_t rows = 1, x_row = 0, y_row = 0;  // elements
};

void run_hybrid(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundHybrid&>(self);
  const auto* x = reinterpret_cast<const float*>(op.x.at(context));
  auto* y = reinterpret_cast<float*>(context.data[op.y]);
  for (std::int64_t row = 0; row < op.rows; ++row) {
    kernels::hybrid_conv(op.spec, x + row * op.x_row, y + row * op.y_row, context.scratch);
  }
}

Status check_numbers(const Model& model, const fb::Operator& op, std::int32_t channels,
                     Activation activation) noexcept {
  const TensorView x = input(model, op, 0), w = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_plain_activation(activation));
  RUNNEL_TRY(check_number(x, true, "the input"));
  RUNNEL_TRY(check_number(y, true, "the output"));
  const bool scaled =
      w.scales.size() == 1 || (static_cast<std::int32_t>(w.scales.size()) == channels && w.channel_axis == 0);
  const bool symmetric =
      std::all_of(w.zero_points.begin(), w.zero_points.end(), [](std::int32_t zero) { return zero == 0; });
  if (!w.constant || w.dtype != DType::int8 || !scaled || !symmetric)
    return Status(Code::unsupported) << "weights that are no constant int8 with scales and zero point 0";
  if (input_index(op, 2) < 0) return {};
  const TensorView bias = input(model, op, 2);
  if (bias.constant && bias.dtype == DType::float32 && bias.shape.elements() == channels) return {};
  return Status(Code::invalid_data) << "the bias is not a constant of " << channels << " float32";
}

Result<BoundHybrid*> bind(PrepareContext& context, Activation activation) noexcept {
  const fb::Operator& op = context.op();
  const TensorView w = input(context.model(), op, 1);
  RUNNEL_ASSIGN(BoundHybrid* const bound, allocate<BoundHybrid>(context, run_hybrid));
  kernels::HybridConvSpec& spec = bound->spec;
  spec.weights = w.data.data();
  RUNNEL_TRY(context.read_constant(input_index(op, 1), &spec.weights));
  if (input_index(op, 2) >= 0) {
    spec.bias = input(context.model(), op, 2).data.data();
    RUNNEL_TRY(context.read_constant(input_index(op, 2), &spec.bias));
  }
  spec.scales = w.scales.data();
  spec.per_channel = w.scales.size() > 1;
  spec.relu = activation == Activation::relu;
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  return bound;
}

Result<const BoundOperator*> complete(PrepareContext& context, BoundHybrid* bound) noexcept {
  kernels::HybridConvSpec& spec = bound->spec;
  RUNNEL_TRY(kernels::use_vectors(context.isa(), context.memory(), spec));
  context.chose_kernel({spec.rows == nullptr ? Isa::generic : vector_level(context.isa()),
                        spec.packed != nullptr ? "packed rows of int8"
                        : spec.sums == nullptr ? "rows of int8"
                                               : "int8 as floats"});
  context.request_scratch(spec.scratch_bytes());
  return static_cast<const BoundOperator*>(bound);
}

// The scale belongs to the whole input, so that blocks of a stream would give other numbers.
Status stream_hybrid(const Model&, const fb::Operator&, TimeAxes, streaming::NodeRule&) noexcept {
  return Status(Code::unsupported) << "scales its activations by the largest of the whole input; run the "
                                      "model in usage `window` or `whole`";
}

// ---- convolution: x [.., height, width, C], weights [N, kernel height, kernel width, C/groups]
Status check_conv(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 3));
  RUNNEL_ASSIGN(const fb::ConvOptions* const o, options<fb::ConvOptions>(op));
  const TensorView x = input(model, op, 0), w = input(model, op, 1), y = output(model, op);
  if (x.shape.rank != 4 || w.shape.rank != 4 || y.shape.rank != 4)
    return Status(Code::invalid_data) << "input rank " << x.shape.rank << ", expected 4";
  constexpr std::int32_t kMax = 1 << 16;
  for (const std::int32_t value :
       {o->stride_height(), o->stride_width(), o->dilation_height(), o->dilation_width(), o->groups()}) {
    if (value < 1 || value > kMax)
      return Status(Code::invalid_data)
             << "a stride, dilation or group count of " << value << ", expected 1 to " << kMax;
  }
  for (const std::int32_t value : {o->pad_top(), o->pad_left(), o->pad_bottom(), o->pad_right()}) {
    if (value < 0 || value > kMax)
      return Status(Code::invalid_data) << "padding of " << value << ", expected 0 to " << kMax;
  }
  if (x.shape[3] % o->groups() != 0 || w.shape[0] % o->groups() != 0 ||
      w.shape[3] != x.shape[3] / o->groups()) {
    return Status(Code::invalid_data) << "weights for " << w.shape[3] << " channels in " << o->groups()
                                      << " groups, but the input has " << x.shape[3];
  }
  const auto size = [](std::int64_t in, std::int64_t pads, std::int64_t kernel, std::int64_t dilation,
                       std::int64_t stride) {
    const std::int64_t room = in + pads - ((kernel - 1) * dilation + 1);
    return static_cast<std::int32_t>(room < 0 ? 0 : room / stride + 1);
  };
  Shape expected = x.shape;
  expected[1] =
      size(x.shape[1], o->pad_top() + o->pad_bottom(), w.shape[1], o->dilation_height(), o->stride_height());
  expected[2] =
      size(x.shape[2], o->pad_left() + o->pad_right(), w.shape[2], o->dilation_width(), o->stride_width());
  expected[3] = w.shape[0];
  RUNNEL_TRY(expect_shape(y.shape, expected, "the output"));
  return check_numbers(model, op, w.shape[0], native(o->activation()));
}

Result<const BoundOperator*> prepare_conv(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::ConvOptions& o = *op.options_as_ConvOptions();
  RUNNEL_ASSIGN(BoundHybrid* const bound, bind(context, native(o.activation())));
  const Shape x = context.shape(input_index(op, 0)), y = context.shape(output_index(op)),
              w = input(context.model(), op, 1).shape;
  kernels::HybridConvSpec& spec = bound->spec;
  spec.in_height = x[1];
  spec.in_width = x[2];
  spec.in_channels = x[3];
  spec.out_height = y[1];
  spec.out_width = y[2];
  spec.out_channels = y[3];
  spec.kernel_height = w[1];
  spec.kernel_width = w[2];
  spec.stride_height = o.stride_height();
  spec.stride_width = o.stride_width();
  spec.dilation_height = o.dilation_height();
  spec.dilation_width = o.dilation_width();
  spec.pad_top = o.pad_top();
  spec.pad_left = o.pad_left();
  spec.groups = o.groups();
  bound->rows = x[0];
  bound->x_row = x.product(1, 4);
  bound->y_row = y.product(1, 4);
  return complete(context, bound);
}

// ---- fully connected: x [.., C], weights [N, C]
Status check_fully_connected(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 3));
  RUNNEL_ASSIGN(const fb::FullyConnectedOptions* const o, options<fb::FullyConnectedOptions>(op));
  const TensorView x = input(model, op, 0), w = input(model, op, 1), y = output(model, op);
  if (x.shape.rank < 1 || w.shape.rank != 2 || w.shape[1] != x.shape[x.shape.rank - 1])
    return Status(Code::invalid_data) << "weights that do not fit the input's channels";
  Shape expected = x.shape;
  expected[x.shape.rank - 1] = w.shape[0];
  RUNNEL_TRY(expect_shape(y.shape, expected, "the output"));
  return check_numbers(model, op, w.shape[0], native(o->activation()));
}

Result<const BoundOperator*> prepare_fully_connected(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  RUNNEL_ASSIGN(BoundHybrid* const bound,
                bind(context, native(op.options_as_FullyConnectedOptions()->activation())));
  const Shape x = context.shape(input_index(op, 0)), w = input(context.model(), op, 1).shape;
  bound->spec.in_channels = w[1];
  bound->spec.out_channels = w[0];
  bound->rows = x.product(0, x.rank - 1);
  bound->x_row = w[1];
  bound->y_row = w[0];
  return complete(context, bound);
}

}  // namespace

const OperatorDefinition kConvHybrid{OpCode::conv, Arithmetic::hybrid, "conv",
                                     check_conv,   stream_hybrid,      prepare_conv};
const OperatorDefinition kFullyConnectedHybrid{OpCode::fully_connected, Arithmetic::hybrid,
                                               "fully_connected",       check_fully_connected,
                                               stream_hybrid,           prepare_fully_connected};

}  // namespace runnel::ops
