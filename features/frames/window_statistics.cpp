#include "features/frames/window_statistics.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/number_text.h"

namespace runnel::features {
namespace {

constexpr std::int64_t kMaxSamples = std::int64_t{1} << 20;
constexpr std::int64_t kMaxChannels = 4096;
constexpr std::int64_t kMaxValues = std::int64_t{1} << 24;  // of a window and of a hop, all channels

constexpr std::size_t padded(std::size_t count) noexcept { return align_up(count, 16); }
constexpr std::size_t fft_size_of(std::int64_t window) noexcept {
  return static_cast<std::size_t>(window + window % 2);
}

bool has_bands(const WindowStatisticsOptions& options) noexcept {
  return std::find(options.statistics.begin(), options.statistics.end(), Statistic::band_power) !=
         options.statistics.end();
}

FrameGrid grid_of(const WindowStatisticsOptions& options) noexcept {
  return {.length = options.window * options.channels,
          .shift = options.hop * options.channels,
          .placement = FramePlacement::inside};
}

Status check(const WindowStatisticsOptions& options) noexcept {
  const auto wrong = [](std::string_view name, std::int64_t value, std::int64_t most) {
    return Status(Code::invalid_argument) << name << '=' << value << ": expected 1 to " << most;
  };
  if (options.channels < 1 || options.channels > kMaxChannels)
    return wrong("channels", options.channels, kMaxChannels);
  const std::int64_t most = std::min(kMaxSamples, kMaxValues / options.channels);
  if (options.window < 1 || options.window > most) return wrong("window", options.window, most);
  if (options.hop < 1 || options.hop > most) return wrong("hop", options.hop, most);
  if (options.statistics.empty() || options.statistics.size() > 64)
    return Status(Code::invalid_argument, "statistics: expected 1 to 64 of them");
  if (!has_bands(options)) return {};
  if (options.bands.empty() || options.bands.size() > 1024)
    return Status(Code::invalid_argument, "bands: band_power wants 1 to 1024 of them, LOW-HIGH in Hz");
  if (!(options.sample_rate > 0))
    return Status(Code::invalid_argument,
                  "sample_rate: band_power wants the rate of the samples, above 0 Hz");
  return {};
}

}  // namespace

std::size_t WindowStatistics::memory_bytes(const WindowStatisticsOptions& options) noexcept {
  if (!check(options).ok()) return 0;
  const auto length = static_cast<std::size_t>(options.window);
  std::size_t bytes = align_up(Framer::memory_bytes(grid_of(options)), 64) + padded(length) * sizeof(float);
  if (has_bands(options)) {
    const std::size_t size = fft_size_of(options.window);
    bytes += (padded(length) + padded(size) + 2 * padded(size / 2 + 1)) * sizeof(float) +
             OwnFft::memory_bytes(size);
    bytes = align_up(bytes, alignof(Bins)) + options.bands.size() * sizeof(Bins);
  }
  return bytes + options.statistics.size() * sizeof(Statistic);
}

Status WindowStatistics::find_bins(const WindowStatisticsOptions& options, Memory& memory) noexcept {
  auto* bins = memory.array<Bins>(options.bands.size());
  if (bins == nullptr) return Status(Code::out_of_memory, "window statistics: no room for the bands");
  const double per_hz = static_cast<double>(fft_size_) / options.sample_rate,
               nyquist = options.sample_rate / 2;
  // A bin at the edge belongs to the upper band, also where the division rounds.
  const auto first_at = [&](double hz) { return static_cast<std::size_t>(std::ceil(hz * per_hz - 1e-6)); };
  for (std::size_t i = 0; i < options.bands.size(); ++i) {
    const Band& band = options.bands[i];
    Text name;
    name << "bands=" << shortest_text(band.low).view() << '-' << shortest_text(band.high).view();
    if (!(band.low >= 0 && band.low < band.high && band.high <= nyquist * (1 + 1e-9))) {
      return Status(Code::invalid_argument)
             << name.view() << ": expected 0 <= low < high <= " << shortest_text(nyquist).view()
             << " Hz, half the rate";
    }
    const std::size_t end = band.high >= nyquist * (1 - 1e-9) ? fft_size_ / 2 + 1 : first_at(band.high);
    bins[i] = {first_at(band.low), end};
    if (bins[i].first >= bins[i].end) {
      return Status(Code::invalid_argument)
             << name.view() << ": no bin of the spectrum lies in it; windows of " << options.window
             << " samples have one every " << shortest_text(static_cast<float>(1 / per_hz)).view() << " Hz";
    }
  }
  bins_ = bins;
  bands_ = options.bands.size();
  return {};
}

Result<WindowStatistics> WindowStatistics::make(const WindowStatisticsOptions& options, Isa isa,
                                                Memory& memory) noexcept {
  RUNNEL_TRY(check(options));
  WindowStatistics s;
  s.kernels_ = &kernels_for(isa);
  s.length_ = static_cast<std::size_t>(options.window);
  s.channels_ = static_cast<std::size_t>(options.channels);
  s.count_ = options.statistics.size();
  s.remove_dc_offset_ = options.remove_dc_offset;
  s.refuse_ = options.refuse_non_finite;
  const auto floats = [&](std::size_t count) {
    return static_cast<float*>(memory.allocate(padded(count) * sizeof(float), 64));
  };
  const auto full = [&] {
    return Status(Code::out_of_memory) << "window statistics: needs " << memory_bytes(options) << " bytes";
  };
  RUNNEL_TRY(s.framer_.init(grid_of(options), memory));
  s.channel_ = floats(s.length_);
  if (s.channel_ == nullptr) return full();
  if (has_bands(options)) {
    s.fft_size_ = fft_size_of(options.window);
    s.weights_ = floats(s.length_);
    s.shaped_ = floats(s.fft_size_);
    s.re_ = floats(s.fft_size_ / 2 + 1);
    s.im_ = floats(s.fft_size_ / 2 + 1);
    if (s.weights_ == nullptr || s.shaped_ == nullptr || s.re_ == nullptr || s.im_ == nullptr) return full();
    RUNNEL_TRY(s.fft_.init(s.fft_size_, isa, memory));
    fill_window(options.spectral_window, 0.42, {s.weights_, s.length_});
    double squares = 0;
    for (std::size_t i = 0; i < s.length_; ++i)
      squares += static_cast<double>(s.weights_[i]) * static_cast<double>(s.weights_[i]);
    if (!(squares > 0))
      return Status(Code::invalid_argument)
             << "window=" << options.window
             << ": the spectral window is zero everywhere; expected a longer window";
    s.power_scale_ = static_cast<float>(2 / (static_cast<double>(s.fft_size_) * squares));
    std::fill_n(s.shaped_, s.fft_size_, 0.0F);
    RUNNEL_TRY(s.find_bins(options, memory));
  }
  auto* statistics = memory.array<Statistic>(s.count_);
  if (statistics == nullptr) return full();
  std::copy(options.statistics.begin(), options.statistics.end(), statistics);
  s.statistics_ = statistics;
  for (const Statistic statistic : options.statistics)
    s.dims_ += (statistic == Statistic::band_power ? s.bands_ : 1) * s.channels_;
  return s;
}

std::size_t WindowStatistics::max_windows(std::size_t samples) const noexcept {
  return samples / (static_cast<std::size_t>(framer_.grid().shift) / channels_) + 1;
}

void WindowStatistics::reset() noexcept {
  framer_.reset();
  refused_ = false;
}

Status WindowStatistics::status() const noexcept {
  if (!refused_) return {};
  return Status(Code::invalid_data) << "a sample that is infinite or not a number, within " << channels_
                                    << " channels after sample "
                                    << framer_.received() / static_cast<std::int64_t>(channels_)
                                    << " (non_finite=zero reads such samples as 0)";
}

WindowStatistics::Step WindowStatistics::push(std::span<const float> samples, std::span<float> out) noexcept {
  const std::size_t all = samples.size();
  std::size_t windows = 0;
  for (;;) {
    while (const float* window = framer_.frame()) {
      if ((windows + 1) * dims_ > out.size()) return {(all - samples.size()) / channels_, windows};
      describe(window, out.data() + windows * dims_);
      framer_.advance();
      ++windows;
    }
    if (samples.empty() || refused_) return {(all - samples.size()) / channels_, windows};
    const std::span<float> room = framer_.room();
    const std::size_t count = std::min(room.size(), samples.size());
    const std::size_t bad = kernels_->copy_finite(samples.data(), count, 1.0F, room.data());
    if (bad > 0 && refuse_) {
      refused_ = true;
      continue;
    }
    non_finite_ += bad;
    framer_.written(count);
    samples = samples.subspan(count);
  }
}

void WindowStatistics::spectrum(float offset) noexcept {
  kernels_->shape_frame(channel_, length_, offset, 0.0F, weights_, shaped_);
  fft_.forward(shaped_, re_, im_);
  kernels_->power(re_, im_, fft_size_ / 2 + 1, re_);
  re_[0] *= 0.5F;
  re_[fft_size_ / 2] *= 0.5F;
}

void WindowStatistics::describe(const float* window, float* out) noexcept {
  const auto count = static_cast<float>(length_);
  for (std::size_t c = 0; c < channels_; ++c) {
    for (std::size_t i = 0; i < length_; ++i) channel_[i] = window[i * channels_ + c];
    const float mean = kernels_->sum(channel_, length_) / count;
    const float offset = remove_dc_offset_ ? mean : 0.0F;
    const auto [low, high] = std::minmax_element(channel_, channel_ + length_);
    float* to = out + c;
    for (std::size_t s = 0; s < count_; ++s, to += channels_) {
      switch (statistics_[s]) {
        case Statistic::mean:
          *to = mean;
          break;
        case Statistic::std:
          *to = std::sqrt(kernels_->sum_of_squares(channel_, length_, mean) / count);
          break;
        case Statistic::rms:
          *to = std::sqrt(kernels_->sum_of_squares(channel_, length_, 0.0F) / count);
          break;
        case Statistic::peak:
          *to = std::max(std::fabs(*low), std::fabs(*high));
          break;
        case Statistic::peak_to_peak:
          *to = *high - *low;
          break;
        case Statistic::zero_crossings: {
          std::size_t crossings = 0;
          for (std::size_t i = 1; i < length_; ++i)
            crossings += (channel_[i] - offset < 0) != (channel_[i - 1] - offset < 0) ? 1 : 0;
          *to = static_cast<float>(crossings);
          break;
        }
        case Statistic::band_power:
          spectrum(offset);
          for (std::size_t b = 0; b < bands_; ++b)
            to[b * channels_] =
                kernels_->sum(re_ + bins_[b].first, bins_[b].end - bins_[b].first) * power_scale_;
          to += (bands_ - 1) * channels_;
          break;
      }
    }
  }
}

}  // namespace runnel::features
