#include "inference/ops/attention/attention_window.h"

namespace runnel::ops {

Status check_distance_tables(const Model& model, const fb::Operator& op, const fb::AttentionOptions& o,
                             std::int32_t heads, std::int32_t& channels) noexcept {
  channels = 0;
  const std::int32_t rows = o.left() + 2 * o.chunk() - 1 + o.right();
  const std::string_view names[] = {"the table of biases", "the table of distances"};
  for (int i = kBias; i <= kDistances; ++i) {
    const std::string_view name = names[i - kBias];
    if (!has_input(op, i)) continue;
    const TensorView table = input(model, op, i);
    const int distance_axis = i == kBias ? 1 : 0;
    if (table.shape.rank != (i == kBias ? 2 : 3) || table.shape[distance_axis] != rows ||
        (table.shape[1 - distance_axis] != 1 && table.shape[1 - distance_axis] != heads))
      return Status(Code::invalid_data) << name << " does not have a row for each of " << rows
                                        << " distances, for all heads or each of " << heads;
    if (i == kDistances) channels = table.shape[2];
  }
  return {};
}

Status check_attention_window(const Model& model, const fb::Operator& op,
                              std::int32_t& distance_channels) noexcept {
  RUNNEL_ASSIGN(const fb::AttentionOptions* const o, options<fb::AttentionOptions>(op));
  const TensorView q = input(model, op, kQueries), k = input(model, op, kKeys), v = input(model, op, kValues),
                   y = output(model, op);
  for (const TensorView& tensor : {q, k, v, y}) {
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
  RUNNEL_TRY(check_distance_tables(model, op, *o, q.shape[2], distance_channels));
  Shape expected = q.shape;
  expected[3] -= distance_channels;
  if (expected[3] < 1)
    return Status(Code::invalid_data) << "queries of " << q.shape[3] << " channels, " << distance_channels
                                      << " of them for distances, expected some for keys";
  RUNNEL_TRY(expect_shape(k.shape, expected, "the keys"));
  expected[3] = v.shape[3];
  RUNNEL_TRY(expect_shape(v.shape, expected, "the values"));
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

void bind_window(PrepareContext& context, BoundWindow& bound) noexcept {
  const fb::Operator& op = context.op();
  const fb::AttentionOptions& o = *op.options_as_AttentionOptions();
  const Model& model = context.model();
  for (int i = 0; i < 3; ++i) {
    bound.tensors[i] = input_index(op, i);
    context.read_constant(bound.tensors[i]);
  }
  bound.y = output_index(op);
  const TensorView q = input(model, op, kQueries), k = input(model, op, kKeys), v = input(model, op, kValues);
  bound.fixed = context.time_axis(bound.tensors[kQueries]) < 0;
  bound.in_frames = context.shape(bound.tensors[kKeys])[1];
  bound.out_frames = context.shape(bound.y)[1];
  bound.left = o.left();
  bound.right = o.right();
  bound.chunk = o.chunk();
  bound.heads = q.shape[2];
  bound.key_size = k.shape[3];
  bound.distance_size = q.shape[3] - k.shape[3];
  bound.value_size = v.shape[3];
  // In a whole clip a query sees no more keys than there are.
  bound.most_keys = bound.left + bound.chunk + bound.right;
  if (!context.streamed() || bound.fixed) bound.most_keys = std::min(bound.most_keys, bound.in_frames);
  context.use_frame_index();
}

}  // namespace runnel::ops
