#include "features/stft.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "features/fbank/window.h"

namespace runnel::features {
namespace {

// The smallest sum of squared windows to divide by, as a share of their largest sum.
constexpr float kSmallestNorm = 1e-6F;

constexpr std::size_t padded(std::size_t floats) { return align_up(floats, 16); }

// The least sum of squared windows over one hop, away from the ends, as a share of the largest.
double coverage(const StftOptions& o, std::int64_t length, std::int64_t shift) noexcept {
  double least = 1e300, most = 0;
  for (std::int64_t at = 0; at < shift; ++at) {
    double sum = 0;
    for (std::int64_t i = at; i < length; i += shift) {
      const double w = window_at(o.window_type, 0.42, i, length);
      sum += w * w;
    }
    least = std::min(least, sum);
    most = std::max(most, sum);
  }
  return least / most;
}

std::size_t floats_of(const FbankShape& shape) noexcept {
  return 3 * padded(static_cast<std::size_t>(shape.grid.length)) + padded(shape.fft_size);
}

}  // namespace

Result<FbankOptions> frame_options(const StftOptions& options, float sample_frequency) noexcept {
  const StftOptions& o = options;
  FbankOptions f;
  f.kind = FeatureKind::stft;
  f.sample_frequency = sample_frequency;
  f.n_fft = o.n_fft;
  f.win_length = o.win_length > 0 ? o.win_length : o.n_fft;
  f.hop_length = o.hop_length > 0 ? o.hop_length : std::max<std::int32_t>(o.n_fft / 4, 1);
  f.center = o.center;
  f.pad_mode = o.pad_mode;
  f.window_type = o.window_type;
  f.remove_dc_offset = false;
  f.preemphasis_coefficient = 0;
  if (o.n_fft < 2)
    return Status(Code::invalid_argument) << "n_fft " << o.n_fft << ": expected 2 to " << kMaxFftSize;
  RUNNEL_ASSIGN(const FbankShape shape, shape_of(f));
  if (shape.grid.shift > shape.grid.length ||
      coverage(o, shape.grid.length, shape.grid.shift) < static_cast<double>(kSmallestNorm)) {
    return Status(Code::invalid_argument)
           << "hop_length " << shape.grid.shift << ": windows of " << shape.grid.length
           << " samples do not cover every sample; expected a smaller hop";
  }
  return f;
}

void apply_mask(std::span<const float> mask, std::span<float> spectrum) noexcept {
  for (std::size_t k = 0; k < mask.size(); ++k) {
    spectrum[k] *= mask[k];
    spectrum[mask.size() + k] *= mask[k];
  }
}

Result<std::size_t> InverseStft::memory_bytes(const StftOptions& options) noexcept {
  RUNNEL_ASSIGN(const FbankOptions frames, frame_options(options, 16000));
  RUNNEL_ASSIGN(const FbankShape shape, shape_of(frames));
  return floats_of(shape) * sizeof(float) + OwnFft::memory_bytes(shape.fft_size);
}

Result<InverseStft> InverseStft::make(const StftOptions& options, Isa isa, Memory& memory) noexcept {
  InverseStft s;
  RUNNEL_ASSIGN(const FbankOptions frames, frame_options(options, 16000));
  RUNNEL_ASSIGN(const FbankShape shape, shape_of(frames));
  s.grid_ = shape.grid;
  auto* at = static_cast<float*>(memory.allocate(floats_of(shape) * sizeof(float), 64));
  if (at == nullptr) {
    return Status(Code::out_of_memory)
           << "inverse STFT: needs " << floats_of(shape) * sizeof(float) << " bytes more";
  }
  std::fill_n(at, floats_of(shape), 0.0F);
  const auto length = static_cast<std::size_t>(shape.grid.length);
  s.window_ = at;
  s.sum_ = at + padded(length);
  s.norm_ = s.sum_ + padded(length);
  s.points_ = s.norm_ + padded(length);
  RUNNEL_TRY(s.fft_.init(shape.fft_size, isa, memory));
  s.offset_ = (shape.fft_size - length) / 2;
  fill_window(options.window_type, 0.42, {s.window_, length});
  s.reset();
  return s;
}

void InverseStft::reset() noexcept {
  std::fill_n(sum_, grid_.length, 0.0F);
  std::fill_n(norm_, grid_.length, 0.0F);
  frames_ = given_ = 0;
  start_ = grid_.start_of(0);
}

// Samples from given_ to `end`, as many as fit.
std::size_t InverseStft::give(std::int64_t end, std::span<float> out) noexcept {
  std::size_t count = 0;
  for (; given_ < end && count < out.size(); ++given_, ++count) {
    const auto at = static_cast<std::size_t>(given_ - start_);
    out[count] = norm_[at] > kSmallestNorm ? sum_[at] / norm_[at] : 0.0F;
  }
  return count;
}

std::size_t InverseStft::push(const float* frame, std::span<float> out) noexcept {
  const auto length = static_cast<std::size_t>(grid_.length);
  fft_.inverse(frame, frame + fft_.size() / 2 + 1, points_);
  // Move the sums to where this frame starts.
  if (frames_ > 0) {
    const auto shift = static_cast<std::size_t>(grid_.shift);
    std::memmove(sum_, sum_ + shift, (length - shift) * sizeof(float));
    std::memmove(norm_, norm_ + shift, (length - shift) * sizeof(float));
    std::fill_n(sum_ + length - shift, shift, 0.0F);
    std::fill_n(norm_ + length - shift, shift, 0.0F);
    start_ += grid_.shift;
  }
  const float* from = points_ + offset_;
  for (std::size_t i = 0; i < length; ++i) sum_[i] += from[i] * window_[i];
  for (std::size_t i = 0; i < length; ++i) norm_[i] += window_[i] * window_[i];
  ++frames_;
  given_ = std::max(given_, start_);  // samples that did not fit are dropped
  return give(grid_.start_of(frames_), out);
}

std::size_t InverseStft::flush(std::span<float> out, std::int64_t samples) noexcept {
  if (frames_ == 0) return 0;
  const bool centred = grid_.placement == FramePlacement::centred;
  const std::int64_t last = start_ + grid_.length;
  std::int64_t end = centred ? (frames_ - 1) * grid_.shift : last;
  if (samples >= 0) end = std::min(samples, last);
  return give(end, out);
}

}  // namespace runnel::features
