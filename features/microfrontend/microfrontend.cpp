#include "features/microfrontend/microfrontend.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "features/microfrontend/microfrontend_math.h"

namespace runnel::features {

Result<std::size_t> Microfrontend::memory_bytes(const MicrofrontendOptions& options) noexcept {
  RUNNEL_ASSIGN(const MicrofrontendShape shape, shape_of(options));
  return memory_bytes(static_cast<std::size_t>(shape.grid.length), shape.fft_size,
                      static_cast<std::size_t>(options.num_mel_bins));
}

Status Microfrontend::take_state(const MicrofrontendOptions& options, Isa isa, Memory& memory) noexcept {
  options_ = options;
  kernels_ = &fixed_kernels_for(isa);
  RUNNEL_ASSIGN(shape_, shape_of(options));
  const auto length = static_cast<std::size_t>(shape_.grid.length);
  const std::size_t bins = shape_.fft_size / 2 + 1, channels = dims();
  const std::size_t count = words(length, shape_.fft_size, channels);
  auto* at =
      static_cast<std::uint32_t*>(memory.allocate(count * sizeof(std::uint32_t), alignof(std::uint32_t)));
  if (at == nullptr)
    return Status(Code::out_of_memory)
           << "fixed-point front end: needs " << count * sizeof(std::uint32_t) << " bytes";
  std::fill_n(at, count, 0U);
  energy_ = std::exchange(at, at + bins);
  signal_ = std::exchange(at, at + channels);
  noise_ = std::exchange(at, at + channels);
  auto* half = reinterpret_cast<std::int16_t*>(at);
  samples_ = std::exchange(half, half + length);
  frame_ = std::exchange(half, half + shape_.fft_size);
  spectrum_ = half;
  return {};
}

Status Microfrontend::start(Isa isa, Memory& memory) noexcept {
  RUNNEL_TRY(fft_.init(shape_.fft_size, tables_.factors, isa, memory));
  smoothing_[0] = fixed::noise_fraction(options_.even_smoothing);
  smoothing_[1] = fixed::noise_fraction(options_.odd_smoothing);
  least_ = fixed::noise_fraction(options_.min_signal_remaining);
  return {};
}

// Separate functions, so that a program with constant tables links no code that computes them.
Result<Microfrontend> Microfrontend::make(const MicrofrontendOptions& options, Isa isa,
                                          Memory& memory) noexcept {
  Microfrontend m;
  RUNNEL_TRY(m.take_state(options, isa, memory));
  RUNNEL_TRY(m.make_tables(memory));
  RUNNEL_TRY(m.start(isa, memory));
  return m;
}

Result<Microfrontend> Microfrontend::make(const MicrofrontendOptions& options,
                                          const MicrofrontendTables& tables, Isa isa,
                                          Memory& memory) noexcept {
  Microfrontend m;
  RUNNEL_TRY(m.take_state(options, isa, memory));
  m.tables_ = tables;
  RUNNEL_TRY(m.start(isa, memory));
  return m;
}

Status Microfrontend::make_tables(Memory& memory) noexcept {
  const auto length = static_cast<std::size_t>(shape_.grid.length);
  const std::size_t bins = shape_.fft_size / 2 + 1,
                    count = microfrontend_table_halves(length, shape_.fft_size, dims());
  const std::size_t bytes = align_up(count * sizeof(std::int16_t), sizeof(std::uint32_t));
  auto* half = static_cast<std::int16_t*>(memory.allocate(bytes, alignof(std::uint32_t)));
  if (half == nullptr)
    return Status(Code::out_of_memory) << "fixed-point front end: needs " << bytes << " bytes for tables";
  std::fill_n(half, count, std::int16_t{0});
  const auto take = [&half](std::size_t size) { return std::exchange(half, half + size); };
  MutableMicrofrontendTables tables;
  tables.factors = take(fixed::fft_factor_halves(shape_.fft_size));
  tables.window = take(length);
  tables.rising = take(bins);
  tables.falling = take(bins);
  tables.begin = reinterpret_cast<std::uint16_t*>(take(dims() + 1));
  tables.width = reinterpret_cast<std::uint16_t*>(take(dims() + 1));
  tables.gains = take(kGainEntries);
  fill_microfrontend_tables(options_, shape_, tables);
  tables_ = {tables.window, tables.rising,  tables.falling,   tables.begin,  tables.width,
             tables.gains,  tables.factors, tables.first_bin, tables.end_bin};
  if (tables.end_bin < bins) return {};
  const auto hz = static_cast<std::int64_t>(options_.sample_frequency / static_cast<float>(shape_.fft_size));
  return Status(Code::invalid_argument)
         << "high_freq: the channels reach beyond the spectrum; expected at most one FFT bin (" << hz
         << " Hz) below half of sample_frequency";
}

void Microfrontend::reset() noexcept {
  std::fill_n(noise_, dims(), 0U);
  next_ = 0;
  filled_ = skip_ = 0;
}

template <class Sample>
Microfrontend::Step Microfrontend::push_any(std::span<const Sample> samples,
                                            std::span<std::uint16_t> frames_out) noexcept {
  const auto length = static_cast<std::size_t>(shape_.grid.length),
             shift = static_cast<std::size_t>(shape_.grid.shift);
  const std::size_t room = frames_out.size() / dims();
  Step step{0, 0};
  for (;;) {
    const std::size_t dropped = std::min(skip_, samples.size() - step.samples);
    skip_ -= dropped;
    step.samples += dropped;
    const std::size_t taken = std::min(length - filled_, samples.size() - step.samples);
    for (std::size_t i = 0; i < taken; ++i)
      samples_[filled_ + i] = fixed::to_int16(samples[step.samples + i]);
    filled_ += taken;
    step.samples += taken;
    if (filled_ < length || step.frames == room) return step;
    const int free_bits = kernels_->window(samples_, tables_.window, length, frame_);
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

Microfrontend::Step Microfrontend::push(std::span<const std::int16_t> samples,
                                        std::span<std::uint16_t> frames_out) noexcept {
  return push_any(samples, frames_out);
}
Microfrontend::Step Microfrontend::push(std::span<const float> samples,
                                        std::span<std::uint16_t> frames_out) noexcept {
  return push_any(samples, frames_out);
}

void Microfrontend::channels(int shift) noexcept {
  kernels_->energies(spectrum_ + 2 * tables_.first_bin, tables_.end_bin - tables_.first_bin,
                     energy_ + tables_.first_bin);
  std::uint64_t from_before = 0;
  for (std::size_t channel = 0; channel <= dims(); ++channel) {
    std::uint64_t up = from_before, down = 0;
    const std::size_t begin = tables_.begin[channel], end = begin + tables_.width[channel];
    for (std::size_t i = begin; i < end; ++i) {
      up += static_cast<std::uint64_t>(static_cast<std::uint32_t>(tables_.rising[i])) * energy_[i];
      down += static_cast<std::uint64_t>(static_cast<std::uint32_t>(tables_.falling[i])) * energy_[i];
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
    const auto estimate = static_cast<std::uint32_t>(
        (static_cast<std::uint64_t>(scaled) * follow + static_cast<std::uint64_t>(noise_[i]) * keep) >> 14);
    noise_[i] = estimate;
    const std::uint32_t left = (scaled - std::min(estimate, scaled)) >> bits;
    signal_[i] =
        std::max(left, static_cast<std::uint32_t>((static_cast<std::uint64_t>(signal_[i]) * least_) >> 14));
  }
}

void Microfrontend::normalise() noexcept {
  const int shift = options_.gain_bits - shape_.correction_bits - fixed::kSnrBits;
  for (std::size_t i = 0; i < dims(); ++i) {
    const auto gain = static_cast<std::uint32_t>(
        static_cast<std::int32_t>(fixed::interpolate_gain(noise_[i], tables_.gains)));
    signal_[i] =
        fixed::shrink(static_cast<std::uint32_t>((static_cast<std::uint64_t>(signal_[i]) * gain) >> shift));
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
