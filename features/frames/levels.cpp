#include "features/frames/levels.h"

#include <algorithm>
#include <cmath>

namespace runnel::features {

Status Levels::init(const FrameGrid& grid, Isa isa, Memory& memory) noexcept {
  kernels_ = &kernels_for(isa);
  return framer_.init(grid, memory);
}

std::size_t Levels::take(std::span<float> frames_out, std::size_t already) noexcept {
  const std::size_t room = frames_out.size() / kDims;
  std::size_t frames = already;
  const auto count = static_cast<std::size_t>(framer_.grid().length);
  for (; frames < room; ++frames, framer_.advance()) {
    const float* x = framer_.frame();
    if (x == nullptr) break;
    float* out = frames_out.data() + frames * kDims;
    const float energy = kernels_->sum_of_squares(x, count, 0);
    out[0] = energy;
    kernels_->log(out, 1, 1.1920929e-7F);
    out[1] = std::sqrt(energy / static_cast<float>(count));
    float peak = 0;
    std::size_t crossings = 0;
    for (std::size_t i = 0; i < count; ++i) {
      peak = std::max(peak, std::abs(x[i]));
      crossings += i > 0 && (x[i] < 0) != (x[i - 1] < 0) ? 1 : 0;
    }
    out[2] = peak;
    out[3] = static_cast<float>(crossings);
  }
  return frames;
}

Levels::Step Levels::push(std::span<const float> samples, std::span<float> frames_out) noexcept {
  Step step{0, 0};
  for (;;) {
    step.frames = take(frames_out, step.frames);
    if (step.samples == samples.size() || framer_.frame() != nullptr) return step;
    std::span<float> room = framer_.room();
    room = room.first(std::min(room.size(), samples.size() - step.samples));
    if (room.empty()) return step;  // after flush
    kernels_->copy_finite(samples.data() + step.samples, room.size(), 1, room.data());
    framer_.written(room.size());
    step.samples += room.size();
  }
}

std::size_t Levels::flush(std::span<float> frames_out) noexcept {
  framer_.finish();
  return take(frames_out, 0);
}

}  // namespace runnel::features
