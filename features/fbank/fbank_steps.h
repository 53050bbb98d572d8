// The steps of a spectral front end (listed in fbank.h), for recipes at run time (Fbank) and for constant
// ones (rom_fbank.h), where the compiler removes the steps that the recipe does not need.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/memory.h"
#include "base/status.h"
#include "features/fbank/fbank_tables.h"
#include "features/frames/framer.h"
#include "features/samples/dither.h"

namespace runnel::features {

// Self has: tables(), its recipe; kernels(), Kernels or ScalarKernels; forward(in, re, im), the
// transform; mel_rows(); dct(). It may have forward_power(), of OwnFft.
template <class Self, class Frames>
class FbankSteps {
 public:
  struct Step {
    std::size_t samples;  // taken
    std::size_t frames;   // written
  };
  // Takes samples in [-1, 1) (scale=int16 multiplies them by 32768) and writes complete frames in order,
  // dims() values each. It stops early only when frames_out is full, at a non-finite sample under
  // non_finite=error, or, under log_max=global, when the recording is too long (see status()). Room for
  // max_frames(samples.size()) frames always suffices.
  Step push(std::span<const float> samples, std::span<float> frames_out) noexcept;
  // The same for 16-bit samples, with exactly the result of the floats sample / 32768.
  Step push(std::span<const std::int16_t> samples, std::span<float> frames_out) noexcept;
  // The recording has ended: writes the remaining frames, as many as fit; 0 when there are none left. After
  // flush() only flush() and reset() are of use: push() takes nothing.
  std::size_t flush(std::span<float> frames_out) noexcept;
  // As new: the next sample is number 0.
  void reset() noexcept;
  template <class Archive>
  void state(Archive& archive) noexcept;  // base/state_archive.h

  [[nodiscard]] std::size_t dims() const noexcept { return shape().dims; }
  [[nodiscard]] const FbankShape& shape() const noexcept { return self().tables().shape; }
  [[nodiscard]] const FbankOptions& options() const noexcept { return self().tables().options; }
  // Most frames that one push of this many samples can give, or a flush with samples = frame length.
  [[nodiscard]] std::size_t max_frames(std::size_t samples) const noexcept;
  [[nodiscard]] std::size_t max_flush_frames() const noexcept;
  // Number of the next frame that will be written, since reset. Frame f begins at sample
  // shape().grid.start_of(f); its middle is length / 2 later.
  [[nodiscard]] std::int64_t next_frame() const noexcept { return holds() ? given_ : framer_.next_frame(); }
  [[nodiscard]] std::int64_t samples_received() const noexcept { return framer_.received(); }
  [[nodiscard]] std::int64_t non_finite_samples() const noexcept { return non_finite_; }
  // invalid_data after a refused sample, naming it, or for a recording too long for max_frames; ok otherwise.
  [[nodiscard]] Status status() const noexcept;

 protected:
  // Sizes of the arrays, in floats.
  struct Arrays {
    std::size_t frame, half, values, cepstra, noisy, held;
    constexpr Arrays(const FbankOptions& o, const FbankShape& shape) noexcept
        : frame(fbank::padded(shape.fft_size)),
          half(fbank::padded(shape.spectrum() + 1)),
          values(fbank::padded(count_of(o, shape))),
          cepstra(o.kind == FeatureKind::mfcc ? fbank::padded(static_cast<std::size_t>(o.num_ceps)) : 0),
          noisy(o.dither > 0 ? fbank::padded(shape.used) : 0),
          held(o.log_max == LogMax::global ? static_cast<std::size_t>(o.max_frames) * stride() : 0) {}
    [[nodiscard]] constexpr std::size_t stride() const noexcept { return values + 16; }
    [[nodiscard]] constexpr std::size_t bytes() const noexcept {
      return (frame + 2 * half + values + cepstra + noisy + held) * sizeof(float);
    }
  };
  // Values of a frame before the maximum limits them.
  static constexpr std::size_t count_of(const FbankOptions& o, const FbankShape& shape) noexcept {
    return has_mel(o) ? static_cast<std::size_t>(o.num_mel_bins) : shape.dims;
  }
  Status take_arrays(Memory& memory) noexcept;
  // Allocates only the arrays that a stream keeps between frames; the others stay shared.
  Status take_held(Memory& memory) noexcept;

  Frames framer_;

 private:
  [[nodiscard]] const Self& self() const noexcept { return static_cast<const Self&>(*this); }
  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
  // Offset of a frame among the zeros of a longer FFT. The power spectrum does not depend on it, but rounding
  // errors do, which limit the accuracy of bins far below the frame's strongest. Of all offsets these had the
  // smallest worst error over the oracle's recordings and settings, against double precision: one for mel
  // bins, one for spectra. Complex spectra have the frame in the middle.
  static constexpr std::size_t offset_of(FeatureKind kind, std::size_t free) noexcept {
    if (kind == FeatureKind::stft) return free / 2;
    const std::size_t offset = kind == FeatureKind::spectrogram ? 8 : 12;
    return free >= offset ? offset : 0;
  }
  // Values before the result; floats of a held frame.
  [[nodiscard]] std::size_t count() const noexcept { return count_of(options(), shape()); }
  [[nodiscard]] std::size_t stride() const noexcept { return Arrays(options(), shape()).stride(); }
  // Number of energies that the mel bank writes.
  [[nodiscard]] std::size_t written_filters() const noexcept {
    const auto filters = static_cast<std::size_t>(options().num_mel_bins);
    return self().tables().lanes == 1 ? filters : (filters + 15) / 16 * 16;
  }
  template <class Sample>
  Step push_any(std::span<const Sample> samples, std::span<float> frames_out) noexcept;
  std::size_t fill(const float* from, std::span<float> to) noexcept;
  std::size_t fill(const std::int16_t* from, std::span<float> to) noexcept;
  std::size_t take_frames(std::span<float> frames_out, std::size_t already) noexcept;
  std::size_t give_held(std::span<float> frames_out) noexcept;
  [[nodiscard]] bool holds() const noexcept { return options().log_max == LogMax::global; }
  // One frame, from samples to the values before the limit; writes `energy` if it is used.
  void analyse(const float* samples, float* values, float* energy) noexcept;
  // From these values to the result.
  void conclude(float* values, float energy, float* out) noexcept;
  void take_logarithm(float* values, std::size_t count) const noexcept;
  // From natural logarithms to those of the options.
  void scale_logarithm(float* values, std::size_t count) const noexcept;
  void limit(float* values, std::size_t count) noexcept;
  void scale_output(float* out) const noexcept;

  float* frame_ = nullptr;    // [fft_size], zeros around the frame
  float* re_ = nullptr;       // [spectrum + 1], then the power, and a zero after the mel bank's bins
  float* im_ = nullptr;       // [spectrum + 1]
  float* values_ = nullptr;   // [padded filters or bins]
  float* cepstra_ = nullptr;  // [padded coefficients]
  float* noisy_ = nullptr;    // [used], with dither
  float* held_ = nullptr;     // log_max = global: [max_frames][padded values, energy]
  float largest_ = 0;         // logarithm so far; meaningful when any_ is true
  bool any_ = false;
  std::int64_t held_frames_ = 0, given_ = 0;
  bool too_long_ = false;
  std::int64_t non_finite_ = 0, refused_at_ = -1;
  bool flushed_ = false;
};

template <class Self, class Frames>
Status FbankSteps<Self, Frames>::take_arrays(Memory& memory) noexcept {
  const Arrays arrays(options(), shape());
  auto* at = static_cast<float*>(memory.allocate(arrays.bytes(), 64));
  if (at == nullptr)
    return Status(Code::out_of_memory) << "front end: needs " << arrays.bytes() << " bytes more";
  std::memset(at, 0, arrays.bytes());
  const auto take = [&at](std::size_t floats) { return std::exchange(at, at + floats); };
  frame_ = take(arrays.frame);
  re_ = take(arrays.half);
  im_ = take(arrays.half);
  values_ = take(arrays.values);
  cepstra_ = take(arrays.cepstra);
  noisy_ = take(arrays.noisy);
  if (holds()) held_ = take(arrays.held);
  return {};
}

template <class Self, class Frames>
Status FbankSteps<Self, Frames>::take_held(Memory& memory) noexcept {
  if (!holds()) return {};
  const std::size_t floats = Arrays(options(), shape()).held;
  held_ = memory.array<float>(floats);
  if (held_ == nullptr)
    return Status(Code::out_of_memory) << "front end: needs " << floats * sizeof(float) << " bytes more";
  return {};
}

template <class Self, class Frames>
void FbankSteps<Self, Frames>::reset() noexcept {
  framer_.reset();
  non_finite_ = 0;
  refused_at_ = -1;
  flushed_ = too_long_ = any_ = false;
  held_frames_ = given_ = 0;
}

template <class Self, class Frames>
template <class Archive>
void FbankSteps<Self, Frames>::state(Archive& archive) noexcept {
  framer_.state(archive);
  archive.index(non_finite_);
  archive.bounded(refused_at_, -1, framer_.received());
  archive.follows(flushed_, framer_.finished(), "the end");
  archive.value(any_);
  archive.value(largest_);
  if (!holds()) return;
  archive.value(too_long_);
  archive.index(held_frames_, options().max_frames);
  archive.index(given_, held_frames_);
  for (std::int64_t i = 0; i < held_frames_ && archive.ok(); ++i) {
    float* const values = held_ + static_cast<std::size_t>(i) * stride();
    archive.values(std::span(values, count()));
    archive.value(values[stride() - 1]);  // the energy
  }
}

// A frame that overlaps the start may wait for the samples that it mirrors and come with the next one.
template <class Self, class Frames>
std::size_t FbankSteps<Self, Frames>::max_frames(std::size_t samples) const noexcept {
  const auto shift = static_cast<std::size_t>(shape().grid.shift);
  return samples / shift + (shape().grid.placement == FramePlacement::inside ? 1 : 2);
}

// At most the incomplete frames that begin before the end: their starts span less than a frame length.
template <class Self, class Frames>
std::size_t FbankSteps<Self, Frames>::max_flush_frames() const noexcept {
  if (holds()) return static_cast<std::size_t>(options().max_frames);
  if (shape().grid.placement == FramePlacement::inside) return 0;
  return static_cast<std::size_t>((shape().grid.length + shape().grid.shift - 1) / shape().grid.shift) + 2;
}

template <class Self, class Frames>
Status FbankSteps<Self, Frames>::status() const noexcept {
  if (too_long_) {
    return Status(Code::invalid_data) << "the recording has more than " << options().max_frames
                                      << " frames (log_max=global); raise max_frames, or use log_max=running";
  }
  if (refused_at_ < 0) return Status();
  return Status(Code::invalid_data) << "sample " << refused_at_
                                    << " is not a finite number (non_finite=error)";
}

template <class Self, class Frames>
std::size_t FbankSteps<Self, Frames>::fill(const float* from, std::span<float> to) noexcept {
  const float gain = options().scale == SampleScale::int16 ? 32768.0F : 1.0F;
  const std::size_t bad = self().kernels().copy_finite(from, to.size(), gain, to.data());
  if (bad > 0 && options().non_finite == NonFinite::error) {
    std::size_t fine = 0;
    while (from[fine] - from[fine] == 0.0F) ++fine;
    refused_at_ = framer_.received() + static_cast<std::int64_t>(fine);
    return fine;
  }
  non_finite_ += static_cast<std::int64_t>(bad);
  return to.size();
}

template <class Self, class Frames>
std::size_t FbankSteps<Self, Frames>::fill(const std::int16_t* from, std::span<float> to) noexcept {
  const float gain = options().scale == SampleScale::int16 ? 1.0F : 1.0F / 32768.0F;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i]) * gain;
  return to.size();
}

template <class Self, class Frames>
std::size_t FbankSteps<Self, Frames>::take_frames(std::span<float> frames_out, std::size_t already) noexcept {
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
    float* values = held_ + static_cast<std::size_t>(held_frames_++) * stride();
    analyse(samples, values, &energy);
    values[stride() - 1] = energy;
    for (std::size_t i = 0; i < count(); ++i) {
      if (!any_ || values[i] > largest_) largest_ = values[i];
      any_ = true;
    }
  }
  return frames;
}

template <class Self, class Frames>
std::size_t FbankSteps<Self, Frames>::give_held(std::span<float> frames_out) noexcept {
  const std::size_t room = frames_out.size() / dims();
  std::size_t frames = 0;
  for (; frames < room && given_ < held_frames_; ++frames, ++given_) {
    float* values = held_ + static_cast<std::size_t>(given_) * stride();
    conclude(values, values[stride() - 1], frames_out.data() + frames * dims());
  }
  return frames;
}

template <class Self, class Frames>
template <class Sample>
typename FbankSteps<Self, Frames>::Step FbankSteps<Self, Frames>::push_any(
    std::span<const Sample> samples, std::span<float> frames_out) noexcept {
  Step step{0, 0};
  if (flushed_) return step;
  for (;;) {
    step.frames = take_frames(frames_out, step.frames);
    if (step.samples == samples.size() || refused_at_ >= 0 || too_long_ || framer_.frame() != nullptr)
      return step;
    std::span<float> room = framer_.room();
    room = room.first(std::min(room.size(), samples.size() - step.samples));
    const std::size_t taken = fill(samples.data() + step.samples, room);
    framer_.written(taken);
    step.samples += taken;
  }
}

template <class Self, class Frames>
typename FbankSteps<Self, Frames>::Step FbankSteps<Self, Frames>::push(std::span<const float> samples,
                                                                       std::span<float> frames_out) noexcept {
  return push_any(samples, frames_out);
}
template <class Self, class Frames>
typename FbankSteps<Self, Frames>::Step FbankSteps<Self, Frames>::push(std::span<const std::int16_t> samples,
                                                                       std::span<float> frames_out) noexcept {
  return push_any(samples, frames_out);
}

template <class Self, class Frames>
std::size_t FbankSteps<Self, Frames>::flush(std::span<float> frames_out) noexcept {
  flushed_ = true;
  framer_.finish();
  const std::size_t frames = take_frames(frames_out, 0);
  return holds() ? give_held(frames_out) : frames;
}

template <class Self, class Frames>
void FbankSteps<Self, Frames>::take_logarithm(float* values, std::size_t count) const noexcept {
  self().kernels().log(values, count, options().log_floor);
  scale_logarithm(values, count);
}

template <class Self, class Frames>
void FbankSteps<Self, Frames>::scale_logarithm(float* values, std::size_t count) const noexcept {
  if (options().log_type == LogType::ln) return;
  const float factor =
      options().log_type == LogType::log10 ? 0.434294481903251827651F : 4.34294481903251827651F;
  for (std::size_t i = 0; i < count; ++i) values[i] *= factor;
}

template <class Self, class Frames>
void FbankSteps<Self, Frames>::analyse(const float* samples, float* values, float* energy) noexcept {
  const FbankOptions& o = options();
  const auto& k = self().kernels();
  const std::size_t used = shape().used;
  if (o.dither > 0) {
    add_noise(samples, used, o.dither, o.seed, framer_.next_frame(), noisy_);
    samples = noisy_;
  }
  const float mean = o.remove_dc_offset ? k.sum(samples, used) / static_cast<float>(used) : 0.0F;
  const bool of_samples = o.use_energy && o.energy_source == EnergySource::samples;
  if (of_samples && o.raw_energy) *energy = k.sum_of_squares(samples, used, mean);
  float* shaped = frame_ + offset_of(o.kind, shape().fft_size - used);
  k.shape_frame(samples, used, mean, o.preemphasis_coefficient, self().tables().floats, shaped);
  if (of_samples && !o.raw_energy) *energy = k.sum_of_squares(shaped, used, 0.0F);
  const bool mfcc = o.kind == FeatureKind::mfcc, all_bins = o.kind == FeatureKind::spectrogram;
  bool have_power = false;
  if constexpr (requires(Self & fused) { fused.forward_power(frame_, re_, im_); })
    have_power = has_mel(o) && self().forward_power(frame_, re_, im_);
  if (!have_power) self().forward(frame_, re_, im_);
  if (o.kind == FeatureKind::stft) {
    std::memcpy(values, re_, shape().spectrum() * sizeof(float));
    std::memcpy(values + shape().spectrum(), im_, shape().spectrum() * sizeof(float));
    return;
  }
  const bool of_spectrum = o.use_energy && o.energy_source == EnergySource::spectrum;
  const std::size_t bins = all_bins || of_spectrum ? shape().spectrum() : shape().mel.bins();
  if (!have_power) k.power(re_, im_, bins, all_bins ? values : re_);
  if (of_spectrum) *energy = k.sum(all_bins ? values : re_, bins);
  if (!o.use_power && !mfcc) k.square_root(all_bins ? values : re_, bins);
  const bool takes_logarithm = mfcc || o.use_log_fbank;
  bool have_logarithm = false;
  if (!all_bins) {
    re_[shape().mel.bins()] = 0;
    if constexpr (requires { k.mel_log; }) {
      have_logarithm = takes_logarithm && !o.htk_mode && k.mel_log != nullptr &&
                       k.mel_log(self().mel_rows(), re_, o.log_floor, values);
    }
    if (!have_logarithm) k.mel(self().mel_rows(), re_, values);
  }
  if (o.htk_mode && !all_bins) k.floor_at(values, written_filters(), 1.0F);
  if (have_logarithm)
    scale_logarithm(values, written_filters());
  else if (takes_logarithm)
    take_logarithm(values, all_bins ? bins : written_filters());
  if (o.use_energy) {
    take_logarithm(energy, 1);
    if (o.energy_floor > 0 && *energy < self().tables().log_energy_floor)
      *energy = self().tables().log_energy_floor;
  }
}

// The lower limit of logarithms, relative to the maximum.
template <class Self, class Frames>
void FbankSteps<Self, Frames>::limit(float* values, std::size_t count) noexcept {
  if (options().log_max == LogMax::running || options().log_max == LogMax::global) {
    // Under global, all frames are seen before the first one is limited.
    if (!holds()) {
      for (std::size_t i = 0; i < count; ++i) {
        if (!any_ || values[i] > largest_) largest_ = values[i];
        any_ = true;
      }
    }
  } else {
    largest_ = options().log_max_value;
  }
  self().kernels().floor_at(values, count, largest_ - options().log_max_range);
}

template <class Self, class Frames>
void FbankSteps<Self, Frames>::scale_output(float* out) const noexcept {
  const FbankOptions& o = options();
  const std::size_t count = dims();
  if (o.output_offset != 0 || o.output_scale != 1) {
    for (std::size_t i = 0; i < count; ++i) out[i] = (out[i] + o.output_offset) * o.output_scale;
  }
  if (o.output_steps > 0) {
    const auto steps = static_cast<float>(o.output_steps);
    for (std::size_t i = 0; i < count; ++i) out[i] = std::floor(out[i] * steps + 0.5F) / steps;
  }
  if (o.output_limit) {
    for (std::size_t i = 0; i < count; ++i) out[i] = out[i] < 0 ? 0 : out[i] > 1 ? 1 : out[i];
  }
}

template <class Self, class Frames>
void FbankSteps<Self, Frames>::conclude(float* values, float energy, float* out) noexcept {
  const FbankOptions& o = options();
  if (o.kind == FeatureKind::stft) {
    std::memcpy(out, values, dims() * sizeof(float));
    return;
  }
  if (o.log_max != LogMax::none && (o.kind == FeatureKind::mfcc || o.use_log_fbank)) limit(values, count());
  if (o.kind == FeatureKind::mfcc) {
    self().kernels().times_matrix(values, count(), self().dct(), (dims() + 15) / 16 * 16, cepstra_);
    std::memcpy(out, cepstra_, dims() * sizeof(float));
  } else {
    const bool first = o.kind == FeatureKind::fbank && o.use_energy && !o.htk_compat;
    std::memcpy(out + (first ? 1 : 0), values, count() * sizeof(float));
  }
  if (o.use_energy) out[o.htk_compat && o.kind != FeatureKind::spectrogram ? dims() - 1 : 0] = energy;
  scale_output(out);
}

}  // namespace runnel::features
