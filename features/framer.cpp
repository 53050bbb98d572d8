#include "features/framer.h"

#include <algorithm>
#include <cstring>

namespace runnel::features {

Status Framer::init(const FrameGrid& grid, Memory& memory) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (grid.length < 1 || grid.length > kMost || grid.shift < 1 || grid.shift > kMost) {
    return Status(Code::invalid_argument) << "frames of " << grid.length << " samples each " << grid.shift
                                          << " samples: expected 1 to " << kMost << " for both";
  }
  if (grid.size != 0 && (grid.size < grid.length || grid.size > kMost)) {
    return Status(Code::invalid_argument) << "frames of " << grid.length << " samples in " << grid.size << " points: expected at least as many points";
  }
  grid_ = grid;
  capacity_ = capacity_of(grid);
  samples_ = static_cast<float*>(memory.allocate(memory_bytes(grid), 64));
  if (samples_ == nullptr)
    return Status(Code::out_of_memory) << "framer: needs " << memory_bytes(grid) << " bytes";
  padded_ = samples_ + capacity_;
  reset();
  return Status();
}

void Framer::reset() noexcept {
  base_ = received_ = next_ = 0;
  finished_ = false;
}

std::span<float> Framer::room() noexcept {
  auto used = static_cast<std::size_t>(received_ - base_);
  if (used == capacity_) {
    // Keep what the next frame reads, and two samples more. A shift longer than the frame skips samples.
    const std::int64_t keep = std::clamp(grid_.start_of(next_) - 2, std::int64_t{0}, received_);
    if (keep > base_) {
      used = static_cast<std::size_t>(received_ - keep);
      std::memmove(samples_, samples_ + (keep - base_), used * sizeof(float));
      base_ = keep;
    }
  }
  return {samples_ + used, finished_ ? 0 : capacity_ - used};
}

void Framer::written(std::size_t samples) noexcept {
  received_ += static_cast<std::int64_t>(samples);
}

// Of a frame that lies inside, or hangs over the start only.
bool Framer::have_all_of(std::int64_t start) const noexcept {
  if (start + grid_.length > received_) return false;
  return start >= 0 || grid_.padding == Padding::zero || (grid_.padding == Padding::mirror ? -start : 1 - start) <= received_;
}

const float* Framer::frame() noexcept {
  if ((finished_ || grid_.drop_last) && next_ >= grid_.frames_of(received_)) return nullptr;
  const std::int64_t start = grid_.start_of(next_);
  if (!have_all_of(start)) return finished_ ? assemble(start) : nullptr;
  return start >= 0 ? samples_ + (start - base_) : assemble(start);
}

// What the frame reads is still here: before a padded frame at the start nothing has been dropped, and at the end
// received - start >= floor(length / 2), so that the mirrors reach back to start - 2 at most.
const float* Framer::assemble(std::int64_t start) noexcept {
  const std::int64_t n = received_;
  const bool reflect = grid_.padding == Padding::reflect;
  const std::int64_t period = reflect ? std::max(2 * (n - 1), std::int64_t{1}) : 2 * n;
  for (std::int64_t i = 0; i < grid_.length; ++i) {
    std::int64_t at = start + i;
    if (at < 0 || at >= n) {
      if (grid_.padding == Padding::zero) {
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

}  // namespace runnel::features
