// Layer normalization in fixed point (version 2), frame by frame.
#include "inference/ops/attention/any_scale.h"
#include "inference/ops/attention/bound_attention.h"
#include "inference/ops/definitions.h"

namespace runnel::ops {
namespace {

void run_norm(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundFixedNorm&>(self);
  op.normalize(op.spec, op.x.at(context), context.data[op.y]);
}

bool has_offset(const fb::Operator& op) noexcept {
  return op.inputs()->size() > 2 && input_index(op, 2) >= 0;
}

Status check_norm(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 3));
  RUNNEL_ASSIGN(const fb::NormOptions* const o, options<fb::NormOptions>(op));
  const TensorView x = input(model, op, 0), gain = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_any_scale(x, "the input"));
  RUNNEL_TRY(check_any_scale(y, "the output"));
  if (o->axis() < 0 || o->axis() >= x.shape.rank)
    return Status(Code::invalid_data) << "axis " << o->axis() << ", expected 0 to " << x.shape.rank - 1;
  if (!(o->epsilon() >= 0) || o->epsilon() > 1e30f)
    return Status(Code::invalid_data) << "an epsilon that is not a number of at least 0";
  const std::int64_t count = x.shape.product(o->axis(), x.shape.rank);
  if (count < 1 || count > kernels::kMaxFixedNorm)
    return Status(Code::unsupported) << count << " elements that are normalized together, expected 1 to "
                                     << kernels::kMaxFixedNorm;
  RUNNEL_TRY(check_any_scale(gain, "the scale"));
  if (!gain.constant || gain.dtype != DType::int16 || gain.shape.elements() != count)
    return Status(Code::unsupported) << "the scale is not a constant of " << count << " int16";
  if (has_offset(op)) {
    const TensorView offset = input(model, op, 2);
    RUNNEL_TRY(check_plain_int32(offset, "the bias"));
    if (offset.shape.elements() != count)
      return Status(Code::unsupported)
             << "the bias has " << offset.shape.elements() << " elements, expected " << count;
    const auto* const values = reinterpret_cast<const std::int32_t*>(offset.data.data());
    for (std::int64_t i = 0; i < count; ++i) {
      if (values[i] < -kernels::kMaxNormOffset || values[i] > kernels::kMaxNormOffset)
        return Status(Code::invalid_data)
               << "a bias of " << values[i] << ", expected at most " << kernels::kMaxNormOffset;
    }
  }
  return expect_shape(y.shape, x.shape, "the output");
}

Status stream_norm(const Model&, const fb::Operator& op, TimeAxes axes, streaming::NodeRule&) noexcept {
  if (axes[0] >= op.options_as_NormOptions()->axis()) {
    return Status(Code::unsupported) << "normalizes over the whole recording; normalize over channels, or "
                                        "run the model in usage `window`";
  }
  axes.back() = axes[0];
  return {};
}

Result<const BoundOperator*> prepare_norm(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::NormOptions& o = *op.options_as_NormOptions();
  RUNNEL_ASSIGN(BoundFixedNorm* const bound, allocate<BoundFixedNorm>(context, run_norm));
  const TensorView x = input(context.model(), op, 0), gain = input(context.model(), op, 1),
                   y = output(context.model(), op);
  const Shape shape = context.shape(input_index(op, 0));
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  kernels::FixedLayerNormSpec& spec = bound->spec;
  spec.from = x.dtype;
  spec.to = y.dtype;
  spec.rows = static_cast<std::size_t>(shape.product(0, o.axis()));
  spec.count = static_cast<std::int32_t>(shape.product(o.axis(), shape.rank));
  const double in_units = static_cast<double>(spec.count) / scale_of(x);
  const double epsilon = static_cast<double>(o.epsilon()) * in_units * in_units + 0.5;
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  spec.epsilon = epsilon < static_cast<double>(kMost) ? static_cast<std::int64_t>(epsilon) : kMost;
  spec.gain = reinterpret_cast<const std::int16_t*>(gain.data.data());
  RUNNEL_TRY(context.read_constant(input_index(op, 1), &spec.gain));
  if (has_offset(op)) {
    spec.offset = reinterpret_cast<const std::int32_t*>(input(context.model(), op, 2).data.data());
    RUNNEL_TRY(context.read_constant(input_index(op, 2), &spec.offset));
  }
  spec.result = kernels::multiplier_of(scale_of(gain) * static_cast<double>(1 << (15 - kernels::kNormBits)) /
                                       scale_of(y));
  spec.y_zero = y.zero_point();
  bound->normalize = kernels::fixed_layer_norm_for(spec, context.isa());
  context.chose_kernel(
      {bound->normalize == kernels::fixed_layer_norm ? Isa::reference : vector_level(context.isa()), ""});
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kFixedLayerNorm{
    OpCode::layer_norm, Arithmetic::fixed_point, "layer_norm", check_norm, stream_norm,
    prepare_norm,       InPlace::first};

}  // namespace runnel::ops
