// One frame of a front end: from samples to values.
#include <cmath>
#include <cstring>

#include "features/dither.h"
#include "features/fbank.h"

namespace runnel::features {

void Fbank::take_logarithm(float* values, std::size_t count) const noexcept {
  kernels_->log(values, count, options().log_floor);
  if (options().log_type == LogType::ln) return;
  const float factor = options().log_type == LogType::log10 ? 0.434294481903251827651F : 4.34294481903251827651F;
  for (std::size_t i = 0; i < count; ++i) values[i] *= factor;
}

void Fbank::analyse(const float* samples, float* values, float* energy) noexcept {
  const FbankOptions& o = options();
  const Kernels& k = *kernels_;
  const std::size_t used = shape().used;
  if (o.dither > 0) {
    add_noise(samples, used, o.dither, o.seed, framer_.next_frame(), noisy_);
    samples = noisy_;
  }
  const float mean = o.remove_dc_offset ? k.sum(samples, used) / static_cast<float>(used) : 0.0F;
  const bool of_samples = o.use_energy && o.energy_source == EnergySource::samples;
  if (of_samples && o.raw_energy) *energy = k.sum_of_squares(samples, used, mean);
  float* shaped = frame_ + offset_;
  k.shape_frame(samples, used, mean, o.preemphasis_coefficient, window_, shaped);
  if (of_samples && !o.raw_energy) *energy = k.sum_of_squares(shaped, used, 0.0F);
  fft().forward(frame_, re_, im_);
  if (o.kind == FeatureKind::stft) {
    std::memcpy(values, re_, shape().spectrum() * sizeof(float));
    std::memcpy(values + shape().spectrum(), im_, shape().spectrum() * sizeof(float));
    return;
  }
  const bool of_spectrum = o.use_energy && o.energy_source == EnergySource::spectrum;
  const bool mfcc = o.kind == FeatureKind::mfcc, all_bins = o.kind == FeatureKind::spectrogram;
  const std::size_t bins = all_bins || of_spectrum ? shape().spectrum() : shape().mel.bins();
  k.power(re_, im_, bins, all_bins ? values : re_);
  if (of_spectrum) *energy = k.sum(all_bins ? values : re_, bins);
  if (!o.use_power && !mfcc) k.square_root(all_bins ? values : re_, bins);
  if (!all_bins) {
    re_[shape().mel.bins()] = 0;
    mel_.apply(k, re_, values);
  }
  if (o.htk_mode && !all_bins) k.floor_at(values, mel_.written_filters(), 1.0F);
  if (mfcc || o.use_log_fbank) take_logarithm(values, all_bins ? bins : mel_.written_filters());
  if (o.use_energy) {
    take_logarithm(energy, 1);
    if (o.energy_floor > 0 && *energy < tables_.log_energy_floor) *energy = tables_.log_energy_floor;
  }
}

// The logarithms' lower end, below the maximum.
void Fbank::limit(float* values, std::size_t count) noexcept {
  if (options().log_max == LogMax::running || options().log_max == LogMax::global) {
    // Under global every frame has been seen before the first one is limited.
    if (!holds()) {
      for (std::size_t i = 0; i < count; ++i) {
        if (!any_ || values[i] > largest_) largest_ = values[i];
        any_ = true;
      }
    }
  } else {
    largest_ = options().log_max_value;
  }
  kernels_->floor_at(values, count, largest_ - options().log_max_range);
}

void Fbank::scale_output(float* out) const noexcept {
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

void Fbank::conclude(float* values, float energy, float* out) noexcept {
  const FbankOptions& o = options();
  if (o.kind == FeatureKind::stft) {
    std::memcpy(out, values, dims() * sizeof(float));
    return;
  }
  if (o.log_max != LogMax::none && (o.kind == FeatureKind::mfcc || o.use_log_fbank)) limit(values, count_);
  if (o.kind == FeatureKind::mfcc) {
    kernels_->times_matrix(values, count_, dct_, (dims() + 15) / 16 * 16, cepstra_);
    std::memcpy(out, cepstra_, dims() * sizeof(float));
  } else {
    const bool first = o.kind == FeatureKind::fbank && o.use_energy && !o.htk_compat;
    std::memcpy(out + (first ? 1 : 0), values, count_ * sizeof(float));
  }
  if (o.use_energy) out[o.htk_compat && o.kind != FeatureKind::spectrogram ? dims() - 1 : 0] = energy;
  scale_output(out);
}

}  // namespace runnel::features
