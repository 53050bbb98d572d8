// The data that passes along one edge of a graph in one tick.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace runnel::pipeline {

// Frames to read: `count` of them, contiguous, the first with the absolute index `first`. Valid during one
// call.
struct Block {
  const std::byte* data = nullptr;  // 64-byte aligned (devices: 16)
  std::int64_t count = 0;
  std::int64_t first = 0;

  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return reinterpret_cast<const T*>(data);
  }
};

// Where a node writes. The node sets count and, when it is not 0, first; count <= capacity.
struct Output {
  std::byte* data = nullptr;  // 64-byte aligned (devices: 16)
  std::int64_t capacity = 0;  // in frames, as the node asked for in prepare
  std::int64_t count = 0;
  std::int64_t first = 0;  // set by the executor for sources
  // process() of a source: nothing comes after this block. flush(): nothing is left.
  bool end = false;
  // Sources: samples that were lost before this block.
  std::int64_t lost = 0;

  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(data);
  }
};

struct Transcript;

// A decision. Times are source samples: [begin, end).
struct Event {
  std::string_view label;  // owned by the node that made the event
  float score = 0;         // 0 .. 1
  std::int64_t begin = 0, end = 0;
  std::int64_t frame = 0;  // index of the frame at which the decision was made
  // Of decoders of speech (pipeline/transcript.h), whose label is the text and whose score that of the least
  // sure word; else null.
  const Transcript* transcript = nullptr;
};

// Lost samples: [begin, begin + lost) of the source; [start, end) in units of its clock.
struct Gap {
  std::int64_t begin = 0, lost = 0;
  std::int64_t start = 0, end = 0;
};

}  // namespace runnel::pipeline
