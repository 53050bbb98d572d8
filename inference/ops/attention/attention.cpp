// Attention over a window of frames: every query sees the keys around its chunk, per head. The keys and
// values of earlier frames are the histories of those tensors; frames that are not data are not seen. Scores
// may depend on how far the key is from the query, through constants with one row per distance.
#include <algorithm>

#include "inference/ops/definitions.h"
#include "inference/ops/support.h"
#include "kernels/softmax.h"

namespace runnel::ops {
namespace {

enum Position { kQueries, kKeys, kValues, kBias, kDistances };

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
  const float* bias = nullptr;       // [1 or heads, distances]; null: none
  const float* distances = nullptr;  // [distances, 1 or heads, distance_size]; null: none
  std::int32_t distance_size = 0;    // channels of a query after the first key_size
  // Steps of the two tables; 0 from head to head: all heads share it.
  std::int64_t bias_stride = 0, distance_stride = 0, distance_head_stride = 0;
  kernels::Rounding rounding = kernels::Rounding::half_up;
  std::size_t weights_offset = 0, powers_offset = 0;  // in the scratch memory; scores come first
};

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

template <class T>
void run(const BoundAttention& op, const RunContext& context) noexcept {
  const FrameIndex out = op.fixed ? FrameIndex{0, op.out_frames} : context.index[op.y];
  // The frame with logical index t of an input; frames before its block are its history.
  const auto frame = [&](Position position, std::int64_t t, std::int64_t elements) {
    const std::int32_t tensor = op.tensors[position];
    const std::int64_t first = op.fixed ? 0 : context.index[tensor].first;
    return reinterpret_cast<const T*>(context.data[tensor]) + (t - first) * elements;
  };
  const std::int32_t query_size = op.key_size + op.distance_size;
  const std::int64_t query_frame = std::int64_t{op.heads} * query_size,
                     key_frame = std::int64_t{op.heads} * op.key_size,
                     value_frame = std::int64_t{op.heads} * op.value_size;
  for (std::int64_t f = 0; f < op.out_frames; ++f) {
    const std::int64_t t = out.first + f;
    if (t < 0 || t >= out.length) continue;
    const std::int64_t start = t / op.chunk * op.chunk;
    const std::int64_t from = std::max<std::int64_t>(start - op.left, 0),
                       to = std::min(start + op.chunk + op.right, out.length);
    const T *const query = frame(kQueries, t, query_frame), *const keys = frame(kKeys, from, key_frame),
                   *const values = frame(kValues, from, value_frame);
    T* const y = reinterpret_cast<T*>(context.data[op.y]) + f * value_frame;
    const std::int64_t first = from - t + op.left + op.chunk - 1;  // row of the first key's distance
    for (std::int32_t h = 0; h < op.heads; ++h) {
      Distances distances;
      if (op.bias != nullptr) distances.bias = op.bias + h * op.bias_stride + first;
      if (op.distances != nullptr)
        distances.rows = op.distances + first * op.distance_stride + h * op.distance_head_stride;
      attend(op, query + h * query_size, keys + h * op.key_size, values + h * op.value_size, distances,
             to - from, y + h * op.value_size, context.scratch);
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

// Constants of float32 with a row for each distance. `channels`: of the queries that belong to input 4.
Status check_distances(const Model& model, const fb::Operator& op, const fb::AttentionOptions& o,
                       std::int32_t heads, std::int32_t& channels) noexcept {
  channels = 0;
  const std::int32_t rows = o.left() + 2 * o.chunk() - 1 + o.right();
  const std::string_view names[] = {"the table of biases", "the table of distances"};
  for (int i = kBias; i <= kDistances; ++i) {
    const std::string_view name = names[i - kBias];
    if (i >= static_cast<int>(op.inputs()->size()) || input_index(op, i) < 0) continue;
    const TensorView table = input(model, op, i);
    if (!table.constant || table.dtype != DType::float32 ||
        input(model, op, kQueries).dtype != DType::float32)
      return Status(Code::unsupported) << name << " is no constant of float32 beside operands of float32";
    const int distance_axis = i == kBias ? 1 : 0;
    if (table.shape.rank != (i == kBias ? 2 : 3) || table.shape[distance_axis] != rows ||
        (table.shape[1 - distance_axis] != 1 && table.shape[1 - distance_axis] != heads))
      return Status(Code::invalid_data) << name << " does not have a row for each of " << rows
                                        << " distances, for all heads or each of " << heads;
    if (i == kDistances) channels = table.shape[2];
  }
  return {};
}

Status check_attention(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 3, 5));
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
  constexpr std::int32_t kMax = 1 << 20;
  if (o->left() < 0 || o->right() < 0 || o->chunk() < 1 || o->left() > kMax || o->right() > kMax ||
      o->chunk() > kMax) {
    return Status(Code::invalid_data)
           << "a window of " << o->left() << " frames before chunks of " << o->chunk() << " and "
           << o->right() << " after, expected at most " << kMax;
  }
  std::int32_t distance_channels = 0;
  RUNNEL_TRY(check_distances(model, op, *o, q.shape[2], distance_channels));
  Shape expected = q.shape;
  expected[3] -= distance_channels;
  if (expected[3] < 1)
    return Status(Code::invalid_data) << "queries of " << q.shape[3] << " channels, " << distance_channels
                                      << " of them for distances, expected some for keys";
  RUNNEL_TRY(expect_shape(k.shape, expected, "the keys"));
  expected[3] = v.shape[3];
  RUNNEL_TRY(expect_shape(v.shape, expected, "the values"));
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
  bound->key_size = k.shape[3];
  bound->distance_size = q.shape[3] - k.shape[3];
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
  const auto has = [&](int i) {
    return i < static_cast<int>(op.inputs()->size()) && input_index(op, i) >= 0;
  };
  if (has(kBias)) {
    const TensorView table = input(model, op, kBias);
    bound->bias = reinterpret_cast<const float*>(table.data.data());
    bound->bias_stride = table.shape[0] == 1 ? 0 : table.shape[1];
    RUNNEL_TRY(context.read_constant(input_index(op, kBias), &bound->bias));
  }
  if (has(kDistances)) {
    const TensorView table = input(model, op, kDistances);
    bound->distances = reinterpret_cast<const float*>(table.data.data());
    bound->distance_stride = std::int64_t{table.shape[1]} * table.shape[2];
    bound->distance_head_stride = table.shape[1] == 1 ? 0 : table.shape[2];
    RUNNEL_TRY(context.read_constant(input_index(op, kDistances), &bound->distances));
  }
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
