#include "features/fbank.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "features/dct.h"
#include "features/dither.h"
#include "features/exact_math.h"

namespace runnel::features {
namespace {

constexpr float kEpsilon = 1.1920929e-7F;  // FLT_EPSILON, the floor of every logarithm of the recipe

constexpr std::size_t padded(std::size_t count) { return align_up(count, 16); }

// Sizes of Fbank's own arrays, in floats.
struct Arrays {
  std::size_t window, frame, half, energies, cepstra, dct, noisy;
  explicit Arrays(const FbankOptions& o, const FbankShape& shape)
      : window(padded(static_cast<std::size_t>(shape.grid.length))),
        frame(padded(shape.fft_size)),
        half(padded(shape.fft_size / 2 + 1)),
        energies(padded(static_cast<std::size_t>(o.num_mel_bins))),
        cepstra(o.kind == FeatureKind::mfcc ? padded(static_cast<std::size_t>(o.num_ceps)) : 0),
        dct(cepstra * static_cast<std::size_t>(o.num_mel_bins)),
        noisy(o.dither > 0 ? window : 0) {}
  [[nodiscard]] std::size_t floats() const { return window + frame + 2 * half + energies + cepstra + dct + noisy; }
};

}  // namespace

Result<std::size_t> Fbank::memory_bytes(const FbankOptions& options, Isa isa) noexcept {
  RUNNEL_ASSIGN(const FbankShape shape, shape_of(options));
  const std::int32_t lanes = kernels_for(isa).lanes;
  std::size_t bytes = align_up(Framer::memory_bytes(shape.grid), 64) + align_up(MelBank::memory_bytes(shape.mel, lanes), 64) +
                      Arrays(options, shape).floats() * sizeof(float);
  if (options.fft == FftChoice::own) bytes = align_up(bytes, 64) + OwnFft::memory_bytes(shape.fft_size);
  return bytes;
}

Result<Fbank> Fbank::make(const FbankOptions& options, Isa isa, Memory& memory, RealFft* fft) noexcept {
  Fbank f;
  RUNNEL_ASSIGN(f.shape_, shape_of(options));
  f.options_ = options;
  f.kernels_ = &kernels_for(isa);
  if (options.fft == FftChoice::fftw) {
    if (fft == nullptr) return Status(Code::unsupported, "fft=fftw: no FFTW back end in this program; expected fft=own");
    if (fft->size() != f.shape_.fft_size) {
      return Status(Code::mismatch) << "FFT of size " << fft->size() << " given, expected " << f.shape_.fft_size;
    }
    f.other_fft_ = fft;
  }
  RUNNEL_TRY(f.framer_.init(f.shape_.grid, memory));
  RUNNEL_TRY(f.mel_.init(f.shape_.mel, f.kernels_->lanes, memory));
  const Arrays arrays(options, f.shape_);
  auto* at = static_cast<float*>(memory.allocate(arrays.floats() * sizeof(float), 64));
  if (at == nullptr) {
    return Status(Code::out_of_memory) << "front end: needs " << arrays.floats() * sizeof(float) << " bytes more";
  }
  if (f.other_fft_ == nullptr) RUNNEL_TRY(f.own_fft_.init(f.shape_.fft_size, isa, memory));
  std::fill_n(at, arrays.floats(), 0.0F);
  const auto take = [&at](std::size_t count) { return std::exchange(at, at + count); };
  f.window_ = take(arrays.window);
  f.frame_ = take(arrays.frame);
  f.re_ = take(arrays.half);
  f.im_ = take(arrays.half);
  f.energies_ = take(arrays.energies);
  f.cepstra_ = take(arrays.cepstra);
  f.dct_ = take(arrays.dct);
  f.noisy_ = take(arrays.noisy);
  fill_window(options.window_type, options.blackman_coeff, {f.window_, static_cast<std::size_t>(f.shape_.grid.length)});
  if (options.kind == FeatureKind::mfcc) {
    fill_dct({.filters = options.num_mel_bins,
              .coefficients = options.num_ceps,
              .lifter = options.cepstral_lifter,
              .first_last = options.htk_compat,
              .scale_first = options.htk_compat && !options.use_energy},
             arrays.cepstra, f.dct_);
  }
  if (options.energy_floor > 0) f.log_energy_floor_ = static_cast<float>(log(static_cast<double>(options.energy_floor)));
  return f;
}

void Fbank::reset() noexcept {
  framer_.reset();
  non_finite_ = 0;
  refused_at_ = -1;
  flushed_ = false;
}

std::size_t Fbank::max_frames(std::size_t samples) const noexcept {
  const auto shift = static_cast<std::size_t>(shape_.grid.shift);
  return samples / shift + 1;
}

// At the end at most the frames that begin before it and were not complete: their starts span less than a frame length.
std::size_t Fbank::max_flush_frames() const noexcept {
  if (options_.snip_edges) return 0;
  return static_cast<std::size_t>((shape_.grid.length + shape_.grid.shift - 1) / shape_.grid.shift) + 1;
}

Status Fbank::status() const noexcept {
  if (refused_at_ < 0) return Status();
  return Status(Code::invalid_data) << "sample " << refused_at_ << " is not a finite number (non_finite=error)";
}

std::size_t Fbank::fill(const float* from, std::span<float> to) noexcept {
  const float gain = options_.scale == SampleScale::int16 ? 32768.0F : 1.0F;
  const std::size_t bad = kernels_->copy_finite(from, to.size(), gain, to.data());
  if (bad > 0 && options_.non_finite == NonFinite::error) {
    std::size_t fine = 0;
    while (from[fine] - from[fine] == 0.0F) ++fine;
    refused_at_ = framer_.received() + static_cast<std::int64_t>(fine);
    return fine;
  }
  non_finite_ += static_cast<std::int64_t>(bad);
  return to.size();
}

std::size_t Fbank::fill(const std::int16_t* from, std::span<float> to) noexcept {
  const float gain = options_.scale == SampleScale::int16 ? 1.0F : 1.0F / 32768.0F;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i]) * gain;
  return to.size();
}

std::size_t Fbank::take_frames(std::span<float> frames_out, std::size_t already) noexcept {
  const std::size_t room = frames_out.size() / dims();
  std::size_t frames = already;
  for (; frames < room; ++frames) {
    const float* samples = framer_.frame();
    if (samples == nullptr) break;
    compute(samples, frames_out.data() + frames * dims());
    framer_.advance();
  }
  return frames;
}

template <class Sample>
Fbank::Step Fbank::push_any(std::span<const Sample> samples, std::span<float> frames_out) noexcept {
  Step step{0, 0};
  if (flushed_) return step;
  for (;;) {
    step.frames = take_frames(frames_out, step.frames);
    if (step.samples == samples.size() || refused_at_ >= 0 || framer_.frame() != nullptr) return step;
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
  return take_frames(frames_out, 0);
}

float Fbank::log_energy(float energy) const noexcept {
  kernels_->log(&energy, 1, kEpsilon);
  return options_.energy_floor > 0 && energy < log_energy_floor_ ? log_energy_floor_ : energy;
}

void Fbank::compute(const float* samples, float* out) noexcept {
  const FbankOptions& o = options_;
  const Kernels& k = *kernels_;
  const auto length = static_cast<std::size_t>(shape_.grid.length);
  const std::size_t half = shape_.fft_size / 2;
  if (o.dither > 0) {
    add_noise(samples, length, o.dither, o.seed, framer_.next_frame(), noisy_);
    samples = noisy_;
  }
  const float mean = o.remove_dc_offset ? k.sum(samples, length) / static_cast<float>(length) : 0.0F;
  float energy = o.use_energy && o.raw_energy ? k.sum_of_squares(samples, length, mean) : 0.0F;
  k.shape_frame(samples, length, mean, o.preemphasis_coefficient, window_, frame_);
  if (o.use_energy && !o.raw_energy) energy = k.sum_of_squares(frame_, length, 0.0F);
  fft().forward(frame_, re_, im_);
  k.power(re_, im_, half, re_);
  const bool mfcc = o.kind == FeatureKind::mfcc;
  if (!o.use_power && !mfcc) k.square_root(re_, half);
  re_[half] = 0;
  mel_.apply(k, re_, energies_);
  if (o.htk_mode) k.floor_at(energies_, mel_.padded_filters(), 1.0F);
  if (mfcc || o.use_log_fbank) k.log(energies_, mel_.padded_filters(), kEpsilon);

  const auto filters = static_cast<std::size_t>(o.num_mel_bins);
  if (!mfcc) {
    std::memcpy(out + (o.use_energy && !o.htk_compat ? 1 : 0), energies_, filters * sizeof(float));
  } else {
    k.times_matrix(energies_, filters, dct_, padded(dims()), cepstra_);
    std::memcpy(out, cepstra_, dims() * sizeof(float));
  }
  if (o.use_energy) out[o.htk_compat ? dims() - 1 : 0] = log_energy(energy);
}

}  // namespace runnel::features
