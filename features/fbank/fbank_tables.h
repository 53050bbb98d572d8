// Read-only tables of the float front end: recipe, window, mel bank, DCT, and the tables of its FFT.
// Fbank::make(options) computes them in memory; on devices they are constants in flash memory, so that
// preparing takes no arithmetic:
//
//     struct Mine { static constexpr FbankOptions kOptions = ...; };         // made by the compiler
//     alignas(64) std::byte storage[Fbank::state_bytes_of(Mine::kOptions)];
//     Result<Fbank> fbank = Fbank::make_of<Mine>(best_isa(), memory);
//
// or, with arrays that another machine wrote out (Fbank::tables() of a front end made
// there with Isa::reference):
//
//     const float kFloats[] = {0x1.8p-1F, ...};   const std::int32_t kIntegers[] = {...};
//     constexpr FbankTables kTables = fbank_tables(kOptions, kFloats, kIntegers);
//     Result<Fbank> fbank = Fbank::make(kTables, best_isa(), memory);
//
// Either way the bytes are the same, and the same code uses them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "features/fbank/dct.h"
#include "features/fbank/fbank_options.h"
#include "features/fbank/mel_triangle.h"
#include "features/fft/fft_tables.h"

namespace runnel::features {

struct FbankTables {
  FbankOptions options;        // valid: accepted by shape_of(), and their bank by check_mel()
  FbankShape shape;            // of these options
  float log_energy_floor = 0;  // with energy_floor
  std::int32_t lanes =
      1;  // parallel filters of the mel bank. Every machine accepts 1; hosts prefer their own.
  // fbank_table_sizes() elements, 64-byte aligned for speed. They must outlive their readers.
  const float* floats = nullptr;
  const std::int32_t* integers = nullptr;
};

struct FbankTableSizes {
  std::size_t floats = 0, integers = 0;
  [[nodiscard]] constexpr std::size_t bytes() const noexcept {
    return floats * sizeof(float) + integers * sizeof(std::int32_t);
  }
};

constexpr bool has_mel(const FbankOptions& o) noexcept {
  return o.kind == FeatureKind::fbank || o.kind == FeatureKind::mfcc;
}

namespace fbank {

constexpr std::size_t padded(std::size_t count) noexcept { return align_up(count, 16); }

// Offsets among the floats: the window at 0, then these. The mel bank is last, because only its
// sizes need arithmetic.
struct TableLayout {
  std::size_t dct, dct_stride, fft, mel;
  constexpr TableLayout(const FbankOptions& o, const FbankShape& shape) noexcept
      : dct(padded(shape.used)),
        dct_stride(o.kind == FeatureKind::mfcc ? padded(static_cast<std::size_t>(o.num_ceps)) : 0),
        fft(dct + dct_stride * static_cast<std::size_t>(o.num_mel_bins)),
        mel(fft + (o.fft == FftChoice::own ? real_fft_table_floats(shape.fft_size) : 0)) {}
};

// The factor of ln.
constexpr double log_unit(LogType type) noexcept {
  return type == LogType::ln ? 1 : type == LogType::log10 ? 0.434294481903251827651 : 4.34294481903251827651;
}

// A compile-time subset of the checks of shape_of() and check_mel().
constexpr bool is_consistent(const FbankOptions& o, const FbankShape& shape) noexcept {
  if (shape.grid.length < 2 || shape.grid.shift < 1 || shape.fft_size > kMaxFftSize) return false;
  if (shape.used < static_cast<std::size_t>(shape.grid.length) && o.long_frames == LongFrames::refuse)
    return false;
  if (!has_mel(o)) return true;
  return o.num_mel_bins >= 1 && o.num_mel_bins <= static_cast<std::int32_t>(shape.mel.bins()) &&
         shape.mel.low_hz >= 0 && shape.mel.low_hz < shape.mel.high_hz &&
         shape.mel.high_hz <= shape.mel.rate_hz / 2 &&
         (o.kind != FeatureKind::mfcc || (o.num_ceps >= 1 && o.num_ceps <= o.num_mel_bins));
}

}  // namespace fbank

// For valid options.
constexpr FbankTableSizes fbank_table_sizes(const FbankOptions& options, const FbankShape& shape,
                                            std::int32_t lanes = 1) noexcept {
  FbankTableSizes sizes{fbank::TableLayout(options, shape).mel, 0};
  if (!has_mel(options)) return sizes;
  const MelRowSizes mel = mel_row_sizes(shape.mel, lanes);
  return {sizes.floats + fbank::padded(mel.weights), mel.integers()};
}
constexpr FbankTableSizes fbank_table_sizes(const FbankOptions& options) noexcept {
  return fbank_table_sizes(options, unchecked_shape_of(options));
}

// Fills zeroed arrays of these sizes. An FFT size with a prime factor above 31 gets incomplete tables (see
// real_fft_tables_are_constant), which Fbank::make(options) completes.
constexpr void fill_fbank_tables(const FbankOptions& o, const FbankShape& shape, std::int32_t lanes,
                                 float* floats, std::int32_t* integers) noexcept {
  const fbank::TableLayout layout(o, shape);
  fill_window(o.window_type, o.blackman_coeff, {floats, shape.used});
  if (o.normalize_power && o.kind != FeatureKind::stft) {
    const double factor = 1 / exact::constant::sqrt(static_cast<double>(shape.fft_size));
    for (std::size_t i = 0; i < shape.used; ++i) floats[i] = static_cast<float>(floats[i] * factor);
  }
  if (o.kind == FeatureKind::mfcc) {
    fill_dct({.filters = o.num_mel_bins,
              .coefficients = o.num_ceps,
              .lifter = o.cepstral_lifter,
              .first_last = o.htk_compat,
              .scale_first = o.htk_compat && !o.use_energy},
             layout.dct_stride, floats + layout.dct);
  }
  if (o.fft == FftChoice::own) fill_real_fft_tables(shape.fft_size, floats + layout.fft);
  if (has_mel(o)) fill_mel_rows(shape.mel, lanes, floats + layout.mel, integers);
}

// From arrays filled by fill_fbank_tables() or Fbank::make(options).
constexpr FbankTables fbank_tables(const FbankOptions& o, const FbankShape& shape, std::int32_t lanes,
                                   const float* floats, const std::int32_t* integers) noexcept {
  FbankTables tables{.options = o,
                     .shape = shape,
                     .log_energy_floor = 0,
                     .lanes = lanes,
                     .floats = floats,
                     .integers = integers};
  if (o.energy_floor > 0) {
    tables.log_energy_floor = static_cast<float>(exact::constant::log(static_cast<double>(o.energy_floor)) *
                                                 fbank::log_unit(o.log_type));
  }
  return tables;
}
constexpr FbankTables fbank_tables(const FbankOptions& o, const float* floats,
                                   const std::int32_t* integers) noexcept {
  return fbank_tables(o, unchecked_shape_of(o), 1, floats, integers);
}

// Constant tables of Recipe::kOptions: struct Mine { static constexpr FbankOptions kOptions{...}; };
template <class Recipe>
class RomFbankTables {
 public:
  static constexpr FbankShape kShape = unchecked_shape_of(Recipe::kOptions);
  static constexpr FbankTableSizes kSizes = fbank_table_sizes(Recipe::kOptions, kShape);
  static constexpr FbankTables view() noexcept {
    return fbank_tables(Recipe::kOptions, kShape, 1, kMade.floats, kMade.integers);
  }

 private:
  static_assert(fbank::is_consistent(Recipe::kOptions, kShape),
                "these options are refused by shape_of() or check_mel()");
  static_assert(Recipe::kOptions.fft == FftChoice::own && real_fft_tables_are_constant(kShape.fft_size),
                "tables of FFT sizes with a prime factor above 31 are not made by the compiler");
  struct Arrays {
    alignas(64) float floats[kSizes.floats] = {};
    std::int32_t integers[kSizes.integers + 1] = {};
  };
  static constexpr Arrays make() noexcept {
    Arrays a;
    fill_fbank_tables(Recipe::kOptions, kShape, 1, a.floats, a.integers);
    return a;
  }
  static constexpr Arrays kMade = make();
};

}  // namespace runnel::features
