#include "services/page/spectrum.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "features/fbank/fbank_parameters.h"

namespace runnel::page {
namespace {

constexpr std::int64_t kLeastRate = 2000;  // Hz
constexpr std::size_t kPiece = 256;        // samples per block
// Natural logarithms of the power of 16-bit sound in a mel band: hiss, and a loud voice near the microphone.
constexpr float kQuiet = 6, kLoud = 24;

}  // namespace

Result<Spectrum> Spectrum::make(const pipeline::Format& format) {
  const std::int64_t rate = format.clock.rate();
  if (format.kind != pipeline::Kind::audio || rate < kLeastRate || format.channels < 1) {
    return Status(Code::unsupported) << "a spectrogram is of sound of at least " << kLeastRate << " Hz";
  }
  Spectrum made;
  made.memory_ = std::make_unique<HeapMemory>();
  made.channels_ = static_cast<std::size_t>(format.channels);
  RUNNEL_ASSIGN(features::FbankOptions options, features::preset("kaldi"));
  options.sample_frequency = static_cast<float>(rate);
  options.num_mel_bins = rate >= 8000 ? 64 : 24;
  options.empty_filters = features::EmptyFilters::floor;
  RUNNEL_ASSIGN(made.fbank_, features::Fbank::make(options, best_isa(), *made.memory_));
  made.loudest_.assign(made.fbank_->dims(), 0.0F);
  made.frame_.resize(made.fbank_->dims() * made.fbank_->max_frames(kPiece));
  made.restart(0);
  return made;
}

void Spectrum::restart(std::int64_t first) {
  fbank_->reset();
  std::fill(loudest_.begin(), loudest_.end(), kQuiet);
  collected_ = 0;
  samples_ = first;
  complete_ = false;
  peak_ = 0;
}

std::size_t Spectrum::take(std::span<const float> samples) {
  // Less than the hop, so that one call completes at most one column.
  const auto most = std::min<std::size_t>(kPiece, static_cast<std::size_t>(fbank_->shape().grid.shift));
  const std::size_t count = std::min(samples.size() / channels_, most);
  if (count == 0) return samples.size();
  mono_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (std::size_t c = 0; c < channels_; ++c) {
      const float value = samples[i * channels_ + c];
      sum += value;
      peak_ = std::max(peak_, std::abs(value));
    }
    mono_[i] = sum / static_cast<float>(channels_);
  }
  samples_ += static_cast<std::int64_t>(count);
  const std::size_t frames = fbank_->push(std::span<const float>(mono_), frame_).frames;
  for (std::size_t f = 0; f < frames; ++f) {
    for (std::size_t b = 0; b < loudest_.size(); ++b)
      loudest_[b] = std::max(loudest_[b], frame_[f * loudest_.size() + b]);
    ++collected_;
  }
  complete_ = collected_ >= frames_;
  return count * channels_;
}

Spectrum::Column Spectrum::next() {
  Column column;
  column.sample = samples_;
  column.peak = peak_;
  for (const float value : loudest_)
    column.bands.push_back(static_cast<std::uint8_t>(
        std::lround(255 * std::clamp((value - kQuiet) / (kLoud - kQuiet), 0.0F, 1.0F))));
  std::fill(loudest_.begin(), loudest_.end(), kQuiet);
  collected_ = 0;
  complete_ = false;
  peak_ = 0;
  return column;
}

}  // namespace runnel::page
