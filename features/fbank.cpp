#include "features/fbank.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace runnel::features {
namespace {

// Where a frame begins among the zeros of a longer FFT. The power spectrum does not depend on it, but rounding errors do; they decide
// the accuracy of bins far below the frame's strongest. Of all positions these had the smallest worst error over the recordings and
// settings of the oracle, measured against double precision: one for mel bins, one for a spectrum's own. Complex spectra are those of
// frames in the middle.
std::size_t offset_of(FeatureKind kind, std::size_t free) noexcept {
  if (kind == FeatureKind::stft) return free / 2;
  const std::size_t offset = kind == FeatureKind::spectrogram ? 8 : 12;
  return free >= offset ? offset : 0;
}

}  // namespace

Result<Fbank> Fbank::make(const FbankTables& tables, Isa isa, Memory& memory, RealFft* fft) noexcept {
  std::optional<Fbank> made;
  RUNNEL_TRY(make_in(made, tables, isa, memory, fft));
  return std::move(*made);
}

Status Fbank::make_in(std::optional<Fbank>& place, const FbankTables& tables, Isa isa, Memory& memory, RealFft* fft) noexcept {
  place.emplace(Empty());
  Fbank& f = *place;
  f.tables_ = tables;
  f.kernels_ = &kernels_for(isa);
  const FbankOptions& options = tables.options;
  const FbankShape& shape = tables.shape;
  if (tables.lanes != 1 && tables.lanes != f.kernels_->lanes) {
    return Status(Code::mismatch) << "tables of a front end for " << tables.lanes << " filters side by side: expected " << (f.kernels_->lanes > 1 ? "1 or " : "") << f.kernels_->lanes;
  }
  if (options.fft == FftChoice::fftw) {
    if (fft == nullptr)
      return Status(Code::unsupported, "fft=fftw: no FFTW back end in this program; expected fft=own");
    if (fft->size() != shape.fft_size) {
      return Status(Code::mismatch) << "FFT of size " << fft->size() << " given, expected " << shape.fft_size;
    }
    f.other_fft_ = fft;
  }
  RUNNEL_TRY(f.framer_.init(shape.grid, memory));
  const Arrays arrays(options, shape);
  auto* at = static_cast<float*>(memory.allocate(arrays.bytes(), 64));
  if (at == nullptr) return Status(Code::out_of_memory) << "front end: needs " << arrays.bytes() << " bytes more";
  std::memset(at, 0, arrays.bytes());
  const auto take = [&at](std::size_t count) { return std::exchange(at, at + count); };
  f.frame_ = take(arrays.frame);
  f.re_ = take(arrays.half);
  f.im_ = take(arrays.half);
  f.values_ = take(arrays.values);
  f.cepstra_ = take(arrays.cepstra);
  f.noisy_ = take(arrays.noisy);
  if (options.log_max == LogMax::global) f.held_ = take(arrays.held);
  f.count_ = count_of(options, shape);
  f.stride_ = arrays.stride();
  f.offset_ = offset_of(options.kind, shape.fft_size - shape.used);
  const fbank::TableLayout layout(options, shape);
  f.window_ = tables.floats;
  f.dct_ = tables.floats + layout.dct;
  if (has_mel(options)) f.mel_.init(options.num_mel_bins, tables.lanes, tables.floats + layout.mel, tables.integers);
  if (f.other_fft_ == nullptr) RUNNEL_TRY(f.own_fft_.init(shape.fft_size, tables.floats + layout.fft, isa, memory));
  return {};
}

Status Fbank::make_like(std::optional<Fbank>& place, const Fbank& first, Memory& memory) noexcept {
  if (first.other_fft_ != nullptr) return Status(Code::unsupported, "a front end like one whose transform was brought along");
  place.emplace(Empty());
  Fbank& f = *place;
  f = first;
  RUNNEL_TRY(f.framer_.init(first.shape().grid, memory));
  if (first.holds()) {
    const std::size_t held = Arrays(first.options(), first.shape()).held;
    f.held_ = memory.array<float>(held);
    if (f.held_ == nullptr) return Status(Code::out_of_memory) << "front end: needs " << held * sizeof(float) << " bytes more";
  }
  f.reset();
  return {};
}

void Fbank::reset() noexcept {
  framer_.reset();
  non_finite_ = 0;
  refused_at_ = -1;
  flushed_ = too_long_ = any_ = false;
  held_frames_ = given_ = 0;
}

// A frame that hangs over the start may wait for what it mirrors, and come together with the next one.
std::size_t Fbank::max_frames(std::size_t samples) const noexcept {
  const auto shift = static_cast<std::size_t>(shape().grid.shift);
  return samples / shift + (shape().grid.placement == FramePlacement::inside ? 1 : 2);
}

// At the end at most the frames that begin before it and were not complete: their starts span less than a
// frame length.
std::size_t Fbank::max_flush_frames() const noexcept {
  if (holds()) return static_cast<std::size_t>(options().max_frames);
  if (shape().grid.placement == FramePlacement::inside) return 0;
  return static_cast<std::size_t>((shape().grid.length + shape().grid.shift - 1) / shape().grid.shift) + 2;
}

Status Fbank::status() const noexcept {
  if (too_long_) {
    return Status(Code::invalid_data) << "the recording has more than " << options().max_frames
                                      << " frames (log_max=global); raise max_frames, or use log_max=running";
  }
  if (refused_at_ < 0) return Status();
  return Status(Code::invalid_data) << "sample " << refused_at_
                                    << " is not a finite number (non_finite=error)";
}

std::size_t Fbank::fill(const float* from, std::span<float> to) noexcept {
  const float gain = options().scale == SampleScale::int16 ? 32768.0F : 1.0F;
  const std::size_t bad = kernels_->copy_finite(from, to.size(), gain, to.data());
  if (bad > 0 && options().non_finite == NonFinite::error) {
    std::size_t fine = 0;
    while (from[fine] - from[fine] == 0.0F) ++fine;
    refused_at_ = framer_.received() + static_cast<std::int64_t>(fine);
    return fine;
  }
  non_finite_ += static_cast<std::int64_t>(bad);
  return to.size();
}

std::size_t Fbank::fill(const std::int16_t* from, std::span<float> to) noexcept {
  const float gain = options().scale == SampleScale::int16 ? 1.0F : 1.0F / 32768.0F;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i]) * gain;
  return to.size();
}

std::size_t Fbank::take_frames(std::span<float> frames_out, std::size_t already) noexcept {
  const std::size_t room = frames_out.size() / dims();
  std::size_t frames = already;
  for (; holds() || frames < room; framer_.advance()) {
    const float* samples = framer_.frame();
    if (samples == nullptr) break;
    float energy = 0;
    if (!holds()) {
      analyse(samples, values_, &energy);
      conclude(values_, energy, frames_out.data() + frames * dims());
      ++frames;
      continue;
    }
    if (held_frames_ == options().max_frames) {
      too_long_ = true;
      break;
    }
    float* values = held_ + static_cast<std::size_t>(held_frames_++) * stride_;
    analyse(samples, values, &energy);
    values[stride_ - 1] = energy;
    for (std::size_t i = 0; i < count_; ++i) {
      if (!any_ || values[i] > largest_) largest_ = values[i];
      any_ = true;
    }
  }
  return frames;
}

std::size_t Fbank::give_held(std::span<float> frames_out) noexcept {
  const std::size_t room = frames_out.size() / dims();
  std::size_t frames = 0;
  for (; frames < room && given_ < held_frames_; ++frames, ++given_) {
    float* values = held_ + static_cast<std::size_t>(given_) * stride_;
    conclude(values, values[stride_ - 1], frames_out.data() + frames * dims());
  }
  return frames;
}

template <class Sample>
Fbank::Step Fbank::push_any(std::span<const Sample> samples, std::span<float> frames_out) noexcept {
  Step step{0, 0};
  if (flushed_) return step;
  for (;;) {
    step.frames = take_frames(frames_out, step.frames);
    if (step.samples == samples.size() || refused_at_ >= 0 || too_long_ || framer_.frame() != nullptr) return step;
    std::span<float> room = framer_.room();
    room = room.first(std::min(room.size(), samples.size() - step.samples));
    const std::size_t taken = fill(samples.data() + step.samples, room);
    framer_.written(taken);
    step.samples += taken;
  }
}

Fbank::Step Fbank::push(std::span<const float> samples, std::span<float> frames_out) noexcept {
  return push_any(samples, frames_out);
}
Fbank::Step Fbank::push(std::span<const std::int16_t> samples, std::span<float> frames_out) noexcept {
  return push_any(samples, frames_out);
}

std::size_t Fbank::flush(std::span<float> frames_out) noexcept {
  flushed_ = true;
  framer_.finish();
  const std::size_t frames = take_frames(frames_out, 0);
  return holds() ? give_held(frames_out) : frames;
}

}  // namespace runnel::features
