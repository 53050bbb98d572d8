// Softmax and its logarithm along one axis.
#include "inference/ops/attention/bound_attention.h"
#include "inference/ops/definitions.h"

namespace runnel::ops {

void run_softmax(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundSoftmax&>(self);
  kernels::softmax(op.spec, op.x.at(context), context.data[op.y], reinterpret_cast<float*>(context.scratch));
}

namespace {

Status check_softmax(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::AxisOptions* const o, options<fb::AxisOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_number(x, "the input"));
  RUNNEL_TRY(check_number(y, "the output"));
  if (o->axis() < 0 || o->axis() >= x.shape.rank)
    return Status(Code::invalid_data) << "axis " << o->axis() << ", expected 0 to " << x.shape.rank - 1;
  return expect_shape(y.shape, x.shape, "the output");
}

Status stream_softmax(const Model&, const fb::Operator& op, TimeAxes axes, streaming::NodeRule&) noexcept {
  if (axes[0] == op.options_as_AxisOptions()->axis()) {
    return Status(Code::unsupported)
           << "sums over the whole recording; give it a window of frames, or run the model in usage `window`";
  }
  axes.back() = axes[0];
  return {};
}

template <bool kLogarithm>
Result<const BoundOperator*> prepare_softmax(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const TensorView x = input(context.model(), op, 0), y = output(context.model(), op);
  const Shape shape = context.shape(input_index(op, 0));
  const int axis = op.options_as_AxisOptions()->axis();
  RUNNEL_ASSIGN(BoundSoftmax* const bound, allocate<BoundSoftmax>(context, run_softmax));
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  kernels::SoftmaxSpec& spec = bound->spec;
  spec.logarithm = kLogarithm;
  spec.from = x.dtype;
  spec.to = y.dtype;
  spec.x_exponent = x.exponent();
  spec.y_exponent = y.exponent();
  spec.rounding = rounding_of(op);
  spec.outer = static_cast<std::size_t>(shape.product(0, axis));
  spec.count = static_cast<std::size_t>(shape[axis]);
  spec.inner = static_cast<std::size_t>(shape.product(axis + 1, shape.rank));
  spec.isa = context.isa();
  context.chose_kernel({vector_level(context.isa()), "pairs of floats"});
  context.request_scratch(spec.scratch_floats() * sizeof(float));
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kSoftmax{OpCode::softmax, Arithmetic::espdl,      "softmax",     check_softmax,
                                  stream_softmax,  prepare_softmax<false>, InPlace::first};
const OperatorDefinition kLogSoftmax{OpCode::log_softmax, Arithmetic::espdl,     "log_softmax", check_softmax,
                                     stream_softmax,      prepare_softmax<true>, InPlace::first};

}  // namespace runnel::ops
