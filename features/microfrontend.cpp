#include "features/microfrontend.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "features/microfrontend_math.h"

namespace runnel::features {

Result<std::size_t> Microfrontend::memory_bytes(const MicrofrontendOptions& options) noexcept {
  RUNNEL_ASSIGN(const MicrofrontendShape shape, shape_of(options));
  return memory_bytes(static_cast<std::size_t>(shape.grid.length), shape.fft_size, static_cast<std::size_t>(options.num_mel_bins));
}

Result<Microfrontend> Microfrontend::make(const MicrofrontendOptions& options, Isa isa, Memory& memory) noexcept {
  Microfrontend m;
  m.options_ = options;
  m.kernels_ = &fixed_kernels_for(isa);
  RUNNEL_ASSIGN(m.shape_, shape_of(options));
  const auto length = static_cast<std::size_t>(m.shape_.grid.length);
  const std::size_t bins = m.shape_.fft_size / 2 + 1, channels = m.dims();
  const std::size_t count = words(length, m.shape_.fft_size, channels);
  auto* at = static_cast<std::uint32_t*>(memory.allocate(count * sizeof(std::uint32_t), alignof(std::uint32_t)));
  if (at == nullptr) return Status(Code::out_of_memory) << "fixed-point front end: needs " << count * sizeof(std::uint32_t) << " bytes";
  std::fill_n(at, count, 0U);
  m.energy_ = std::exchange(at, at + bins);
  m.signal_ = std::exchange(at, at + channels);
  m.noise_ = std::exchange(at, at + channels);
  auto* half = reinterpret_cast<std::int16_t*>(at);
  const auto take = [&half](std::size_t size) { return std::exchange(half, half + size); };
  m.samples_ = take(length);
  m.window_ = take(length);
  m.frame_ = take(m.shape_.fft_size);
  m.spectrum_ = take(2 * bins);
  m.rising_ = take(bins);
  m.falling_ = take(bins);
  m.begin_ = reinterpret_cast<std::uint16_t*>(take(channels + 1));
  m.width_ = reinterpret_cast<std::uint16_t*>(take(channels + 1));
  m.gains_ = take(kGainEntries);
  RUNNEL_TRY(m.fft_.init(m.shape_.fft_size, isa, memory));
  fixed::fill_window({m.window_, length});
  m.smoothing_[0] = fixed::noise_fraction(options.even_smoothing);
  m.smoothing_[1] = fixed::noise_fraction(options.odd_smoothing);
  m.least_ = fixed::noise_fraction(options.min_signal_remaining);
  RUNNEL_TRY(m.make_bank());
  if (options.enable_pcan) m.make_gains();
  return m;
}

// The channels' boundaries are equally spaced in mel, in single precision as the original computes them. A bin between two
// of them counts for both channels; the first boundary belongs to a channel that is not used.
Status Microfrontend::make_bank() noexcept {
  const std::size_t bins = shape_.fft_size / 2 + 1, count = dims() + 1;
  const float low = fixed::mel(options_.low_freq), span = fixed::mel(options_.high_freq) - low;
  const float spacing = span / static_cast<float>(count);
  const float hz = static_cast<float>(0.5 * static_cast<double>(options_.sample_frequency) / static_cast<double>(static_cast<float>(bins) - 1));
  first_bin_ = static_cast<std::size_t>(1.5 + static_cast<double>(options_.low_freq / hz));
  const auto centre = [&](std::size_t channel) { return low + spacing * static_cast<float>(channel + 1); };
  std::size_t bin = first_bin_;
  for (std::size_t channel = 0; channel < count; ++channel) {
    const float right = centre(channel), left = channel == 0 ? low : centre(channel - 1);
    begin_[channel] = static_cast<std::uint16_t>(bin);
    for (; bin < bins; ++bin) {
      const float here = fixed::mel(static_cast<float>(bin) * hz);
      if (here > right) break;
      fixed::split_weight((right - here) / (right - left), rising_[bin], falling_[bin]);
    }
    width_[channel] = static_cast<std::uint16_t>(bin - begin_[channel]);
  }
  end_bin_ = bin;
  if (bin < bins) return {};
  return Status(Code::invalid_argument) << "high_freq: the channels reach beyond the spectrum; expected at most one FFT bin ("
                                        << static_cast<std::int64_t>(hz) << " Hz) below half of sample_frequency";
}

// Three numbers for each power of two: value, slope and curvature of the gain above it.
void Microfrontend::make_gains() noexcept {
  gains_[0] = gain_at(0);
  gains_[1] = gain_at(1);
  for (int interval = 2; interval <= 32; ++interval) {
    const std::uint32_t x0 = std::uint32_t{1} << (interval - 1);
    const std::int32_t y0 = gain_at(x0), y1 = gain_at(x0 + x0 / 2), y2 = gain_at(interval == 32 ? x0 + (x0 - 1) : 2 * x0);
    const std::int32_t slope = 4 * (y1 - y0) - (y2 - y0);
    std::int16_t* entry = gains_ + 4 * interval - 6;
    entry[0] = static_cast<std::int16_t>(y0);
    entry[1] = static_cast<std::int16_t>(slope);
    entry[2] = static_cast<std::int16_t>(y2 - y0 - slope);
  }
}

std::int16_t Microfrontend::gain_at(std::uint32_t noise) const noexcept {
  const int bits = options_.smoothing_bits - shape_.correction_bits;
  const float x = static_cast<float>(noise) / static_cast<float>(std::uint32_t{1} << bits);
  return fixed::gain(x + options_.pcan_offset, options_.pcan_strength, options_.gain_bits);
}

void Microfrontend::reset() noexcept {
  std::fill_n(noise_, dims(), 0U);
  next_ = 0;
  filled_ = skip_ = 0;
}

template <class Sample>
Microfrontend::Step Microfrontend::push_any(std::span<const Sample> samples, std::span<std::uint16_t> frames_out) noexcept {
  const auto length = static_cast<std::size_t>(shape_.grid.length), shift = static_cast<std::size_t>(shape_.grid.shift);
  const std::size_t room = frames_out.size() / dims();
  Step step{0, 0};
  for (;;) {
    const std::size_t dropped = std::min(skip_, samples.size() - step.samples);
    skip_ -= dropped;
    step.samples += dropped;
    const std::size_t taken = std::min(length - filled_, samples.size() - step.samples);
    for (std::size_t i = 0; i < taken; ++i) samples_[filled_ + i] = fixed::to_int16(samples[step.samples + i]);
    filled_ += taken;
    step.samples += taken;
    if (filled_ < length || step.frames == room) return step;
    const int free_bits = kernels_->window(samples_, window_, length, frame_);
    fft_.forward(frame_, spectrum_);
    channels(free_bits);
    reduce_noise();
    if (options_.enable_pcan) normalise();
    write(frames_out.data() + step.frames * dims());
    ++step.frames;
    ++next_;
    filled_ = length > shift ? length - shift : 0;
    skip_ = shift > length ? shift - length : 0;
    if (filled_ > 0) std::memmove(samples_, samples_ + shift, filled_ * sizeof(std::int16_t));
  }
}

Microfrontend::Step Microfrontend::push(std::span<const std::int16_t> samples, std::span<std::uint16_t> frames_out) noexcept {
  return push_any(samples, frames_out);
}
Microfrontend::Step Microfrontend::push(std::span<const float> samples, std::span<std::uint16_t> frames_out) noexcept {
  return push_any(samples, frames_out);
}

void Microfrontend::channels(int shift) noexcept {
  kernels_->energies(spectrum_ + 2 * first_bin_, end_bin_ - first_bin_, energy_ + first_bin_);
  std::uint64_t from_before = 0;
  for (std::size_t channel = 0; channel <= dims(); ++channel) {
    std::uint64_t up = from_before, down = 0;
    const std::size_t begin = begin_[channel], end = begin + width_[channel];
    for (std::size_t i = begin; i < end; ++i) {
      up += static_cast<std::uint64_t>(static_cast<std::uint32_t>(rising_[i])) * energy_[i];
      down += static_cast<std::uint64_t>(static_cast<std::uint32_t>(falling_[i])) * energy_[i];
    }
    if (channel > 0) signal_[channel - 1] = fixed::square_root(up) >> shift;
    from_before = down;
  }
}

void Microfrontend::reduce_noise() noexcept {
  const int bits = options_.smoothing_bits;
  for (std::size_t i = 0; i < dims(); ++i) {
    const std::uint32_t follow = smoothing_[i & 1], keep = (1U << 14) - follow;
    const std::uint32_t scaled = signal_[i] << bits;
    const auto estimate = static_cast<std::uint32_t>((static_cast<std::uint64_t>(scaled) * follow + static_cast<std::uint64_t>(noise_[i]) * keep) >> 14);
    noise_[i] = estimate;
    const std::uint32_t left = (scaled - std::min(estimate, scaled)) >> bits;
    signal_[i] = std::max(left, static_cast<std::uint32_t>((static_cast<std::uint64_t>(signal_[i]) * least_) >> 14));
  }
}

void Microfrontend::normalise() noexcept {
  const int shift = options_.gain_bits - shape_.correction_bits - fixed::kSnrBits;
  for (std::size_t i = 0; i < dims(); ++i) {
    const auto gain = static_cast<std::uint32_t>(static_cast<std::int32_t>(fixed::interpolate_gain(noise_[i], gains_)));
    signal_[i] = fixed::shrink(static_cast<std::uint32_t>((static_cast<std::uint64_t>(signal_[i]) * gain) >> shift));
  }
}

void Microfrontend::write(std::uint16_t* out) const noexcept {
  const int bits = shape_.correction_bits;
  for (std::size_t i = 0; i < dims(); ++i) {
    std::uint32_t value = signal_[i];
    if (options_.enable_log) {
      value = bits < 0 ? value >> -bits : value << bits;
      value = value > 1 ? fixed::log(value, options_.scale_shift) : 0;
    }
    out[i] = static_cast<std::uint16_t>(std::min<std::uint32_t>(value, 0xFFFF));
  }
}

}  // namespace runnel::features
