// STFT and inverse STFT of a stream: overlap-add, normalised by the squared window, so that istft(stft(x)) is
// x wherever frames cover it.
//
// The forward transform is the front end of kind stft (fbank.h); frame_options() gives its settings. A frame
// holds the unscaled real parts of all n_fft/2 + 1 bins, then their imaginary parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "features/fbank/fbank_options.h"
#include "features/fft/fft.h"

namespace runnel::features {

// Names and meaning of torch.stft. Defaults: those of most speech enhancement.
struct StftOptions {
  std::int32_t n_fft = 512;
  std::int32_t win_length = 0;  // 0: n_fft
  std::int32_t hop_length = 0;  // 0: n_fft / 4
  WindowType window_type = WindowType::hann;
  // Frames centred on multiples of the hop; false: frame f starts at f * hop, and samples outside whole
  // frames, or only under a zero of a window, are lost.
  bool center = true;
  Padding pad_mode = Padding::reflect;
};

// The front end that computes the spectra. Errors: invalid_argument with parameter, value and range, also for
// a hop that leaves samples uncovered by windows.
Result<FbankOptions> frame_options(const StftOptions& options, float sample_frequency) noexcept;

// spectrum *= mask, bin by bin: spectrum has real parts, then imaginary parts, of mask.size() bins.
void apply_mask(std::span<const float> mask, std::span<float> spectrum) noexcept;

// One stream. Not thread-safe; movable; the Memory must outlive it.
class InverseStft {
 public:
  // Errors: as frame_options(); out_of_memory.
  static Result<InverseStft> make(const StftOptions& options, Isa isa, Memory& memory) noexcept;
  static Result<std::size_t> memory_bytes(const StftOptions& options) noexcept;

  // Takes one frame of dims() values; writes the samples that no later frame changes, and returns how many,
  // at most max_samples(). The bits of a sample depend only on the frames that cover it.
  std::size_t push(const float* frame, std::span<float> out) noexcept;
  // After the last frame: the rest, at most max_samples() per call; 0 when nothing is left. `samples`: length
  // of the recording if known, so that the output is complete and ends there. Without it, a centred transform
  // ends at the last frame's centre, as torch.istft does, any other at the end of its last frame.
  std::size_t flush(std::span<float> out, std::int64_t samples = -1) noexcept;
  void reset() noexcept;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.index(frames_, Archive::kMostIndex / grid_.shift);
    archive.follows(start_, grid_.start_of(frames_ == 0 ? 0 : frames_ - 1), "the start of a frame");
    archive.bounded(given_, frames_ == 0 || start_ < 0 ? 0 : start_,
                    frames_ == 0 ? 0 : start_ + grid_.length);
    archive.values(std::span(sum_, static_cast<std::size_t>(grid_.length)));
    archive.values(std::span(norm_, static_cast<std::size_t>(grid_.length)));
  }

  [[nodiscard]] std::size_t dims() const noexcept { return 2 * (fft_.size() / 2 + 1); }
  [[nodiscard]] std::size_t max_samples() const noexcept {
    return static_cast<std::size_t>(grid_.length + grid_.shift);
  }
  [[nodiscard]] const FrameGrid& grid() const noexcept { return grid_; }
  // Number of the next sample that will be written, since reset.
  [[nodiscard]] std::int64_t next_sample() const noexcept { return given_; }

 private:
  InverseStft() noexcept = default;
  std::size_t give(std::int64_t end, std::span<float> out) noexcept;

  FrameGrid grid_;
  OwnFft fft_;
  std::size_t offset_ = 0;   // of the window among the points of the transform
  float* window_ = nullptr;  // [length]
  float* points_ = nullptr;  // [n_fft]
  float* sum_ = nullptr;     // [length], from sample start_ on
  float* norm_ = nullptr;    // [length], of squared windows
  std::int64_t frames_ = 0, start_ = 0, given_ = 0;
};

}  // namespace runnel::features
