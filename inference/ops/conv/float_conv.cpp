#include "inference/ops/conv/float_conv.h"

#include "inference/ops/support.h"
#include "kernels/float32/conv_float.h"

namespace runnel::ops {
namespace {

struct BoundFloatConv : BoundOperator {
  kernels::FloatConv conv;
  Operand x;
  std::int32_t y = -1;
  std::int32_t batch = 1;
  std::size_t x_bytes = 0, y_bytes = 0;  // of one batch entry
};

void run_float_conv(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundFloatConv&>(self);
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  for (std::int32_t b = 0; b < op.batch; ++b, x += op.x_bytes, y += op.y_bytes) {
    op.conv.run(reinterpret_cast<const float*>(x), reinterpret_cast<float*>(y), context.scratch);
  }
}

}  // namespace

Result<const BoundOperator*> prepare_float_conv_op(PrepareContext& context, const kernels::ConvSpec& spec,
                                                   Activation activation, std::int32_t batch,
                                                   std::size_t x_bytes, std::size_t y_bytes) noexcept {
  const fb::Operator& op = context.op();
  RUNNEL_ASSIGN(BoundFloatConv* const bound, allocate<BoundFloatConv>(context, run_float_conv));
  kernels::FloatConvSpec f;
  f.in_height = spec.in_height;
  f.in_width = spec.in_width;
  f.in_channels = spec.in_channels;
  f.out_height = spec.out_height;
  f.out_width = spec.out_width;
  f.out_channels = spec.out_channels;
  f.kernel_height = spec.kernel_height;
  f.kernel_width = spec.kernel_width;
  f.stride_height = spec.stride_height;
  f.stride_width = spec.stride_width;
  f.dilation_height = spec.dilation_height;
  f.dilation_width = spec.dilation_width;
  f.pad_top = spec.pad_top;
  f.pad_left = spec.pad_left;
  f.groups = spec.groups;
  f.weights = reinterpret_cast<const float*>(input(context.model(), op, 1).data.data());
  if (input_index(op, 2) >= 0)
    f.bias = reinterpret_cast<const float*>(input(context.model(), op, 2).data.data());
  if (activation == Activation::relu) f.limits.low = 0;
  const Absorbed next = context.absorbed();
  if (next.kind == Absorbed::Kind::clip) f.limits = f.limits.then({next.low, next.high});
  RUNNEL_TRY(kernels::prepare_float_conv(f, context.isa(), context.memory(), bound->conv));
  context.chose_kernel(
      {vector_level(context.isa()), bound->conv.matrices == nullptr ? "depthwise" : "dense"});
  context.request_scratch(bound->conv.scratch_bytes);
  bound->x = operand(context, 0);
  bound->y = next.kind == Absorbed::Kind::none ? output_index(op) : next.output;
  bound->batch = batch;
  bound->x_bytes = x_bytes;
  bound->y_bytes = y_bytes;
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace runnel::ops
