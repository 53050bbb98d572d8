#include "tests/features/reference.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>

#include "base/from_chars.h"

namespace runnel::test {
namespace {

using features::FbankOptions;
using features::FeatureKind;
using features::WindowType;
using Signal = std::vector<std::complex<double>>;
using features::MelScale;
constexpr double kPi = std::numbers::pi;

// Recursive, radix 2, by definition at odd sizes.
Signal transform(const Signal& x) {
  const std::size_t n = x.size();
  Signal out(n);
  if (n % 2 != 0 || n == 1) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        out[k] += x[i] * std::polar(1.0, -2 * kPi * static_cast<double>(k * i % n) / static_cast<double>(n));
      }
    }
    return out;
  }
  Signal even(n / 2), odd(n / 2);
  for (std::size_t i = 0; i < n / 2; ++i) {
    even[i] = x[2 * i];
    odd[i] = x[2 * i + 1];
  }
  even = transform(even);
  odd = transform(odd);
  for (std::size_t k = 0; k < n / 2; ++k) {
    const std::complex<double> turned =
        std::polar(1.0, -2 * kPi * static_cast<double>(k) / static_cast<double>(n)) * odd[k];
    out[k] = even[k] + turned;
    out[k + n / 2] = even[k] - turned;
  }
  return out;
}

double window_at(WindowType type, double i, double n, double c) {
  const double a = 2 * kPi / (type == WindowType::hann || type == WindowType::sqrt_hann ? n : n - 1);
  switch (type) {
    case WindowType::povey:
      return std::pow(std::max(0.5 - 0.5 * std::cos(a * i), 0.0), 0.85);
    case WindowType::hamming:
      return 0.54 - 0.46 * std::cos(a * i);
    case WindowType::hanning:
    case WindowType::hann:
      return 0.5 - 0.5 * std::cos(a * i);
    case WindowType::blackman:
      return c - 0.5 * std::cos(a * i) + (0.5 - c) * std::cos(2 * a * i);
    case WindowType::sine:
    case WindowType::sqrt_hann:
      return std::sin(0.5 * a * i);
    case WindowType::rectangular:
      break;
  }
  return 1;
}

// The decimal that the user wrote: 0.97F means 0.97, and rounding it to single precision counts as an error.
double decimal(float value) {
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  double exact = 0;
  from_chars(digits, end, exact);
  return exact;
}

double mel(double f, MelScale scale) {
  if (scale == MelScale::htk) return 1127 * std::log1p(f / 700);
  return f < 1000 ? f * 3 / 200 : 15 + 27 * std::log(f / 1000) / std::log(6.4);
}
double hertz(double m, MelScale scale) {
  if (scale == MelScale::htk) return 700 * std::expm1(m / 1127);
  return m < 15 ? m * 200 / 3 : 1000 * std::exp((m - 15) * std::log(6.4) / 27);
}

// [bins][frequencies]
std::vector<std::vector<double>> mel_weights(const FbankOptions& o, std::size_t size) {
  const double rate = o.sample_frequency, high = o.high_freq > 0 ? o.high_freq : rate / 2 + o.high_freq;
  const double low_mel = mel(o.low_freq, o.mel_scale),
               step = (mel(high, o.mel_scale) - low_mel) / (o.num_mel_bins + 1);
  const bool on_bins =
      o.mel_shape == features::MelShape::bins || o.mel_shape == features::MelShape::half_bins;
  const auto corner = [&](int i) {
    const double m = low_mel + i * step, f = hertz(m, o.mel_scale);
    if (o.mel_shape == features::MelShape::mel) return m;
    if (o.mel_shape == features::MelShape::hz) return f;
    const double n = static_cast<double>(o.mel_shape == features::MelShape::bins ? size : size / 2 + 1);
    return std::floor((n + 1) * (i == o.num_mel_bins + 1 ? f - 0.001 : f + 1e-9) / rate);
  };
  std::vector<std::vector<double>> weights;
  for (int b = 0; b < o.num_mel_bins; ++b) {
    const double left = corner(b), centre = corner(b + 1), right = corner(b + 2);
    double height = 1;
    if (o.mel_norm == features::MelNorm::slaney)
      height = 2 / (hertz(low_mel + (b + 2) * step, o.mel_scale) - hertz(low_mel + b * step, o.mel_scale));
    weights.emplace_back((size + 1) / 2);
    for (std::size_t k = 0; k < (size + 1) / 2; ++k) {
      const double f = static_cast<double>(k) * rate / static_cast<double>(size);
      const double at = on_bins                                 ? static_cast<double>(k)
                        : o.mel_shape == features::MelShape::hz ? f
                                                                : mel(f, o.mel_scale);
      if (at == centre)
        weights.back()[k] = height;
      else if (at > left && at < right)
        weights.back()[k] =
            height * (at < centre ? (at - left) / (centre - left) : (right - at) / (right - centre));
    }
  }
  return weights;
}

double logarithm(double x, const FbankOptions& o) {
  x = std::max(x, decimal(o.log_floor));
  return o.log_type == features::LogType::ln ? std::log(x)
                                             : (o.log_type == features::LogType::db ? 10 : 1) * std::log10(x);
}

// Sample `at` of the recording, padded.
double sample_at(const std::vector<float>& x, std::int64_t at, features::Padding padding) {
  const auto n = static_cast<std::int64_t>(x.size());
  while (at < 0 || at >= n) {
    if (padding == features::Padding::zero) return 0;
    const std::int64_t edge = padding == features::Padding::mirror ? 1 : 0;
    at = n == 1 ? 0 : at < 0 ? -at - edge : 2 * n - 2 + edge - at;
  }
  return x[static_cast<std::size_t>(at)];
}

std::int64_t milliseconds(float rate, float ms) { return static_cast<std::int64_t>(rate * 0.001F * ms); }

}  // namespace

Signal dft(const std::vector<double>& x) { return transform(Signal(x.begin(), x.end())); }

namespace {

// A frame before the maximum of the recording is known.
struct Frame {
  std::vector<double> values;
  double energy = 0;
};

std::vector<double> concluded(const Frame& frame, const FbankOptions& o) {
  std::vector<double> out = frame.values;
  if (o.kind == FeatureKind::mfcc) {
    out.clear();
    for (int k = 0; k < o.num_ceps; ++k) {
      double sum = 0;
      for (int b = 0; b < o.num_mel_bins; ++b)
        sum += frame.values[static_cast<std::size_t>(b)] * std::cos(kPi / o.num_mel_bins * (b + 0.5) * k);
      const double q = decimal(o.cepstral_lifter);
      out.push_back(sum * std::sqrt((k == 0 ? 1.0 : 2.0) / o.num_mel_bins) *
                    (q > 0 ? 1 + 0.5 * q * std::sin(kPi * k / q) : 1.0));
    }
    if (o.use_energy) out[0] = frame.energy;
    if (o.htk_compat) {
      if (!o.use_energy) out[0] *= std::numbers::sqrt2;
      std::rotate(out.begin(), out.begin() + 1, out.end());
    }
  } else if (o.use_energy && o.kind == FeatureKind::spectrogram) {
    out[0] = frame.energy;
  } else if (o.use_energy) {
    out.insert(o.htk_compat ? out.end() : out.begin(), frame.energy);
  }
  for (double& x : out) {
    x = (x + decimal(o.output_offset)) * decimal(o.output_scale);
    if (o.output_steps > 0) x = std::floor(x * o.output_steps + 0.5) / o.output_steps;
    if (o.output_limit) x = std::clamp(x, 0.0, 1.0);
  }
  return out;
}

}  // namespace

std::vector<std::vector<double>> reference_features(const std::vector<float>& samples,
                                                    const FbankOptions& o) {
  const std::int64_t length =
                         o.win_length > 0 ? o.win_length : milliseconds(o.sample_frequency, o.frame_length),
                     shift =
                         o.hop_length > 0 ? o.hop_length : milliseconds(o.sample_frequency, o.frame_shift);
  const auto n = static_cast<std::int64_t>(samples.size());
  std::size_t size = static_cast<std::size_t>(length);
  if (o.n_fft > 0)
    size = static_cast<std::size_t>(o.n_fft);
  else if (o.round_to_power_of_two) {
    for (size = 1; size < static_cast<std::size_t>(length);) size *= 2;
  }
  const std::size_t used = std::min(static_cast<std::size_t>(length), size);
  const auto points = static_cast<std::int64_t>(std::max(size, static_cast<std::size_t>(length)));
  std::int64_t frames = o.snip_edges ? (n < length ? 0 : 1 + (n - length) / shift) : (n + shift / 2) / shift;
  std::int64_t first = o.snip_edges ? 0 : shift / 2 - length / 2;
  if (o.center) {
    frames = n == 0 ? 0 : 1 + (n + points / 2 * 2 - points) / shift - (o.drop_last_frame ? 1 : 0);
    first = (points - length) / 2 - points / 2;
  }
  const bool mfcc = o.kind == FeatureKind::mfcc, all_bins = o.kind == FeatureKind::spectrogram;
  const auto weights = all_bins ? std::vector<std::vector<double>>() : mel_weights(o, size);
  std::vector<Frame> all;
  for (std::int64_t f = 0; f < frames; ++f) {
    Frame frame;
    std::vector<double> x(size);
    double mean = 0, energy = 0, windowed = 0;
    for (std::size_t i = 0; i < used; ++i) {
      x[i] = sample_at(samples, f * shift + first + static_cast<std::int64_t>(i), o.pad_mode);
      mean += x[i] / static_cast<double>(used);
    }
    for (std::size_t i = 0; i < used; ++i) {
      x[i] -= o.remove_dc_offset ? mean : 0;
      energy += x[i] * x[i];
    }
    for (std::size_t i = used; i-- > 0;) {
      x[i] -= decimal(o.preemphasis_coefficient) * x[i > 0 ? i - 1 : 0];
      x[i] *= window_at(o.window_type, static_cast<double>(i), static_cast<double>(used),
                        decimal(o.blackman_coeff));
      windowed += x[i] * x[i];
    }
    std::vector<double> power, strength;
    for (const std::complex<double>& bin : dft(x)) {
      power.push_back(std::norm(bin) / (o.normalize_power ? static_cast<double>(size) : 1));
      strength.push_back(o.use_power || mfcc ? power.back() : std::sqrt(power.back()));
    }
    power.resize(size / 2 + 1);
    if (o.energy_source == features::EnergySource::spectrum)
      energy = std::accumulate(power.begin(), power.end(), 0.0);
    else if (!o.raw_energy)
      energy = windowed;
    frame.energy = logarithm(energy, o);
    if (o.energy_floor > 0)
      frame.energy = std::max(frame.energy, std::log(static_cast<double>(o.energy_floor)));
    if (all_bins)
      frame.values.assign(strength.begin(), strength.begin() + static_cast<std::ptrdiff_t>(size / 2 + 1));
    for (const auto& row : weights) {
      const double sum = std::inner_product(row.begin(), row.end(), strength.begin(), 0.0);
      frame.values.push_back(o.htk_mode ? std::max(sum, 1.0) : sum);
    }
    if (mfcc || o.use_log_fbank) {
      for (double& value : frame.values) value = logarithm(value, o);
    }
    all.push_back(frame);
  }
  double largest = o.log_max == features::LogMax::fixed ? static_cast<double>(o.log_max_value) : -1e300;
  if (o.log_max == features::LogMax::global) {
    for (const Frame& frame : all)
      largest = std::max(largest, *std::max_element(frame.values.begin(), frame.values.end()));
  }
  std::vector<std::vector<double>> out;
  for (Frame& frame : all) {
    if (o.log_max == features::LogMax::running)
      largest = std::max(largest, *std::max_element(frame.values.begin(), frame.values.end()));
    if (o.log_max != features::LogMax::none && (mfcc || o.use_log_fbank)) {
      for (double& value : frame.values) value = std::max(value, largest - decimal(o.log_max_range));
    }
    out.push_back(concluded(frame, o));
  }
  return out;
}

}  // namespace runnel::test
