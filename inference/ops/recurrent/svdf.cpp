// Rank-decomposed filters over features and time that keep their last results from call to call.
#include "kernels/recurrent/svdf.h"

#include <bit>
#include <cstring>
#include <limits>

#include "inference/ops/affine.h"
#include "inference/ops/definitions.h"

namespace runnel::ops {
namespace {

struct BoundSvdf : BoundOperator {
  kernels::SvdfSpec spec;
  Operand x;
  std::int32_t y = -1;
  std::size_t state = 0, values = 0;
};

void run_svdf(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundSvdf&>(self);
  kernels::svdf(op.spec, op.x.at(context), context.state + op.state, context.data[op.y]);
}
void reset_svdf(const BoundOperator& self, std::byte* state) noexcept {
  const auto& op = static_cast<const BoundSvdf&>(self);
  for (std::size_t i = 0; i < op.values; ++i) {
    if (op.spec.state == DType::float32)
      reinterpret_cast<float*>(state + op.state)[i] = 0;
    else
      kernels::store(op.spec.state, state + op.state, i, op.spec.state_zero);
  }
}

// e of a state's scale 2^e, which is given as a float; anything else: nothing.
bool state_exponent(float scale, int& exponent) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  exponent = static_cast<int>(bits >> 23) - 127;
  return (bits & 0x7fffff) == 0 && exponent >= -100 && exponent <= 100;
}

Status check_svdf(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 3, 4));
  RUNNEL_ASSIGN(const fb::SvdfOptions* const o, options<fb::SvdfOptions>(op));
  const TensorView x = input(model, op, 0), features = input(model, op, 1), time = input(model, op, 2),
                   y = output(model, op);
  const bool floats = x.dtype == DType::float32;
  const auto state = static_cast<DType>(o->state_dtype());
  if (arithmetic_of(op) == Arithmetic::shifts) {
    int exponent = 0;
    for (const auto& [tensor, what] :
         {std::pair{x, "the input"}, std::pair{features, "the weights over features"},
          std::pair{time, "the weights over time"}, std::pair{y, "the output"}}) {
      RUNNEL_TRY(check_quantized(tensor, what));
    }
    if (x.dtype != DType::int8 || !state_exponent(o->state_scale(), exponent) || o->state_zero_point() != 0) {
      return Status(Code::unsupported)
             << name_of(x.dtype) << " with a state whose scale is no power of two or whose zero point is "
             << o->state_zero_point();
    }
    if (native(o->activation()) > Activation::relu)
      return Status(Code::unsupported)
             << "activation " << static_cast<int>(o->activation()) << " of tensors without scales";
  } else if (!floats) {
    RUNNEL_TRY(check_affine(x, false, "the input"));
    RUNNEL_TRY(check_affine(y, false, "the output"));
    const bool one_scale = features.scales.size() == 1 && time.scales.size() == 1 &&
                           features.zero_point() == 0 && time.zero_point() == 0;
    if (x.dtype != DType::int8 || !is_integer(state) || !one_scale)
      return Status(Code::unsupported) << name_of(x.dtype) << " with a state of " << name_of(state)
                                       << ", expected int8 with int8 or int16 and weights of one scale each";
    if (!(o->state_scale() > 0) || !(o->state_scale() < 1e30f) || o->state_zero_point() < -128 ||
        o->state_zero_point() > 127)
      return Status(Code::invalid_data) << "the state's scale or zero point is out of range";
    if (state == DType::int16 && o->state_zero_point() != 0)
      return Status(Code::unsupported) << "an int16 state with zero point " << o->state_zero_point();
  } else if (state != DType::float32) {
    return Status(Code::unsupported) << "float32 with a state of " << name_of(state);
  }
  if (features.dtype != x.dtype || y.dtype != x.dtype || time.dtype != state || !features.constant ||
      !time.constant) {
    return Status(Code::unsupported) << "weights " << name_of(features.dtype) << " and "
                                     << name_of(time.dtype)
                                     << ", expected constants of the input's and the state's type";
  }
  if (o->activation() > fb::Activation::MAX)
    return Status(Code::invalid_data) << "activation " << static_cast<int>(o->activation());
  if (x.shape.rank != 2 || features.shape.rank != 2 || time.shape.rank != 2 ||
      features.shape[1] != x.shape[1] || time.shape[0] != features.shape[0] || o->rank() < 1 ||
      features.shape[0] % o->rank() != 0) {
    return Status(Code::invalid_data)
           << "weights that do not fit an input of " << (x.shape.rank == 2 ? x.shape[1] : 0)
           << " features in rank " << o->rank();
  }
  Shape expected = x.shape;
  expected[1] = features.shape[0] / o->rank();
  RUNNEL_TRY(expect_shape(y.shape, expected, "the output"));
  if (input_index(op, 3) < 0) return {};
  const TensorView bias = input(model, op, 3);
  const DType wide = floats ? DType::float32 : DType::int32;
  if (bias.constant && bias.dtype == wide && bias.shape.elements() == expected[1]) return {};
  return Status(Code::invalid_data) << "the bias is not a constant of " << expected[1] << ' '
                                    << name_of(wide);
}

Status stream_svdf(const Model&, const fb::Operator&, TimeAxes, streaming::NodeRule&) noexcept {
  return Status(Code::unsupported) << "keeps its state from call to call: the model runs in steps of the "
                                      "length it was exported for (`infer --sequence`)";
}

Result<const BoundOperator*> prepare_svdf(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::SvdfOptions& o = *op.options_as_SvdfOptions();
  RUNNEL_ASSIGN(BoundSvdf* const bound, allocate<BoundSvdf>(context, run_svdf));
  const TensorView x = input(context.model(), op, 0), features = input(context.model(), op, 1),
                   time = input(context.model(), op, 2), y = output(context.model(), op);
  kernels::SvdfSpec& spec = bound->spec;
  spec.dtype = x.dtype;
  spec.state = time.dtype;
  spec.batches = x.shape[0];
  spec.inputs = x.shape[1];
  spec.filters = features.shape[0];
  spec.rank = o.rank();
  spec.memory = time.shape[1];
  spec.feature_weights = features.data.data();
  spec.time_weights = time.data.data();
  RUNNEL_TRY(context.read_constant(input_index(op, 1), &spec.feature_weights));
  RUNNEL_TRY(context.read_constant(input_index(op, 2), &spec.time_weights));
  if (input_index(op, 3) >= 0) {
    spec.bias = input(context.model(), op, 3).data.data();
    RUNNEL_TRY(context.read_constant(input_index(op, 3), &spec.bias));
  }
  if (arithmetic_of(op) == Arithmetic::shifts) {
    int state = 0;
    state_exponent(o.state_scale(), state);
    spec.features.rounding = spec.time.rounding = rounding_of(op);
    spec.features.shift = state - x.exponent() - features.exponent();
    spec.time.shift = y.exponent() - state - time.exponent();
    activation_range(y.dtype, 0, native(o.activation()), spec.low, spec.high);
  } else if (x.dtype == DType::float32) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    spec.low_value = native(o.activation()) == Activation::none           ? -infinity
                     : native(o.activation()) == Activation::relu_n1_to_1 ? -1.0f
                                                                          : 0.0f;
    spec.high_value = native(o.activation()) == Activation::relu6          ? 6.0f
                      : native(o.activation()) == Activation::relu_n1_to_1 ? 1.0f
                                                                           : infinity;
  } else {
    // The reference computes both ratios in float32. It applies no activation to integers: y's own range is
    // the limit.
    spec.features.multiplier =
        kernels::multiplier_of(static_cast<double>(x.scales[0] * features.scales[0] / o.state_scale()));
    spec.time.multiplier =
        kernels::multiplier_of(static_cast<double>(o.state_scale() * time.scales[0] / y.scales[0]));
    spec.x_zero = x.zero_point();
    spec.state_zero = o.state_zero_point();
    spec.y_zero = y.zero_point();
  }
  bound->reset = reset_svdf;
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->values = static_cast<std::size_t>(spec.batches) * static_cast<std::size_t>(spec.filters) *
                  static_cast<std::size_t>(spec.memory);
  bound->state = context.request_state(bound->values * size_of(spec.state));
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kSvdf{OpCode::svdf, Arithmetic::espdl, "svdf",
                               check_svdf,   stream_svdf,       prepare_svdf};
const OperatorDefinition kSvdfShifts{OpCode::svdf, Arithmetic::shifts, "svdf",
                                     check_svdf,   stream_svdf,        prepare_svdf};  // powers of two

}  // namespace runnel::ops
