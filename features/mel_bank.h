// Mel filter banks: overlapping triangles, equally spaced in mel between two frequencies, on the bins of an FFT.
// Recipes differ in the mel scale, in the axis on which the sides of the triangles are straight, and in whether
// the triangles have equal heights or equal areas.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.h"
#include "base/status.h"
#include "features/simd/kernels.h"

namespace runnel::features {

enum class MelScale : std::uint8_t {
  htk,     // 1127 ln(1 + hz / 700)
  slaney,  // 3 hz / 200 below 1000 Hz, then 15 + 27 ln(hz / 1000) / ln 6.4
};
enum class MelNorm : std::uint8_t {
  none,    // height 1
  slaney,  // divided by half the width in Hz
};
enum class MelShape : std::uint8_t {
  mel,        // straight in mel: Kaldi
  hz,         // straight in Hz: librosa, torchaudio, Whisper
  bins,       // corners on whole bins floor((n + 1) f / rate), n = FFT size, straight between them: Edge Impulse
  half_bins,  // the same with n = FFT size / 2 + 1: Edge Impulse before version 4, SpeechPy
};

double mel_of(double hz, MelScale scale = MelScale::htk) noexcept;
double hz_of(double mel, MelScale scale = MelScale::htk) noexcept;

struct MelSpec {
  std::int32_t filters = 23;
  double low_hz = 20, high_hz = 8000;  // of the whole bank; 0 <= low < high <= rate / 2
  double rate_hz = 16000;
  std::size_t fft_size = 512;
  // A triangle that holds no FFT bin: refused, or its energy is 0 (so that the output is the log's floor).
  bool allow_empty = false;
  MelScale scale = MelScale::htk;
  MelNorm norm = MelNorm::none;
  MelShape shape = MelShape::mel;

  // Bins below the Nyquist frequency.
  [[nodiscard]] constexpr std::size_t bins() const noexcept { return (fft_size + 1) / 2; }
};

// Weights exist for bins strictly inside a triangle (with corners on bins, its peak is inside and weighs 1); the Nyquist bin is never used. Weights are computed in
// double precision and rounded once, so that the bank is the same on every machine.
class MelBank {
 public:
  // Errors: invalid_argument naming the parameter (num_mel_bins, low_freq, high_freq), its value and what is
  // allowed, among them a triangle without FFT bins; out_of_memory.
  Status init(const MelSpec& spec, std::int32_t lanes, Memory& memory) noexcept;
  // Bytes that init() takes; 0 when it would fail.
  static std::size_t memory_bytes(const MelSpec& spec, std::int32_t lanes) noexcept;

  // power[0 .. spec.bins()): bins; power[spec.bins()] must be 0. Writes padded_filters() energies, those beyond
  // the last filter 0.
  void apply(const Kernels& kernels, const float* power, float* energies) const noexcept {
    kernels.mel(rows_, power, energies);
  }
  [[nodiscard]] std::int32_t filters() const noexcept { return rows_.filters; }
  [[nodiscard]] std::size_t padded_filters() const noexcept {
    return (static_cast<std::size_t>(rows_.filters) + 15) / 16 * 16;
  }
  [[nodiscard]] const MelRows& rows() const noexcept { return rows_; }

 private:
  MelRows rows_{};
};

// One triangle of a bank: its corners on the axis on which its sides are straight, and the bins inside,
// [first, last).
struct Triangle {
  double left, centre, right;
  std::int32_t first, last;
  // Height 1 at the peak; of bin k, first <= k < last. Greater than 0.
  [[nodiscard]] double weight(std::int32_t k, const MelSpec& spec) const noexcept;
};
Triangle triangle_of(const MelSpec& spec, std::int32_t filter) noexcept;
// What the weights of the filter are multiplied with.
double height_of(const MelSpec& spec, std::int32_t filter) noexcept;

}  // namespace runnel::features
