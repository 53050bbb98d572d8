#include "features/framer.h"

#include <cstring>

namespace runnel::features {

// Room for one incomplete frame, the sample before it (an odd length mirrors that far back at the end), and two shifts so that the
// kept samples are moved to the front only every other frame.
std::size_t Framer::capacity_of(const FrameGrid& grid) noexcept {
  return static_cast<std::size_t>(grid.length + 2 * grid.shift + 1);
}

std::size_t Framer::memory_bytes(const FrameGrid& grid) noexcept {
  return (capacity_of(grid) + (grid.mirror_edges ? static_cast<std::size_t>(grid.length) : 0)) * sizeof(float);
}

Status Framer::init(const FrameGrid& grid, Memory& memory) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (grid.length < 1 || grid.length > kMost || grid.shift < 1 || grid.shift > kMost) {
    return Status(Code::invalid_argument) << "frames of " << grid.length << " samples each " << grid.shift
                                          << " samples: expected 1 to " << kMost << " for both";
  }
  grid_ = grid;
  capacity_ = capacity_of(grid);
  samples_ = static_cast<float*>(memory.allocate(memory_bytes(grid), 64));
  if (samples_ == nullptr) return Status(Code::out_of_memory) << "framer: needs " << memory_bytes(grid) << " bytes";
  mirrored_ = samples_ + capacity_;
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
    // Keep what the next frame reads, and one sample more. A shift longer than the frame skips samples.
    std::int64_t keep = grid_.start_of(next_) - 1;
    if (keep < 0) keep = 0;
    if (keep > received_) keep = received_;
    if (keep > base_) {
      used = static_cast<std::size_t>(received_ - keep);
      std::memmove(samples_, samples_ + (keep - base_), used * sizeof(float));
      base_ = keep;
    }
  }
  return {samples_ + used, finished_ ? 0 : capacity_ - used};
}

void Framer::written(std::size_t samples) noexcept { received_ += static_cast<std::int64_t>(samples); }

const float* Framer::frame() noexcept {
  const std::int64_t start = grid_.start_of(next_);
  const bool complete = start + grid_.length <= received_;
  if (complete && start >= 0) return samples_ + (start - base_);
  if (finished_ ? next_ < grid_.frames_of(received_) : complete) return assemble(start);
  return nullptr;
}

// What the frame reads is still here: before a mirrored frame at the start nothing has been dropped, and at the end
// received - start >= floor(length / 2), so that the mirror reaches back to start - 1 at most.
const float* Framer::assemble(std::int64_t start) noexcept {
  const std::int64_t n = received_;
  for (std::int64_t i = 0; i < grid_.length; ++i) {
    std::int64_t at = (start + i) % (2 * n);
    if (at < 0) at += 2 * n;
    if (at >= n) at = 2 * n - 1 - at;
    mirrored_[i] = samples_[at - base_];
  }
  return mirrored_;
}

}  // namespace runnel::features
