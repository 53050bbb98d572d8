// Softmax of int8 and int16 along the last axis in fixed point, as TensorFlow Lite computes it (version 3).
#include "inference/ops/affine.h"
#include "inference/ops/attention/bound_attention.h"
#include "inference/ops/definitions.h"

namespace runnel::ops {
namespace {

void run_affine_softmax(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundAffineSoftmax&>(self);
  kernels::affine_softmax(op.spec, op.x.at(context), context.data[op.y]);
}

// Along the last axis: AxisOptions name it, FunctionOptions bring a factor for the differences (alpha,
// TensorFlow's beta).
float beta_of(const fb::Operator& op) noexcept {
  const fb::FunctionOptions* const o = op.options_as_FunctionOptions();
  return o == nullptr ? 1.0f : o->alpha();
}

Status check_softmax(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  if (!(beta_of(op) > 0) || !(beta_of(op) < 1e6f))
    return Status(Code::unsupported) << "a beta that is not above 0 and below 1000000";
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_affine(x, "the input"));
  RUNNEL_TRY(check_affine(y, "the output"));
  const bool wide = x.dtype == DType::int16;
  if (!is_integer(x.dtype) || !is_integer(y.dtype) || (wide && y.dtype != DType::int16)) {
    return Status(Code::unsupported) << name_of(x.dtype) << " to " << name_of(y.dtype)
                                     << ", expected int8 to int8 or int16, or int16 to int16";
  }
  if (wide && x.zero_point() != 0)
    return Status(Code::unsupported) << "an int16 input with zero point " << x.zero_point();
  const int parts = wide ? 32768 : y.dtype == DType::int16 ? 65536 : 256;
  const std::int32_t zero = wide ? 0 : kernels::lowest(y.dtype);
  const float scale = 1.0f / static_cast<float>(parts);
  if (!(y.scales[0] > scale * 0.999f && y.scales[0] < scale * 1.001f) || y.zero_point() != zero) {
    return Status(Code::unsupported) << "an output whose scale or zero point is not that of fractions of "
                                     << parts;
  }
  const fb::AxisOptions* const o = op.options_as_AxisOptions();
  if (o == nullptr && op.options_as_FunctionOptions() == nullptr)
    return Status(Code::invalid_data) << "its options are missing or of another type";
  if (x.shape.rank < 1) return Status(Code::invalid_data) << "a scalar";
  if (o != nullptr && o->axis() != x.shape.rank - 1)
    return Status(Code::unsupported) << "axis " << o->axis() << ", expected the last one, "
                                     << x.shape.rank - 1;
  return expect_shape(y.shape, x.shape, "the output");
}

Status stream_softmax(const Model& model, const fb::Operator& op, TimeAxes axes,
                      streaming::NodeRule&) noexcept {
  if (axes[0] == input(model, op, 0).shape.rank - 1) {
    return Status(Code::unsupported)
           << "sums over the whole recording; give it a window of frames, or run the model in usage `window`";
  }
  axes.back() = axes[0];
  return {};
}

Result<const BoundOperator*> prepare_softmax(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const Shape shape = context.shape(input_index(op, 0));
  RUNNEL_ASSIGN(BoundAffineSoftmax* const bound, allocate<BoundAffineSoftmax>(context, run_affine_softmax));
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->spec.from = input(context.model(), op, 0).dtype;
  bound->spec.to = output(context.model(), op).dtype;
  bound->spec.rows = static_cast<std::size_t>(shape.product(0, shape.rank - 1));
  bound->spec.count = static_cast<std::size_t>(shape[shape.rank - 1]);
  kernels::set_scales(bound->spec, input(context.model(), op, 0).scales[0], beta_of(op));
  if (context.isa() >= Isa::avx2 && bound->spec.from == DType::int8) {
    auto* const table = context.memory().array<std::int32_t>(kernels::kExponentials);
    if (table == nullptr) return Status(Code::out_of_memory) << "no memory for a table of exponentials";
    kernels::fill_exponentials(bound->spec, table);
    bound->spec.exponentials = table;
    context.chose_kernel({Isa::generic, "table"});
  }
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kSoftmaxTflite{OpCode::softmax, Arithmetic::tflite, "softmax",
                                        check_softmax,   stream_softmax,     prepare_softmax};

}  // namespace runnel::ops
