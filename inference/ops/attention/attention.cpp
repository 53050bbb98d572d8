// Attention over a window of frames: every query sees the keys around its chunk, per head. The keys and
// values of earlier frames are the histories of those tensors; frames that are not data are not seen.
#include <algorithm>

#include "inference/ops/definitions.h"
#include "inference/ops/support.h"
#include "kernels/softmax.h"

namespace runnel::ops {
namespace {

enum Position { kQueries, kKeys, kValues };

struct BoundAttention : BoundOperator {
  std::int32_t tensors[3] = {-1, -1, -1}, y = -1;
  DType dtype = DType::int8;
  bool fixed = false;  // no stream: all frames are here
  std::int64_t in_frames = 0, out_frames = 0;
  std::int64_t left = 0, right = 0, chunk = 1;
  std::int32_t heads = 1, key_size = 1, value_size = 1;
  kernels::SoftmaxSpec softmax;
  int score_shift = 0, scale = 0, scale_shift = 0, sum_shift = 0;
  float real_scale = 1;
  kernels::Rounding rounding = kernels::Rounding::half_up;
  std::size_t weights_offset = 0, powers_offset = 0;  // in the scratch memory; scores come first
};

// One query of one head over `count` keys; strides in elements.
template <class T>
void attend(const BoundAttention& op, const T* query, const T* keys, const T* values, std::int64_t count,
            T* y, std::byte* scratch) noexcept {
  T* const scores = reinterpret_cast<T*>(scratch);
  T* const weights = reinterpret_cast<T*>(scratch + op.weights_offset);
  const std::int64_t key_stride = std::int64_t{op.heads} * op.key_size,
                     value_stride = std::int64_t{op.heads} * op.value_size;
  for (std::int64_t i = 0; i < count; ++i) {
    const T* const key = keys + i * key_stride;
    if constexpr (std::is_same_v<T, float>) {
      float sum = 0;
      for (std::int32_t c = 0; c < op.key_size; ++c) sum += query[c] * key[c];
      scores[i] = sum * op.real_scale;
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

template <class T>
void run(const BoundAttention& op, const RunContext& context) noexcept {
  const FrameIndex out = op.fixed ? FrameIndex{0, op.out_frames} : context.index[op.y];
  // The frame with logical index t of an input; frames before its block are its history.
  const auto frame = [&](Position position, std::int64_t t, std::int64_t elements) {
    const std::int32_t tensor = op.tensors[position];
    const std::int64_t first = op.fixed ? 0 : context.index[tensor].first;
    return reinterpret_cast<const T*>(context.data[tensor]) + (t - first) * elements;
  };
  const std::int64_t key_frame = std::int64_t{op.heads} * op.key_size,
                     value_frame = std::int64_t{op.heads} * op.value_size;
  for (std::int64_t f = 0; f < op.out_frames; ++f) {
    const std::int64_t t = out.first + f;
    if (t < 0 || t >= out.length) continue;
    const std::int64_t start = t / op.chunk * op.chunk;
    const std::int64_t from = std::max<std::int64_t>(start - op.left, 0),
                       to = std::min(start + op.chunk + op.right, out.length);
    const T *const query = frame(kQueries, t, key_frame), *const keys = frame(kKeys, from, key_frame),
                   *const values = frame(kValues, from, value_frame);
    T* const y = reinterpret_cast<T*>(context.data[op.y]) + f * value_frame;
    for (std::int32_t h = 0; h < op.heads; ++h) {
      attend(op, query + h * op.key_size, keys + h * op.key_size, values + h * op.value_size, to - from,
             y + h * op.value_size, context.scratch);
    }
  }
}

void run_attention(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundAttention&>(self);
  if (op.dtype == DType::int8)
    run<std::int8_t>(op, context);
  else if (op.dtype == DType::int16)
    run<std::int16_t>(op, context);
  else
    run<float>(op, context);
}

Status check_attention(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 3, 3));
  RUNNEL_ASSIGN(const fb::AttentionOptions* const o, options<fb::AttentionOptions>(op));
  const TensorView q = input(model, op, kQueries), k = input(model, op, kKeys), v = input(model, op, kValues),
                   y = output(model, op);
  for (const TensorView& tensor : {q, k, v, y}) {
    RUNNEL_TRY(check_number(tensor, q.dtype == DType::float32, "an operand"));
    if (tensor.dtype != q.dtype)
      return Status(Code::unsupported) << "operands of " << name_of(q.dtype) << " and "
                                       << name_of(tensor.dtype) << ", expected one type";
    if (tensor.shape.rank != 4 || tensor.shape[0] != 1)
      return Status(Code::unsupported) << "an operand that is not [1, time, heads, channels]";
  }
  if (q.shape[3] > (1 << 16))
    return Status(Code::unsupported) << "keys of " << q.shape[3] << " channels, expected at most 65536";
  RUNNEL_TRY(expect_shape(k.shape, q.shape, "the keys"));
  Shape expected = q.shape;
  expected[3] = v.shape[3];
  RUNNEL_TRY(expect_shape(v.shape, expected, "the values"));
  constexpr std::int32_t kMax = 1 << 20;
  if (o->left() < 0 || o->right() < 0 || o->chunk() < 1 || o->left() > kMax || o->right() > kMax ||
      o->chunk() > kMax) {
    return Status(Code::invalid_data)
           << "a window of " << o->left() << " frames before chunks of " << o->chunk() << " and "
           << o->right() << " after, expected at most " << kMax;
  }
  const std::int32_t largest = q.dtype == DType::int8 ? 127 : 32767;
  if (o->scale() < -largest || o->scale() > largest)
    return Status(Code::invalid_data) << "a scale of " << o->scale() << ", expected at most " << largest;
  for (const int exponent :
       {o->score_exponent(), o->scale_exponent(), o->scaled_exponent(), o->weight_exponent()}) {
    if (exponent < -40 || exponent > 40)
      return Status(Code::invalid_data) << "an exponent of " << exponent << ", expected -40 to 40";
  }
  return expect_shape(y.shape, expected, "the output");
}

Status stream_attention(const Model&, const fb::Operator& op, TimeAxes axes,
                        streaming::NodeRule& rule) noexcept {
  const fb::AttentionOptions& o = *op.options_as_AttentionOptions();
  for (int i = 0; i < 3; ++i) {
    if (axes[static_cast<std::size_t>(i)] != 1)
      return Status(Code::unsupported)
             << "has time on axis " << static_cast<int>(axes[static_cast<std::size_t>(i)]) << " of input "
             << i << ", expected axis 1";
  }
  rule.kind = streaming::Kind::attention;
  rule.left = o.left();
  rule.right = o.right();
  rule.chunk = o.chunk();
  axes.back() = 1;
  return {};
}

Result<const BoundOperator*> prepare_attention(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::AttentionOptions& o = *op.options_as_AttentionOptions();
  const Model& model = context.model();
  RUNNEL_ASSIGN(BoundAttention* const bound, allocate<BoundAttention>(context, run_attention));
  for (int i = 0; i < 3; ++i) {
    bound->tensors[i] = input_index(op, i);
    context.read_constant(bound->tensors[i]);
  }
  bound->y = output_index(op);
  const TensorView q = input(model, op, kQueries), k = input(model, op, kKeys), v = input(model, op, kValues),
                   y = output(model, op);
  bound->fixed = context.time_axis(bound->tensors[kQueries]) < 0;
  bound->in_frames = context.shape(bound->tensors[kKeys])[1];
  bound->out_frames = context.shape(bound->y)[1];
  bound->left = o.left();
  bound->right = o.right();
  bound->chunk = o.chunk();
  bound->dtype = q.dtype;
  bound->heads = q.shape[2];
  bound->key_size = q.shape[3];
  bound->value_size = v.shape[3];
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
  // In a whole clip a query sees no more keys than there are.
  std::int64_t most = bound->left + bound->chunk + bound->right;
  if (!context.streamed() || bound->fixed) most = std::min(most, bound->in_frames);
  const auto aligned = [](std::size_t bytes) { return (bytes + 15) / 16 * 16; };
  const auto count = static_cast<std::size_t>(most);
  bound->weights_offset = aligned(count * size_of(q.dtype));
  bound->powers_offset = 2 * bound->weights_offset;
  context.request_scratch(bound->powers_offset + 2 * count * sizeof(float));
  context.use_frame_index();
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kAttention{OpCode::attention, Arithmetic::espdl, "attention",
                                    check_attention,   stream_attention,  prepare_attention};

}  // namespace runnel::ops
