// Normalization frame by frame: layer_norm and rms_norm over the axes from `axis` on, lp_norm along one axis.
// Computed in float32 with sums of a fixed order, ESP-DL's order of operations; integers are rounded once at
// the end.
#include <cmath>

#include "inference/ops/attention/bound_attention.h"
#include "inference/ops/definitions.h"

namespace runnel::ops {
namespace {

// Eight partial sums, joined pairwise, then what is left: the same bits on every machine.
template <class F>
float sum_of(std::int64_t count, F&& term) noexcept {
  float lanes[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::int64_t lane = 0; lane < 8; ++lane) lanes[lane] += term(i + lane);
  }
  float sum =
      ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  for (; i < count; ++i) sum += term(i);
  return sum;
}

// Sum of the elements as they stand: exact for integers.
template <class T>
float mean_of(const BoundNorm& op, const T* x) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    return sum_of(op.count, [&](std::int64_t i) { return x[i * op.inner]; }) / static_cast<float>(op.count);
  } else {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < op.count; ++i) sum += x[i * op.inner];
    return static_cast<float>(static_cast<double>(sum) / static_cast<double>(op.count));
  }
}

template <class T>
void put(const BoundNorm& op, float value, T* y) noexcept {
  if constexpr (std::is_same_v<T, float>)
    *y = value;
  else
    *y = kernels::saturate<T>(kernels::round_float(value * op.y_scale, op.rounding));
}

template <class T, class U>
void normalize(const BoundNorm& op, const T* x, U* y) noexcept {
  const auto at = [&](std::int64_t i) { return static_cast<float>(x[i * op.inner]); };
  const auto n = static_cast<float>(op.count);
  float mean = 0, factor = 0;
  switch (op.kind) {
    case Norm::layer: {
      mean = mean_of(op, x);
      const float squares = sum_of(op.count, [&](std::int64_t i) { return (at(i) - mean) * (at(i) - mean); });
      factor = 1.0f / std::sqrt(squares * (op.x_scale * op.x_scale) / n + op.epsilon);
      break;
    }
    case Norm::rms: {
      const float squares = sum_of(op.count, [&](std::int64_t i) { return at(i) * at(i); });
      factor = 1.0f / std::sqrt(squares * (op.x_scale * op.x_scale) / n + op.epsilon);
      break;
    }
    case Norm::lp: {
      const float norm =
          op.p == 1 ? sum_of(op.count, [&](std::int64_t i) { return std::fabs(at(i)); }) * op.x_scale
                    : std::sqrt(sum_of(op.count, [&](std::int64_t i) { return at(i) * at(i); })) * op.x_scale;
      factor = norm > 0 ? 1.0f / norm : 0.0f;  // a vector of zeros stays one
      break;
    }
  }
  for (std::int64_t i = 0; i < op.count; ++i) {
    float value = (at(i) * op.x_scale - mean * op.x_scale) * factor;
    if (op.gain != nullptr) value *= op.gain[i];
    if (op.offset != nullptr) value += op.offset[i];
    put(op, value, y + i * op.inner);
  }
}

}  // namespace

template <class X, class Y>
void run_norm_as(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundNorm&>(self);
  const auto* const x = reinterpret_cast<const X*>(op.x.at(context));
  auto* const y = reinterpret_cast<Y*>(context.data[op.y]);
  for (std::int64_t row = 0; row < op.outer; ++row) {
    for (std::int64_t k = 0; k < op.inner; ++k)
      normalize(op, x + row * op.count * op.inner + k, y + row * op.count * op.inner + k);
  }
}

namespace {

using Run = void (*)(const BoundOperator&, const RunContext&) noexcept;
template <class X>
Run run_to(DType to) noexcept {
  return to == DType::int8    ? run_norm_as<X, std::int8_t>
         : to == DType::int16 ? run_norm_as<X, std::int16_t>
                              : run_norm_as<X, float>;
}
Run run_of(DType from, DType to) noexcept {
  return from == DType::int8    ? run_to<std::int8_t>(to)
         : from == DType::int16 ? run_to<std::int16_t>(to)
                                : run_to<float>(to);
}

Status check_real_or_quantized(const TensorView& tensor, std::string_view what) noexcept {
  return tensor.dtype == DType::float32 ? Status() : check_quantized(tensor, what);
}

template <Norm kKind>
Status check_norm(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, kKind == Norm::lp ? 1 : 2,
                            kKind == Norm::layer ? 3
                            : kKind == Norm::rms ? 2
                                                 : 1));
  RUNNEL_ASSIGN(const fb::NormOptions* const o, options<fb::NormOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_real_or_quantized(x, "the input"));
  RUNNEL_TRY(check_real_or_quantized(y, "the output"));
  if (o->axis() < 0 || o->axis() >= x.shape.rank)
    return Status(Code::invalid_data) << "axis " << o->axis() << ", expected 0 to " << x.shape.rank - 1;
  if (!(o->epsilon() >= 0) || o->epsilon() > 1e30f)
    return Status(Code::invalid_data) << "an epsilon that is not a number of at least 0";
  if (kKind == Norm::lp && o->p() != 1 && o->p() != 2)
    return Status(Code::unsupported) << "p = " << o->p() << ", expected 1 or 2";
  const std::int64_t count = x.shape.product(o->axis(), x.shape.rank);
  for (int i = 1; i < static_cast<int>(op.inputs()->size()); ++i) {
    if (input_index(op, i) < 0) continue;
    const TensorView factor = input(model, op, i);
    const std::string_view what = i == 1 ? "the scale" : "the bias";
    RUNNEL_TRY(check_real_or_quantized(factor, what));
    if (!factor.constant || factor.shape.elements() != count) {
      return Status(Code::unsupported) << what << " is not a constant of " << count
                                       << " elements, one for each that is normalized together";
    }
  }
  return expect_shape(y.shape, x.shape, "the output");
}

template <Norm kKind>
Status stream_norm(const Model&, const fb::Operator& op, TimeAxes axes, streaming::NodeRule&) noexcept {
  const int axis = op.options_as_NormOptions()->axis();
  if (kKind == Norm::lp ? axes[0] == axis : axes[0] >= axis) {
    return Status(Code::unsupported) << "normalizes over the whole recording; normalize over channels, or "
                                        "run the model in usage `window`";
  }
  axes.back() = axes[0];
  return {};
}

// A factor per element as float32; none when there is no such input.
Status bind_factors(PrepareContext& context, int position, const float*& factors) noexcept {
  if (input_index(context.op(), position) < 0) return {};
  const TensorView tensor = input(context.model(), context.op(), position);
  const auto count = static_cast<std::size_t>(tensor.shape.elements());
  if (tensor.dtype == DType::float32) {
    factors = reinterpret_cast<const float*>(tensor.data.data());
    return context.read_constant(input_index(context.op(), position), &factors);
  }
  auto* const values = context.memory().array<float>(count);
  if (values == nullptr) return Status(Code::out_of_memory) << "no memory for " << count << " factors";
  const float scale = kernels::power_of_two(tensor.exponent());
  for (std::size_t i = 0; i < count; ++i) {
    values[i] =
        scale * (tensor.dtype == DType::int8
                     ? static_cast<float>(reinterpret_cast<const std::int8_t*>(tensor.data.data())[i])
                     : static_cast<float>(reinterpret_cast<const std::int16_t*>(tensor.data.data())[i]));
  }
  factors = values;
  return {};
}

template <Norm kKind>
Result<const BoundOperator*> prepare_norm(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::NormOptions& o = *op.options_as_NormOptions();
  const TensorView x = input(context.model(), op, 0), y = output(context.model(), op);
  RUNNEL_ASSIGN(BoundNorm* const bound, allocate<BoundNorm>(context, run_of(x.dtype, y.dtype)));
  const Shape shape = context.shape(input_index(op, 0));
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->from = x.dtype;
  bound->to = y.dtype;
  bound->kind = kKind;
  bound->p = o.p();
  bound->outer = shape.product(0, o.axis());
  bound->count = kKind == Norm::lp ? shape[o.axis()] : shape.product(o.axis(), shape.rank);
  bound->inner = kKind == Norm::lp ? shape.product(o.axis() + 1, shape.rank) : 1;
  bound->x_scale = is_integer(x.dtype) ? kernels::power_of_two(x.exponent()) : 1.0f;
  bound->y_scale = is_integer(y.dtype) ? kernels::power_of_two(-y.exponent()) : 1.0f;
  bound->epsilon = o.epsilon();
  bound->rounding = rounding_of(op);
  RUNNEL_TRY(bind_factors(context, 1, bound->gain));
  RUNNEL_TRY(bind_factors(context, 2, bound->offset));
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kLayerNorm{
    OpCode::layer_norm,       Arithmetic::espdl,         "layer_norm",  check_norm<Norm::layer>,
    stream_norm<Norm::layer>, prepare_norm<Norm::layer>, InPlace::first};
const OperatorDefinition kRmsNorm{OpCode::rms_norm,      Arithmetic::espdl,      "rms_norm",
                                  check_norm<Norm::rms>, stream_norm<Norm::rms>, prepare_norm<Norm::rms>,
                                  InPlace::first};
const OperatorDefinition kLpNorm{OpCode::lp_norm,      Arithmetic::espdl,     "lp_norm",
                                 check_norm<Norm::lp>, stream_norm<Norm::lp>, prepare_norm<Norm::lp>,
                                 InPlace::first};

}  // namespace runnel::ops
