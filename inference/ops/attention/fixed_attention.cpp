// Attention over a window of frames in fixed point (version 2).
#include "inference/ops/attention/any_scale.h"
#include "inference/ops/attention/bound_attention.h"
#include "inference/ops/definitions.h"

namespace runnel::ops {

template <class T>
void run_fixed_attention(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundFixedAttention&>(self);
  each_query<T>(op, context,
                [&](const T* query, const T* keys, const T* values, std::int32_t h, std::int64_t first,
                    std::int64_t count, T* y) {
                  const T* const rows = op.distances == nullptr ? nullptr
                                                                : static_cast<const T*>(op.distances) +
                                                                      first * op.spec.distance_stride +
                                                                      h * op.distance_head_stride;
                  kernels::attend_as(op.spec, count, query, keys, values,
                                     op.bias == nullptr ? nullptr : op.bias + h * op.bias_stride + first,
                                     rows, y, context.scratch);
                });
}
template void run_fixed_attention<std::int8_t>(const BoundOperator&, const RunContext&) noexcept;
template void run_fixed_attention<std::int16_t>(const BoundOperator&, const RunContext&) noexcept;

namespace {

// What a product of integers at these scales is in units of scores.
double score_factor(double query, double key, float scale) noexcept {
  return query * key * static_cast<double>(scale) / kernels::kScoreUnit;
}

Status check_attention(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 3, 5));
  RUNNEL_ASSIGN(const fb::AttentionOptions* const o, options<fb::AttentionOptions>(op));
  for (int i = 0; i < 4; ++i)
    RUNNEL_TRY(check_any_scale(i < 3 ? input(model, op, i) : output(model, op), "an operand"));
  if (has_input(op, kBias)) RUNNEL_TRY(check_plain_int32(input(model, op, kBias), "the table of biases"));
  if (has_input(op, kDistances)) {
    const TensorView table = input(model, op, kDistances);
    RUNNEL_TRY(check_any_scale(table, "the table of distances"));
    if (!table.constant || table.dtype != input(model, op, kQueries).dtype || table.zero_point() != 0)
      return Status(Code::unsupported)
             << "the table of distances is no constant of the queries' type with zero point 0";
  }
  std::int32_t distance_channels = 0;
  RUNNEL_TRY(check_attention_window(model, op, distance_channels));
  if (std::int64_t{o->left()} + o->chunk() + o->right() > kernels::kMaxFixedKeys)
    return Status(Code::unsupported) << "a window of " << std::int64_t{o->left()} + o->chunk() + o->right()
                                     << " keys, expected at most " << kernels::kMaxFixedKeys;
  if (!(o->real_scale() > 0 && o->real_scale() < 1e9f))
    return Status(Code::invalid_data) << "a factor of scores that is not above 0 and below 1e9";
  return {};
}

Result<const BoundOperator*> prepare_attention(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const Model& model = context.model();
  const TensorView q = input(model, op, kQueries), k = input(model, op, kKeys), v = input(model, op, kValues),
                   y = output(model, op);
  RUNNEL_ASSIGN(
      BoundFixedAttention* const bound,
      allocate<BoundFixedAttention>(context, q.dtype == DType::int16 ? run_fixed_attention<std::int16_t>
                                                                     : run_fixed_attention<std::int8_t>));
  bind_window(context, *bound);
  const float factor = op.options_as_AttentionOptions()->real_scale();
  kernels::FixedAttentionSpec& spec = bound->spec;
  spec.dtype = q.dtype;
  spec.key_size = bound->key_size;
  spec.value_size = bound->value_size;
  spec.distance_size = bound->distance_size;
  spec.key_stride = std::int64_t{bound->heads} * bound->key_size;
  spec.value_stride = std::int64_t{bound->heads} * bound->value_size;
  spec.query_zero = q.zero_point();
  spec.value_zero = v.zero_point();
  spec.y_zero = y.zero_point();
  spec.score = kernels::multiplier_of(score_factor(scale_of(q), scale_of(k), factor));
  spec.result =
      kernels::multiplier_of(scale_of(v) / scale_of(y) / static_cast<double>(1 << kernels::kMixBits));
  spec.sums = &kernels::fixed_attention_sums(context.isa());
  if (has_input(op, kBias)) {
    const TensorView table = input(model, op, kBias);
    bound->bias = reinterpret_cast<const std::int32_t*>(table.data.data());
    bound->bias_stride = table.shape[0] == 1 ? 0 : table.shape[1];
    RUNNEL_TRY(context.read_constant(input_index(op, kBias), &bound->bias));
  }
  if (has_input(op, kDistances)) {
    const TensorView table = input(model, op, kDistances);
    bound->distances = table.data.data();
    spec.distance = kernels::multiplier_of(score_factor(scale_of(q), scale_of(table), factor));
    spec.distance_stride = std::int64_t{table.shape[1]} * table.shape[2];
    bound->distance_head_stride = table.shape[1] == 1 ? 0 : table.shape[2];
    RUNNEL_TRY(context.read_constant(input_index(op, kDistances), &bound->distances));
  }
  const Isa isa = context.isa();
  context.chose_kernel({isa < Isa::avx2   ? Isa::generic
                        : isa < Isa::neon ? Isa::avx2
                                          : vector_level(isa),
                        "pairs of 16-bit products"});
  context.request_scratch(spec.scratch_bytes(bound->most_keys));
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kFixedAttention{OpCode::attention, Arithmetic::fixed_point, "attention",
                                         check_attention,   stream_attention,        prepare_attention};

}  // namespace runnel::ops
