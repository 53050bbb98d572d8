// Cuts a stream of samples into overlapping frames on a fixed grid, whatever the sizes of the pieces in which
// it arrives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/memory.h"
#include "base/status.h"

namespace runnel::features {

// Which frames a recording has.
enum class FramePlacement : std::uint8_t {
  inside,   // frame f starts at f * shift; only whole frames exist
  shifts,   // frame f is centred on the middle of its shift: it starts at f * shift + floor(shift/2) -
            // floor(length/2)
  centred,  // frame f is centred on f * shift, as in torch.stft and librosa
};
// What frames read outside of the recording.
enum class Padding : std::uint8_t {
  mirror,   // the recording mirrored with its edge samples repeated (-1 -> 0, n -> n-1), as often as needed
  reflect,  // mirrored without repeating them (-1 -> 1, n -> n-2), as often as needed; a single sample
            // repeats
  zero,
};

// Where frames lie. All counts are samples.
struct FrameGrid {
  std::int64_t length = 400, shift = 160;
  FramePlacement placement = FramePlacement::inside;
  Padding padding = Padding::mirror;
  std::int64_t size = 0;   // centred: the frame lies in the middle of so many points (the FFT); 0: length
  bool drop_last = false;  // centred: without the last frame, as Whisper does

  [[nodiscard]] constexpr std::int64_t start_of(std::int64_t frame) const noexcept {
    return frame * shift + first_start();
  }
  // Frames of a whole recording of n samples.
  [[nodiscard]] constexpr std::int64_t frames_of(std::int64_t samples) const noexcept {
    switch (placement) {
      case FramePlacement::inside:
        return samples < length ? 0 : 1 + (samples - length) / shift;
      case FramePlacement::shifts:
        return (samples + shift / 2) / shift;
      case FramePlacement::centred:
        break;
    }
    return samples < 1 ? 0 : (samples - points() % 2) / shift + (drop_last ? 0 : 1);
  }

 private:
  [[nodiscard]] constexpr std::int64_t points() const noexcept { return size > 0 ? size : length; }
  [[nodiscard]] constexpr std::int64_t first_start() const noexcept {
    switch (placement) {
      case FramePlacement::inside:
        return 0;
      case FramePlacement::shifts:
        return shift / 2 - length / 2;
      case FramePlacement::centred:
        break;
    }
    return (points() - length) / 2 - points() / 2;
  }
};

// What a framer knows of its frames: a grid that it is given, or any type with a constant `value`, so that
// its compiler leaves out what that grid does not need.
struct AnyGrid {
  FrameGrid value;
};

// Usage: write samples into room(), say how many with written(), then take frames while frame() gives one.
// After finish() the frames that need the end of the recording follow. Not thread-safe; one per stream.
template <class Grid>
class FramerOf {
 public:
  // length and shift: 1 .. 2^24; size 0 or length .. 2^24. Errors: invalid_argument, out_of_memory.
  Status init(const FrameGrid& grid, Memory& memory) noexcept requires std::is_same_v<Grid, AnyGrid>;
  // Of a constant grid. Error: out_of_memory.
  Status init(Memory& memory) noexcept;
  static constexpr std::size_t memory_bytes(const FrameGrid& grid) noexcept {
    const bool pads = grid.placement != FramePlacement::inside;
    return (capacity_of(grid) + (pads ? static_cast<std::size_t>(grid.length) : 0)) * sizeof(float);
  }

  // Free space for the samples that come next. Never empty while frame() is nullptr and the stream is not
  // finished.
  std::span<float> room() noexcept;
  void written(std::size_t samples) noexcept;
  // `length` samples of the next frame, or nullptr while it is not complete. Valid until room(), advance() or
  // reset().
  const float* frame() noexcept;
  void advance() noexcept { ++next_; }
  // The recording has ended: received() is its length.
  void finish() noexcept { finished_ = true; }
  void reset() noexcept;
  template <class Archive>
  void state(Archive& archive) noexcept;  // base/state_archive.h

  [[nodiscard]] std::int64_t next_frame() const noexcept { return next_; }
  [[nodiscard]] std::int64_t received() const noexcept { return received_; }
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  [[nodiscard]] const FrameGrid& grid() const noexcept { return grid_.value; }

 private:
  // Room for one incomplete frame, the two samples before it (the mirrors reach that far back at the end),
  // and two shifts so that the kept samples are moved to the front only every other frame.
  static constexpr std::size_t capacity_of(const FrameGrid& grid) noexcept {
    return static_cast<std::size_t>(grid.length + 2 * grid.shift + 2);
  }
  [[nodiscard]] bool have_all_of(std::int64_t start) const noexcept;
  const float* assemble(std::int64_t start) noexcept;

  [[no_unique_address]] Grid grid_;
  float* samples_ = nullptr;  // the stream from base_ to received_
  float* padded_ = nullptr;   // a frame that reaches over an edge
  std::size_t capacity_ = 0;
  std::int64_t base_ = 0, received_ = 0, next_ = 0;
  bool finished_ = false;
};

template <class Grid>
Status FramerOf<Grid>::init(Memory& memory) noexcept {
  capacity_ = capacity_of(grid());
  samples_ = static_cast<float*>(memory.allocate(memory_bytes(grid()), 64));
  if (samples_ == nullptr)
    return Status(Code::out_of_memory) << "framer: needs " << memory_bytes(grid()) << " bytes";
  padded_ = samples_ + capacity_;
  reset();
  return Status();
}

template <class Grid>
void FramerOf<Grid>::reset() noexcept {
  base_ = received_ = next_ = 0;
  finished_ = false;
}

template <class Grid>
std::span<float> FramerOf<Grid>::room() noexcept {
  auto used = static_cast<std::size_t>(received_ - base_);
  if (used == capacity_) {
    // Keep what the next frame reads, and two samples more. A shift longer than the frame skips samples.
    const std::int64_t keep = std::clamp(grid_.value.start_of(next_) - 2, std::int64_t{0}, received_);
    if (keep > base_) {
      used = static_cast<std::size_t>(received_ - keep);
      std::memmove(samples_, samples_ + (keep - base_), used * sizeof(float));
      base_ = keep;
    }
  }
  return {samples_ + used, finished_ ? 0 : capacity_ - used};
}

template <class Grid>
void FramerOf<Grid>::written(std::size_t samples) noexcept {
  received_ += static_cast<std::int64_t>(samples);
}

// Of a frame that lies inside, or hangs over the start only.
template <class Grid>
bool FramerOf<Grid>::have_all_of(std::int64_t start) const noexcept {
  if (start + grid_.value.length > received_) return false;
  return start >= 0 || grid_.value.padding == Padding::zero ||
         (grid_.value.padding == Padding::mirror ? -start : 1 - start) <= received_;
}

template <class Grid>
const float* FramerOf<Grid>::frame() noexcept {
  if ((finished_ || grid_.value.drop_last) && next_ >= grid_.value.frames_of(received_)) return nullptr;
  const std::int64_t start = grid_.value.start_of(next_);
  if (!have_all_of(start)) return finished_ ? assemble(start) : nullptr;
  return start >= 0 ? samples_ + (start - base_) : assemble(start);
}

// What the frame reads is still here: before a padded frame at the start nothing has been dropped, and at the
// end received - start >= floor(length / 2), so that the mirrors reach back to start - 2 at most.
template <class Grid>
const float* FramerOf<Grid>::assemble(std::int64_t start) noexcept {
  const std::int64_t n = received_;
  const bool reflect = grid_.value.padding == Padding::reflect;
  const std::int64_t period = reflect ? std::max(2 * (n - 1), std::int64_t{1}) : 2 * n;
  for (std::int64_t i = 0; i < grid_.value.length; ++i) {
    std::int64_t at = start + i;
    if (at < 0 || at >= n) {
      if (grid_.value.padding == Padding::zero) {
        padded_[i] = 0;
        continue;
      }
      at %= period;
      if (at < 0) at += period;
      if (at >= n) at = period - (reflect ? 0 : 1) - at;
    }
    padded_[i] = samples_[at - base_];
  }
  return padded_;
}

template <class Grid>
template <class Archive>
void FramerOf<Grid>::state(Archive& archive) noexcept {
  archive.index(received_);
  archive.index(next_, received_ / grid().shift + 1);
  // What the next frame reads is still here (room()).
  archive.index(base_, std::clamp(grid().start_of(next_) - 2, std::int64_t{0}, received_));
  archive.value(finished_);
  archive.expect(received_ - base_ <= static_cast<std::int64_t>(capacity_), "the number of samples kept");
  if (archive.ok()) archive.values(std::span(samples_, static_cast<std::size_t>(received_ - base_)));
}

using Framer = FramerOf<AnyGrid>;
extern template class FramerOf<AnyGrid>;

}  // namespace runnel::features
