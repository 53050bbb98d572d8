// What people can say about how a model is to be streamed (docs/streaming.md, "In your hands").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace runnel::compiler {

// Attention sees the keys from `left` frames before the query's chunk of `chunk` frames to `right`
// after it.
struct AttentionWindow {
  int left = 0, right = 0, chunk = 1;
};

struct StreamOptions {
  // Statistics over all time (global pools, reductions, flattening before a dense layer) become those
  // over the frames that a clip of this many source frames has; kClip: the clip of the file; kSoFar: over all
  // frames so far, where a statistic is joined with its stream. 0: they are refused.
  static constexpr std::int64_t kClip = -2, kSoFar = -1;
  std::int64_t pool_window = 0;
  // Frames between two such windows, in frames of the statistic's input.
  int pool_hop = 1;
  // Attention over all frames becomes one over these.
  std::optional<AttentionWindow> attention;
  // At least this many earlier frames of a tensor are kept, by name.
  std::map<std::string, std::int64_t> contexts;
  // Most source frames that an output may depend on beyond its own place.
  std::optional<std::int64_t> max_lookahead;
  // Time axis of every input that has one of the first input's length; empty: found out.
  std::optional<int> time_axis;
  // A model that cannot be streamed is an error; otherwise it is written for whole clips.
  bool required = false;

  // Was anything said that only a stream can keep?
  [[nodiscard]] bool given() const {
    return required || pool_window != 0 || attention || !contexts.empty() || max_lookahead || time_axis;
  }
};

}  // namespace runnel::compiler
