// Mel filter bank of the Kaldi (HTK) recipe: triangles that are linear in mel, equally spaced between two frequencies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.h"
#include "base/status.h"
#include "features/simd/kernels.h"

namespace runnel::features {

// 1127 ln(1 + hz / 700)
double mel_of(double hz) noexcept;
double hz_of(double mel) noexcept;

struct MelSpec {
  std::int32_t filters = 23;
  double low_hz = 20, high_hz = 8000;  // of the whole bank; 0 <= low < high <= rate / 2
  double rate_hz = 16000;
  std::size_t fft_size = 512;
  // A triangle that holds no FFT bin: refused, or its energy is 0 (so that the output is the log's floor).
  bool allow_empty = false;
};

// Weights exist for bins strictly inside a triangle; the Nyquist bin is never used. Weights are computed in double precision and
// rounded once, so that the bank is the same on every machine.
class MelBank {
 public:
  // Errors: invalid_argument naming the parameter (num_mel_bins, low_freq, high_freq), its value and what is allowed, among them a
  // triangle without FFT bins; out_of_memory.
  Status init(const MelSpec& spec, std::int32_t lanes, Memory& memory) noexcept;
  // Bytes that init() takes; 0 when it would fail.
  static std::size_t memory_bytes(const MelSpec& spec, std::int32_t lanes) noexcept;

  // power[0 .. fft_size/2): bins; power[fft_size/2] must be 0. Writes padded_filters() energies, those beyond the last filter 0.
  void apply(const Kernels& kernels, const float* power, float* energies) const noexcept { kernels.mel(rows_, power, energies); }
  [[nodiscard]] std::int32_t filters() const noexcept { return rows_.filters; }
  [[nodiscard]] std::size_t padded_filters() const noexcept { return (static_cast<std::size_t>(rows_.filters) + 15) / 16 * 16; }
  [[nodiscard]] const MelRows& rows() const noexcept { return rows_; }

 private:
  MelRows rows_{};
};

// One triangle of a bank: its corner frequencies in mel and the bins strictly inside, [first, last).
struct Triangle {
  double left, centre, right;
  std::int32_t first, last;
  // Of bin k, first <= k < last; greater than 0.
  [[nodiscard]] double weight(std::int32_t k, const MelSpec& spec) const noexcept;
};
Triangle triangle_of(const MelSpec& spec, std::int32_t filter) noexcept;

}  // namespace runnel::features
