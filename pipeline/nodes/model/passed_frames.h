// The part of frames that passes by a model (Format::beside): kept from the arrival of a frame until the
// model gives its output for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "pipeline/node.h"

namespace runnel::pipeline {

// A ring of frames. Used by one thread; streams over one state in blocks of several sizes share one.
class PassedFrames {
 public:
  // `values`: float32 per frame; 0: nothing passes, and nothing is allocated. `frames`: the most that are
  // kept: the delay of the model's output and its largest block. Error: out_of_memory.
  Status prepare(Memory& memory, std::int32_t values, std::int64_t frames) noexcept {
    if (values <= 0) return {};
    bytes_ = static_cast<std::size_t>(values) * sizeof(float);
    capacity_ = frames;
    ring_ = static_cast<std::byte*>(memory.allocate(static_cast<std::size_t>(frames) * bytes_, 16));
    if (ring_ == nullptr) return out_of_memory("what passes by the model");
    reset();
    return {};
  }

  // Of a frame's part; 0: nothing passes.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  void reset() noexcept { stored_ = 0; }
  // The part of the next frame.
  void store(const std::byte* part) noexcept {
    std::memcpy(ring_ + place(stored_), part, bytes_);
    ++stored_;
  }
  // That of frame `index`, counted from the reset: one of the last `frames` that were stored.
  [[nodiscard]] const std::byte* part(std::int64_t index) const noexcept { return ring_ + place(index); }

  // For ModelStream::save(): the number of stored frames and the ring.
  [[nodiscard]] std::int64_t stored() const noexcept { return stored_; }
  [[nodiscard]] std::size_t saved_bytes() const noexcept {
    return static_cast<std::size_t>(capacity_) * bytes_;
  }
  // Frames that were not stored since the reset are saved as zeros.
  void save(std::byte* to) const noexcept {
    const std::size_t used = static_cast<std::size_t>(std::min(stored_, capacity_)) * bytes_;
    if (used > 0) std::memcpy(to, ring_, used);
    if (used < saved_bytes()) std::memset(to + used, 0, saved_bytes() - used);
  }
  void restore(std::int64_t stored, const std::byte* from) noexcept {
    stored_ = stored;
    if (saved_bytes() > 0) std::memcpy(ring_, from, saved_bytes());
  }

 private:
  [[nodiscard]] std::size_t place(std::int64_t index) const noexcept {
    return static_cast<std::size_t>(index % capacity_) * bytes_;
  }

  std::byte* ring_ = nullptr;
  std::size_t bytes_ = 0;
  std::int64_t capacity_ = 0, stored_ = 0;
};

}  // namespace runnel::pipeline
