// Read-only tables of the fixed-point front end, computed at run time, or at compile time for flash memory.
// Only this file uses floating point.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/exact_math_constant.h"
#include "features/microfrontend/fixed_fft_factors.h"
#include "features/microfrontend/microfrontend_options.h"

namespace runnel::features {

// Two numbers, then three for each power of two.
inline constexpr std::size_t kGainEntries = 125;

// Pointers to the tables.
template <class Int16, class Uint16>
struct MicrofrontendTablesOf {
  Int16* window = nullptr;   // [length]
  Int16* rising = nullptr;   // [bins]: weight of a bin in its channel
  Int16* falling = nullptr;  // [bins]: in the next one
  Uint16* begin = nullptr;   // [channels + 1]
  Uint16* width = nullptr;   // [channels + 1]
  Int16* gains = nullptr;    // [kGainEntries]
  Int16* factors = nullptr;  // [fft_factor_halves(fft_size)]
  std::size_t first_bin = 0, end_bin = 0;
};
using MicrofrontendTables = MicrofrontendTablesOf<const std::int16_t, const std::uint16_t>;
using MutableMicrofrontendTables = MicrofrontendTablesOf<std::int16_t, std::uint16_t>;

constexpr std::size_t microfrontend_table_halves(std::size_t length, std::size_t fft_size,
                                                 std::size_t channels) noexcept {
  return length + 2 * (fft_size / 2 + 1) + 2 * (channels + 1) + kGainEntries +
         fixed::fft_factor_halves(fft_size);
}

namespace fixed {

// ln(1 + x) for x >= 0, in single precision throughout: the original's library has an error of up to one
// unit in the last place here, which decides weights that lie half way. 1 + x = 2^k (1 + f), and with s = f
// / (2 + f)
//     ln(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)),
// R a polynomial fitted to 2 atanh(s) (the method of FDLIBM, Sun Microsystems 1993).
constexpr float log1p_single(float x) noexcept {
  constexpr float kLn2High = 6.9313812256e-01F, kLn2Low = 9.0580006145e-06F;
  float f = x, rest = 0;
  int k = 0;
  if (x >= 0.41421356F) {
    const float whole = 1.0F + x;
    const auto bits = std::bit_cast<std::uint32_t>(whole);
    k = static_cast<int>(bits >> 23) - 127;
    rest = (k > 0 ? 1.0F - (whole - x) : x - (whole - 1.0F)) / whole;
    const std::uint32_t mantissa = bits & 0x7FFFFF;
    const bool above = mantissa >= 0x3504F7;  // sqrt(2)
    k += above ? 1 : 0;
    f = std::bit_cast<float>(mantissa | (above ? 0x3F000000U : 0x3F800000U)) - 1.0F;
  }
  const float half_square = 0.5F * f * f, s = f / (2.0F + f), z = s * s, ks = static_cast<float>(k);
  constexpr float kPolynomial[] = {1.4798198640e-01F, 1.5313838422e-01F, 1.8183572590e-01F, 2.2222198546e-01F,
                                   2.8571429849e-01F, 4.0000000596e-01F, 6.6666668653e-01F};
  float sum = 0;
  for (const float coefficient : kPolynomial) sum = coefficient + z * sum;
  const float r = z * sum;
  if (k == 0) return f - (half_square - s * (half_square + r));
  return ks * kLn2High - ((half_square - (s * (half_square + r) + (ks * kLn2Low + rest))) - f);
}

// 0.5 - 0.5 cos(2 pi (i + 0.5) / size) in 12 fractional bits.
constexpr void fill_window(std::span<std::int16_t> window) noexcept {
  const auto step =
      static_cast<float>(exact::kPi * 2.0 / static_cast<double>(static_cast<float>(window.size())));
  for (std::size_t i = 0; i < window.size(); ++i) {
    // Angle and cosine in single precision, as in the original: this decides coefficients that lie half way.
    const auto angle = static_cast<float>(static_cast<double>(step) * (static_cast<double>(i) + 0.5));
    const auto cosine =
        static_cast<float>(exact::constant::turn(static_cast<double>(angle) / (2 * exact::kPi)).cos);
    const auto value = static_cast<float>(0.5 - 0.5 * static_cast<double>(cosine));
    window[i] = static_cast<std::int16_t>(floor_to_int(static_cast<double>(value * 4096.0F) + 0.5));
  }
}

// 1127 ln(1 + hz / 700) in single precision.
constexpr float mel(float hz) noexcept { return 1127.0F * log1p_single(hz / 700.0F); }

// A weight and its complement to 1, in 12 fractional bits.
constexpr void split_weight(float weight, std::int16_t& rising, std::int16_t& falling) noexcept {
  rising = static_cast<std::int16_t>(floor_to_int(static_cast<double>(weight * 4096.0F) + 0.5));
  falling = static_cast<std::int16_t>(floor_to_int((1.0 - static_cast<double>(weight)) * 4096.0 + 0.5));
}

// x^-strength in `bits` fractional bits, at most 32767; x > 0.
constexpr std::int16_t gain(float x, float strength, int bits) noexcept {
  const auto power =
      static_cast<float>(exact::constant::pow(static_cast<double>(x), -static_cast<double>(strength)));
  const float value = static_cast<float>(std::uint32_t{1} << bits) * power;
  return value > 32767.0F ? std::int16_t{32767} : static_cast<std::int16_t>(value + 0.5F);
}

// The channels' boundaries are equally spaced in mel, in single precision as the original computes them. A
// bin between two of them counts for both channels; the first boundary belongs to a channel that is not used.
constexpr void fill_bank(const MicrofrontendOptions& options, std::size_t fft_size,
                         MutableMicrofrontendTables& tables) noexcept {
  const std::size_t bins = fft_size / 2 + 1, count = static_cast<std::size_t>(options.num_mel_bins) + 1;
  const float low = mel(options.low_freq), span = mel(options.high_freq) - low;
  const float spacing = span / static_cast<float>(count);
  const auto hz = static_cast<float>(0.5 * static_cast<double>(options.sample_frequency) /
                                     static_cast<double>(static_cast<float>(bins) - 1));
  tables.first_bin = static_cast<std::size_t>(1.5 + static_cast<double>(options.low_freq / hz));
  const auto centre = [&](std::size_t channel) { return low + spacing * static_cast<float>(channel + 1); };
  std::size_t bin = tables.first_bin;
  for (std::size_t channel = 0; channel < count; ++channel) {
    const float right = centre(channel), left = channel == 0 ? low : centre(channel - 1);
    tables.begin[channel] = static_cast<std::uint16_t>(bin);
    for (; bin < bins; ++bin) {
      const float here = mel(static_cast<float>(bin) * hz);
      if (here > right) break;
      split_weight((right - here) / (right - left), tables.rising[bin], tables.falling[bin]);
    }
    tables.width[channel] = static_cast<std::uint16_t>(bin - tables.begin[channel]);
  }
  tables.end_bin = bin;
}

// Value, slope and curvature of the gain above each power of two.
constexpr void fill_gains(const MicrofrontendOptions& options, int correction_bits,
                          std::int16_t* gains) noexcept {
  const auto gain_at = [&](std::uint32_t noise) {
    const int bits = options.smoothing_bits - correction_bits;
    const float x = static_cast<float>(noise) / static_cast<float>(std::uint32_t{1} << bits);
    return gain(x + options.pcan_offset, options.pcan_strength, options.gain_bits);
  };
  gains[0] = gain_at(0);
  gains[1] = gain_at(1);
  for (int interval = 2; interval <= 32; ++interval) {
    const std::uint32_t x0 = std::uint32_t{1} << (interval - 1);
    const std::int32_t y0 = gain_at(x0), y1 = gain_at(x0 + x0 / 2),
                       y2 = gain_at(interval == 32 ? x0 + (x0 - 1) : 2 * x0);
    const std::int32_t slope = 4 * (y1 - y0) - (y2 - y0);
    std::int16_t* entry = gains + (4 * interval - 6);
    entry[0] = static_cast<std::int16_t>(y0);
    entry[1] = static_cast<std::int16_t>(slope);
    entry[2] = static_cast<std::int16_t>(y2 - y0 - slope);
  }
}

}  // namespace fixed

// Fills zeroed arrays, for valid options. If the resulting end_bin is not below the number of bins, the
// channels reach beyond the spectrum.
constexpr void fill_microfrontend_tables(const MicrofrontendOptions& options, const MicrofrontendShape& shape,
                                         MutableMicrofrontendTables& tables) noexcept {
  fixed::fill_window({tables.window, static_cast<std::size_t>(shape.grid.length)});
  fixed::fill_bank(options, shape.fft_size, tables);
  if (options.enable_pcan) fixed::fill_gains(options, shape.correction_bits, tables.gains);
  fixed::fill_fft_factors(shape.fft_size, tables.factors);
}

// Constant tables of Recipe::kOptions: struct Mine { static constexpr MicrofrontendOptions kOptions{...}; };
template <class Recipe>
class ConstantMicrofrontendTables {
 public:
  static constexpr MicrofrontendShape kShape = unchecked_shape_of(Recipe::kOptions);
  static constexpr MicrofrontendTables view() noexcept {
    static_assert(kMade.end < kBins, "high_freq: the channels reach beyond the spectrum");
    return {kMade.window, kMade.rising,  kMade.falling, kMade.begin, kMade.width,
            kMade.gains,  kMade.factors, kMade.first,   kMade.end};
  }

 private:
  static constexpr std::size_t kBins = kShape.fft_size / 2 + 1,
                               kChannels = static_cast<std::size_t>(Recipe::kOptions.num_mel_bins);
  struct Arrays {
    std::int16_t window[static_cast<std::size_t>(kShape.grid.length)] = {}, rising[kBins] = {},
                 falling[kBins] = {};
    std::uint16_t begin[kChannels + 1] = {}, width[kChannels + 1] = {};
    std::int16_t gains[kGainEntries] = {}, factors[fixed::fft_factor_halves(kShape.fft_size)] = {};
    std::size_t first = 0, end = 0;
  };
  static constexpr Arrays make() noexcept {
    Arrays a;
    MutableMicrofrontendTables places{a.window, a.rising, a.falling, a.begin, a.width, a.gains, a.factors};
    fill_microfrontend_tables(Recipe::kOptions, kShape, places);
    a.first = places.first_bin;
    a.end = places.end_bin;
    return a;
  }
  static constexpr Arrays kMade = make();
};

}  // namespace runnel::features
