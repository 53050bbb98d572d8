// Attention over a window of frames: products of floats, and of integers with the softmax of softmax.h.
#include "inference/ops/attention/bound_attention.h"
#include "inference/ops/definitions.h"

namespace runnel::ops {
namespace {

// What a score has from the distance of its key, for one head and the first key.
struct Distances {
  const float* bias = nullptr;
  const float* rows = nullptr;
};

// One query of one head over `count` keys; strides in elements.
template <class T>
void attend(const BoundAttention& op, const T* query, const T* keys, const T* values, Distances distances,
            std::int64_t count, T* y, std::byte* scratch) noexcept {
  T* const scores = reinterpret_cast<T*>(scratch);
  T* const weights = reinterpret_cast<T*>(scratch + op.weights_offset);
  const std::int64_t key_stride = std::int64_t{op.heads} * op.key_size,
                     value_stride = std::int64_t{op.heads} * op.value_size;
  for (std::int64_t i = 0; i < count; ++i) {
    const T* const key = keys + i * key_stride;
    if constexpr (std::is_same_v<T, float>) {
      float sum = 0;
      for (std::int32_t c = 0; c < op.key_size; ++c) sum += query[c] * key[c];
      if (distances.rows != nullptr) {
        const float* const row = distances.rows + i * op.distance_stride;
        float part = 0;
        for (std::int32_t c = 0; c < op.distance_size; ++c) part += query[op.key_size + c] * row[c];
        sum += part;
      }
      scores[i] = sum * op.real_scale;
      if (distances.bias != nullptr) scores[i] += distances.bias[i];
    } else {
      std::int64_t sum = 0;
      for (std::int32_t c = 0; c < op.key_size; ++c) sum += std::int32_t{query[c]} * std::int32_t{key[c]};
      std::int64_t score = kernels::saturate<T>(kernels::round_shift(sum, op.score_shift, op.rounding));
      if (op.scale != 0)
        score = kernels::saturate<T>(kernels::round_shift(score * op.scale, op.scale_shift, op.rounding));
      scores[i] = static_cast<T>(score);
    }
  }
  kernels::SoftmaxSpec spec = op.softmax;
  spec.count = static_cast<std::size_t>(count);
  kernels::softmax(spec, scores, weights, reinterpret_cast<float*>(scratch + op.powers_offset));
  for (std::int32_t c = 0; c < op.value_size; ++c) {
    std::conditional_t<std::is_same_v<T, float>, float, std::int64_t> sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, float>)
        sum += weights[i] * values[i * value_stride + c];
      else
        sum += std::int32_t{weights[i]} * std::int32_t{values[i * value_stride + c]};
    }
    if constexpr (std::is_same_v<T, float>)
      y[c] = sum;
    else
      y[c] = kernels::saturate<T>(kernels::round_shift(sum, op.sum_shift, op.rounding));
  }
}

}  // namespace

template <class T>
void run_window_attention(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundAttention&>(self);
  each_query<T>(op, context,
                [&](const T* query, const T* keys, const T* values, std::int32_t h, std::int64_t first,
                    std::int64_t count, T* y) {
                  Distances distances;
                  if (op.bias != nullptr) distances.bias = op.bias + h * op.bias_stride + first;
                  if (op.distances != nullptr)
                    distances.rows = op.distances + first * op.distance_stride + h * op.distance_head_stride;
                  attend(op, query, keys, values, distances, count, y, context.scratch);
                });
}
template void run_window_attention<std::int8_t>(const BoundOperator&, const RunContext&) noexcept;
template void run_window_attention<std::int16_t>(const BoundOperator&, const RunContext&) noexcept;
template void run_window_attention<float>(const BoundOperator&, const RunContext&) noexcept;

namespace {

Status check_attention(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 3, 5));
  RUNNEL_ASSIGN(const fb::AttentionOptions* const o, options<fb::AttentionOptions>(op));
  const TensorView q = input(model, op, kQueries);
  for (int i = 0; i < 4; ++i)
    RUNNEL_TRY(check_number(i < 3 ? input(model, op, i) : output(model, op), q.dtype == DType::float32,
                            "an operand"));
  for (int i = kBias; i <= kDistances; ++i) {
    if (!has_input(op, i)) continue;
    const TensorView table = input(model, op, i);
    if (!table.constant || table.dtype != DType::float32 || q.dtype != DType::float32)
      return Status(Code::unsupported) << (i == kBias ? "the table of biases" : "the table of distances")
                                       << " is no constant of float32 beside operands of float32";
  }
  std::int32_t distance_channels = 0;
  RUNNEL_TRY(check_attention_window(model, op, distance_channels));
  const std::int32_t largest = q.dtype == DType::int8 ? 127 : 32767;
  if (o->scale() < -largest || o->scale() > largest)
    return Status(Code::invalid_data) << "a scale of " << o->scale() << ", expected at most " << largest;
  for (const int exponent :
       {o->score_exponent(), o->scale_exponent(), o->scaled_exponent(), o->weight_exponent()}) {
    if (exponent < -40 || exponent > 40)
      return Status(Code::invalid_data) << "an exponent of " << exponent << ", expected -40 to 40";
  }
  return {};
}

Result<const BoundOperator*> prepare_attention(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::AttentionOptions& o = *op.options_as_AttentionOptions();
  const Model& model = context.model();
  const TensorView q = input(model, op, kQueries), k = input(model, op, kKeys), v = input(model, op, kValues),
                   y = output(model, op);
  RUNNEL_ASSIGN(
      BoundAttention* const bound,
      allocate<BoundAttention>(context, q.dtype == DType::int8    ? run_window_attention<std::int8_t>
                                        : q.dtype == DType::int16 ? run_window_attention<std::int16_t>
                                                                  : run_window_attention<float>));
  bind_window(context, *bound);
  bound->dtype = q.dtype;
  bound->rounding = bound->softmax.rounding = rounding_of(op);
  bound->softmax.from = bound->softmax.to = q.dtype;
  bound->softmax.isa = context.isa();
  bound->softmax.x_exponent = o.scale() != 0 ? o.scaled_exponent() : o.score_exponent();
  bound->softmax.y_exponent = o.weight_exponent();
  bound->score_shift = o.score_exponent() - q.exponent() - k.exponent();
  bound->scale = o.scale();
  bound->scale_shift = o.scaled_exponent() - o.score_exponent() - o.scale_exponent();
  bound->sum_shift = y.exponent() - o.weight_exponent() - v.exponent();
  bound->real_scale = o.real_scale();
  if (has_input(op, kBias)) {
    const TensorView table = input(model, op, kBias);
    bound->bias = reinterpret_cast<const float*>(table.data.data());
    bound->bias_stride = table.shape[0] == 1 ? 0 : table.shape[1];
    RUNNEL_TRY(context.read_constant(input_index(op, kBias), &bound->bias));
  }
  if (has_input(op, kDistances)) {
    const TensorView table = input(model, op, kDistances);
    bound->distances = reinterpret_cast<const float*>(table.data.data());
    bound->distance_stride = std::int64_t{table.shape[1]} * table.shape[2];
    bound->distance_head_stride = table.shape[1] == 1 ? 0 : table.shape[2];
    RUNNEL_TRY(context.read_constant(input_index(op, kDistances), &bound->distances));
  }
  const auto aligned = [](std::size_t bytes) { return (bytes + 15) / 16 * 16; };
  const auto count = static_cast<std::size_t>(bound->most_keys);
  bound->weights_offset = aligned(count * size_of(q.dtype));
  bound->powers_offset = 2 * bound->weights_offset;
  context.request_scratch(bound->powers_offset + 2 * count * sizeof(float));
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kAttention{OpCode::attention, Arithmetic::espdl, "attention",
                                    check_attention,   stream_attention,  prepare_attention};

}  // namespace runnel::ops
