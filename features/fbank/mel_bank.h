// Mel filter banks: overlapping triangles, equally spaced in mel between two frequencies, on the bins of an
// FFT. Recipes differ in the mel scale, in the axis on which the triangles' sides are straight, and in equal
// heights or equal areas.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.h"
#include "base/status.h"
#include "features/fbank/mel_triangle.h"
#include "features/simd/kernels.h"

namespace runnel::features {

// Errors: invalid_argument naming the parameter (num_mel_bins, low_freq, high_freq), its value and what is
// allowed, also for a triangle without FFT bins.
Status check_mel(const MelSpec& spec) noexcept;

// Weights exist for bins strictly inside a triangle (with corners on bins, its peak is inside and weighs 1);
// the Nyquist bin is never used.
class MelBank {
 public:
  // Errors: those of check_mel(); out_of_memory.
  Status init(const MelSpec& spec, std::int32_t lanes, Memory& memory) noexcept;
  // Bytes that init() takes; 0 when it would fail.
  static std::size_t memory_bytes(const MelSpec& spec, std::int32_t lanes) noexcept;
  // With the arrays of fill_mel_rows() for this bank and number of lanes; they must outlive this.
  void init(const MelSpec& spec, std::int32_t lanes, const float* weights,
            const std::int32_t* integers) noexcept {
    const std::int32_t groups = (spec.filters + lanes - 1) / lanes;
    rows_ = {.filters = spec.filters,
             .lanes = lanes,
             .zero_bin = static_cast<std::int32_t>(spec.bins()),
             .first_row = integers,
             .bins = integers + groups + 1,
             .weights = weights};
  }

  // power[0 .. spec.bins()): bins; power[spec.bins()] must be 0. Writes padded_filters() energies, 0 after
  // the last filter, or, with one lane, only those of filters. Kernels of any width accept one lane;
  // otherwise lanes must equal theirs.
  void apply(const Kernels& kernels, const float* power, float* energies) const noexcept {
    kernels.mel(rows_, power, energies);
  }
  [[nodiscard]] std::int32_t filters() const noexcept { return rows_.filters; }
  [[nodiscard]] std::size_t padded_filters() const noexcept {
    return (static_cast<std::size_t>(rows_.filters) + 15) / 16 * 16;
  }
  // The number of energies that apply() writes.
  [[nodiscard]] std::size_t written_filters() const noexcept {
    return rows_.lanes == 1 ? static_cast<std::size_t>(rows_.filters) : padded_filters();
  }
  [[nodiscard]] const MelRows& rows() const noexcept { return rows_; }

 private:
  MelRows rows_{};
};

}  // namespace runnel::features
