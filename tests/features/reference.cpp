#include "tests/features/reference.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace runnel::test {
namespace {

using features::FbankOptions;
using features::FeatureKind;
using features::WindowType;
using Signal = std::vector<std::complex<double>>;
constexpr double kPi = std::numbers::pi, kEps = 1.1920929e-07F;

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
    const std::complex<double> turned = std::polar(1.0, -2 * kPi * static_cast<double>(k) / static_cast<double>(n)) * odd[k];
    out[k] = even[k] + turned;
    out[k + n / 2] = even[k] - turned;
  }
  return out;
}

double window_at(WindowType type, double i, double n, double c) {
  const double a = 2 * kPi / (type == WindowType::hann ? n : n - 1);
  switch (type) {
    case WindowType::povey: return std::pow(std::max(0.5 - 0.5 * std::cos(a * i), 0.0), 0.85);
    case WindowType::hamming: return 0.54 - 0.46 * std::cos(a * i);
    case WindowType::hanning:
    case WindowType::hann: return 0.5 - 0.5 * std::cos(a * i);
    case WindowType::blackman: return c - 0.5 * std::cos(a * i) + (0.5 - c) * std::cos(2 * a * i);
    case WindowType::sine: return std::sin(0.5 * a * i);
    case WindowType::rectangular: break;
  }
  return 1;
}

// The number that the user wrote: 0.97F stands for 0.97, and rounding it to single precision is an error that counts.
double decimal(float value) {
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  double exact = 0;
  std::from_chars(digits, end, exact);
  return exact;
}

double mel(double f) { return 1127 * std::log1p(f / 700); }

std::int64_t milliseconds(float rate, float ms) { return static_cast<std::int64_t>(rate * 0.001F * ms); }

}  // namespace

Signal dft(const std::vector<double>& x) { return transform(Signal(x.begin(), x.end())); }

std::vector<std::vector<double>> reference_features(const std::vector<float>& samples, const FbankOptions& o) {
  const std::int64_t length = milliseconds(o.sample_frequency, o.frame_length), shift = milliseconds(o.sample_frequency, o.frame_shift);
  const auto n = static_cast<std::int64_t>(samples.size());
  std::size_t size = static_cast<std::size_t>(length);
  if (o.n_fft > 0) size = static_cast<std::size_t>(o.n_fft);
  else if (o.round_to_power_of_two) {
    for (size = 1; size < static_cast<std::size_t>(length);) size *= 2;
  }
  const double rate = o.sample_frequency, high = o.high_freq > 0 ? o.high_freq : rate / 2 + o.high_freq;
  const double low_mel = mel(o.low_freq), step = (mel(high) - low_mel) / (o.num_mel_bins + 1);
  const std::int64_t frames = o.snip_edges ? (n < length ? 0 : 1 + (n - length) / shift) : (n + shift / 2) / shift;
  const bool mfcc = o.kind == FeatureKind::mfcc;
  std::vector<std::vector<double>> out;
  for (std::int64_t f = 0; f < frames; ++f) {
    const std::int64_t start = f * shift + (o.snip_edges ? 0 : shift / 2 - length / 2);
    std::vector<double> x(size);
    double mean = 0, energy = 0, windowed = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      std::int64_t at = ((start + i) % (2 * n) + 2 * n) % (2 * n);
      if (at >= n) at = 2 * n - 1 - at;
      x[static_cast<std::size_t>(i)] = samples[static_cast<std::size_t>(at)];
      mean += x[static_cast<std::size_t>(i)] / static_cast<double>(length);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
      x[i] -= o.remove_dc_offset ? mean : 0;
      energy += x[i] * x[i];
    }
    for (auto i = static_cast<std::size_t>(length); i-- > 0;) {
      x[i] -= decimal(o.preemphasis_coefficient) * x[i > 0 ? i - 1 : 0];
      x[i] *= window_at(o.window_type, static_cast<double>(i), static_cast<double>(length), decimal(o.blackman_coeff));
      windowed += x[i] * x[i];
    }
    energy = std::log(std::max(o.raw_energy ? energy : windowed, kEps));
    if (o.energy_floor > 0) energy = std::max(energy, std::log(static_cast<double>(o.energy_floor)));
    const Signal spectrum = dft(x);
    std::vector<double> bank;
    for (int b = 0; b < o.num_mel_bins; ++b) {
      const double left = low_mel + b * step, centre = low_mel + (b + 1) * step, right = low_mel + (b + 2) * step;
      double sum = 0;
      for (std::size_t k = 0; k < size / 2; ++k) {
        const double m = mel(static_cast<double>(k) * rate / static_cast<double>(size));
        if (m <= left || m >= right) continue;
        const double strength = o.use_power || mfcc ? std::norm(spectrum[k]) : std::abs(spectrum[k]);
        sum += strength * (m <= centre ? (m - left) / (centre - left) : (right - m) / (right - centre));
      }
      if (o.htk_mode) sum = std::max(sum, 1.0);
      bank.push_back(mfcc || o.use_log_fbank ? std::log(std::max(sum, kEps)) : sum);
    }
    if (!mfcc) {
      if (o.use_energy) bank.insert(o.htk_compat ? bank.end() : bank.begin(), energy);
      out.push_back(bank);
      continue;
    }
    std::vector<double> cepstra;
    for (int k = 0; k < o.num_ceps; ++k) {
      double sum = 0;
      for (int b = 0; b < o.num_mel_bins; ++b) {
        sum += bank[static_cast<std::size_t>(b)] * std::cos(kPi / o.num_mel_bins * (b + 0.5) * k);
      }
      const double q = decimal(o.cepstral_lifter);
      cepstra.push_back(sum * std::sqrt((k == 0 ? 1.0 : 2.0) / o.num_mel_bins) * (q > 0 ? 1 + 0.5 * q * std::sin(kPi * k / q) : 1.0));
    }
    if (o.use_energy) cepstra[0] = energy;
    if (o.htk_compat) {
      if (!o.use_energy) cepstra[0] *= std::numbers::sqrt2;
      std::rotate(cepstra.begin(), cepstra.begin() + 1, cepstra.end());
    }
    out.push_back(cepstra);
  }
  return out;
}

}  // namespace runnel::test
