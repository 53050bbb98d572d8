// What operators of attention over a window of frames share: every query sees the keys around its chunk, per
// head. The keys and values of earlier frames are the histories of those tensors; frames that are not data
// are not seen. Scores may depend on how far the key is from the query, through constants with one row per
// distance.
#pragma once

#include <algorithm>

#include "inference/ops/support.h"

namespace runnel::ops {

enum AttentionInput { kQueries, kKeys, kValues, kBias, kDistances };

struct BoundWindow : BoundOperator {
  std::int32_t tensors[3] = {-1, -1, -1}, y = -1;
  bool fixed = false;  // no stream: all frames are here
  std::int64_t in_frames = 0, out_frames = 0, most_keys = 0;
  std::int64_t left = 0, right = 0, chunk = 1;
  std::int32_t heads = 1, key_size = 1, value_size = 1;
  std::int32_t distance_size = 0;  // channels of a query after the first key_size
};

inline bool has_input(const fb::Operator& op, int position) noexcept {
  return position < static_cast<int>(op.inputs()->size()) && input_index(op, position) >= 0;
}

// Shapes and window. `distance_channels`: channels of the queries that belong to the table of distances.
Status check_attention_window(const Model& model, const fb::Operator& op,
                              std::int32_t& distance_channels) noexcept;
// Shapes of the constants with one row for each distance; their types are the caller's matter.
Status check_distance_tables(const Model& model, const fb::Operator& op, const fb::AttentionOptions& o,
                             std::int32_t heads, std::int32_t& channels) noexcept;
Status stream_attention(const Model& model, const fb::Operator& op, TimeAxes axes,
                        streaming::NodeRule& rule) noexcept;
void bind_window(PrepareContext& context, BoundWindow& bound) noexcept;

// attend(query, keys, values, head, first, count, y): `count` keys for one query of one head, of which the
// first one has row `first` in tables of distances.
template <class T, class F>
void each_query(const BoundWindow& op, const RunContext& context, F&& attend) noexcept {
  const FrameIndex out = op.fixed ? FrameIndex{0, op.out_frames} : context.index[op.y];
  // The frame with logical index t of an input; frames before its block are its history.
  const auto frame = [&](AttentionInput position, std::int64_t t, std::int64_t elements) {
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
    for (std::int32_t h = 0; h < op.heads; ++h)
      attend(query + h * query_size, keys + h * op.key_size, values + h * op.value_size, h, first, to - from,
             y + h * op.value_size);
  }
}

}  // namespace runnel::ops
