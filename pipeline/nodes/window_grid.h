// Where the windows of a node begin, and how lengths of windows are written.
#pragma once

#include <cstdint>
#include <string_view>

#include "pipeline/node.h"

namespace runnel::pipeline {

// "128": frames of the input; "2.56s", "40ms": a time, rounded to whole frames. Error: invalid_argument with
// name, value and what is allowed.
Result<std::int64_t> read_length(std::string_view name, std::string_view text, const Clock& clock) noexcept;

// One grid of windows for the whole recording: after a gap, input up to the next point of the grid is
// dropped.
class WindowGrid {
 public:
  void set_hop(std::int64_t hop) noexcept { hop_ = hop; }
  // The next input frame has the index `first`. Returns the index of the next window.
  std::int64_t reset(std::int64_t first) noexcept;
  // How many of the next `count` frames to drop.
  std::int64_t drop(std::int64_t count) noexcept;
  // Index of the window with number `since`, counted from reset().
  [[nodiscard]] std::int64_t index(std::int64_t since) const noexcept { return first_ + since; }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.index(first_, Archive::kMostIndex / hop_);
    archive.index(skip_, hop_ - 1);
  }

 private:
  std::int64_t hop_ = 1, first_ = 0, skip_ = 0;
};

// mismatch unless the input is float32.
Status wants_float32(const NodeContext& context) noexcept;

}  // namespace runnel::pipeline
