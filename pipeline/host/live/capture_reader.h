// The samples of a ring as a source gives them: what follows a gap waits for a block of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/block.h"
#include "pipeline/host/live/capture_ring.h"

namespace runnel::pipeline {

// For the processing thread.
class CaptureReader {
 public:
  // The ring outlives the reader. `slot_frames`: most frames of a slot.
  void make(CaptureRing& ring, std::int64_t slot_frames, std::int32_t channels) {
    ring_ = &ring;
    channels_ = channels;
    samples_.resize(static_cast<std::size_t>(slot_frames * channels));
  }

  // Whether the slot at hand has been given.
  [[nodiscard]] bool empty() const noexcept { return held_ == given_; }
  // Index of the next sample to give.
  [[nodiscard]] std::int64_t position() const noexcept { return position_; }

  // Takes the next slot; `convert(bytes, samples)` makes float32 of it. False when the ring is empty, or when
  // the slot follows a gap and earlier samples must be given first.
  template <class Convert>
  bool refill(const Output& out, const Convert& convert) noexcept {
    const CaptureRing::Slot* const slot = ring_->take();
    if (slot == nullptr) return false;
    held_ = slot->count;
    given_ = 0;
    convert(slot->data, std::span(samples_).first(static_cast<std::size_t>(held_ * channels_)));
    const std::int64_t lost = slot->first - position_;
    ring_->release();
    if (lost == 0) return true;
    pending_lost_ = lost;
    return out.count == 0;
  }
  // Appends what `out` takes of the slot. False: the slot follows a gap, and `out` must be given first.
  bool give(Output& out) noexcept {
    if (pending_lost_ > 0) {
      if (out.count > 0) return false;
      out.lost = pending_lost_;
      position_ += pending_lost_;
      pending_lost_ = 0;
    }
    const std::int64_t count = std::min(out.capacity - out.count, held_ - given_);
    std::copy_n(samples_.data() + given_ * channels_, count * channels_,
                out.as<float>() + out.count * channels_);
    out.count += count;
    given_ += count;
    position_ += count;
    return true;
  }

  // Whether models should be skipped: from half full until nearly empty.
  bool look_at_queue() noexcept {
    const std::size_t filled = ring_->filled(), slots = ring_->slots();
    overloaded_ = 2 * filled >= slots || (overloaded_ && 8 * filled > slots);
    return overloaded_;
  }
  [[nodiscard]] bool overloaded() const noexcept { return overloaded_; }

 private:
  CaptureRing* ring_ = nullptr;
  std::int32_t channels_ = 1;
  std::int64_t position_ = 0;
  std::int64_t pending_lost_ = 0;      // before the slot
  std::vector<float> samples_;         // of the slot
  std::int64_t given_ = 0, held_ = 0;  // frames of the slot: given already, in total
  bool overloaded_ = false;
};

}  // namespace runnel::pipeline
