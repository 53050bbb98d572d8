// Loudness of frames: log energy, RMS, peak and zero crossings, streaming.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "features/frames/framer.h"
#include "features/simd/kernels.h"

namespace runnel::features {

// Per frame of samples x, four values in this order:
//   log energy      ln(max(sum x^2, 1.1920929e-7))
//   RMS             square root of the mean of x^2
//   peak            largest |x|
//   zero crossings  number of neighbours of which one is negative and the other is not
class Levels {
 public:
  static constexpr std::size_t kDims = 4;

  // Errors: those of Framer.
  Status init(const FrameGrid& grid, Isa isa, Memory& memory) noexcept;

  struct Step {
    std::size_t samples, frames;
  };
  // Takes samples and writes complete frames, kDims values each; stops early only when frames_out is full.
  // Samples that are not finite count as 0.
  Step push(std::span<const float> samples, std::span<float> frames_out) noexcept;
  // The recording has ended: the frames that are left, as many as fit; 0 when there are none.
  std::size_t flush(std::span<float> frames_out) noexcept;
  void reset() noexcept { framer_.reset(); }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    framer_.state(archive);
  }

  [[nodiscard]] std::size_t max_frames(std::size_t samples) const noexcept {
    return samples / static_cast<std::size_t>(framer_.grid().shift) + 2;
  }
  [[nodiscard]] std::int64_t next_frame() const noexcept { return framer_.next_frame(); }
  [[nodiscard]] const FrameGrid& grid() const noexcept { return framer_.grid(); }

 private:
  std::size_t take(std::span<float> frames_out, std::size_t already) noexcept;

  Framer framer_;
  const Kernels* kernels_ = nullptr;
};

}  // namespace runnel::features
