// Statistics of windows over streams of several channels, as classifiers of motion, vibration and current
// take them.
//
// The stream is cut into windows of `window` samples that begin every `hop` samples; only whole windows
// count. Of every window and channel:
//     mean            sum(x) / N
//     std             sqrt(sum((x - mean)^2) / N)
//     rms             sqrt(sum(x^2) / N)
//     peak            max |x|
//     peak_to_peak    max x - min x
//     zero_crossings  how often x[i] < 0 differs from x[i-1] < 0
//     band_power      of every band: the part of sum(x^2) / N whose frequency is in [low, high)
// Zero crossings and band powers are of x minus its mean with `remove_dc_offset`. The spectrum is the
// periodogram of x times the spectral window w, c_k |X[k]|^2 / (n_fft sum(w^2)), with c_k = 2, and 1 at 0 Hz
// and at half the rate; n_fft is N made even. So, with a rectangular window, the powers of all bands add up
// to the mean square, and with any window they do so on average.
//
// Sums have the fixed order of features/simd/kernels.h: all machines give the same bits, however the stream
// is cut into pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "features/fbank/window.h"
#include "features/fft/fft.h"
#include "features/frames/framer.h"
#include "features/simd/kernels.h"

namespace runnel::features {

enum class Statistic : std::uint8_t { mean, std, rms, peak, peak_to_peak, zero_crossings, band_power };
inline constexpr std::string_view kStatisticNames[] = {
    "mean", "std", "rms", "peak", "peak_to_peak", "zero_crossings", "band_power"};

// [low, high) in Hz; a band that ends at half the rate includes it.
struct Band {
  double low = 0, high = 0;
};

struct WindowStatisticsOptions {
  std::int64_t window = 128, hop = 64;    // samples, 1 .. 2^20
  std::int32_t channels = 1;              // 1 .. 4096
  double sample_rate = 0;                 // Hz; used by band_power only
  std::span<const Statistic> statistics;  // in the order of the output; kept by make()
  std::span<const Band> bands;            // of band_power; needed until make() returns
  WindowType spectral_window = WindowType::hann;
  bool remove_dc_offset = true;
  bool refuse_non_finite = false;  // false: samples that are infinite or not a number are read as 0
};

// One stream. Not thread-safe; movable; the Memory must outlive it.
class WindowStatistics {
 public:
  // Errors: invalid_argument with parameter, value and range (also a band without a bin of the spectrum);
  // out_of_memory.
  static Result<WindowStatistics> make(const WindowStatisticsOptions& options, Isa isa,
                                       Memory& memory) noexcept;
  // Bytes that make() takes of a 64-byte aligned Memory; 0 for options that it refuses.
  static std::size_t memory_bytes(const WindowStatisticsOptions& options) noexcept;

  WindowStatistics(WindowStatistics&&) noexcept = default;
  WindowStatistics& operator=(WindowStatistics&&) noexcept = default;

  struct Step {
    std::size_t samples;  // taken, of all channels each
    std::size_t windows;  // written
  };
  // `samples`: interleaved, whole samples of all channels. Writes the windows that are complete; stops early
  // only when `out` is full or, with refuse_non_finite, before a piece with such a sample (see
  // status()). Room for max_windows(samples) windows is always enough. There is nothing to flush: a window
  // that the end of the recording cuts does not count.
  Step push(std::span<const float> samples, std::span<float> out) noexcept;
  void reset() noexcept;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    framer_.state(archive);
    archive.expect(!framer_.finished(), "the end");
    archive.value(refused_);
    archive.count(non_finite_, static_cast<std::size_t>(-1) / 2);
  }

  // Values per window: statistics in their order, for band_power band by band, each with its channels in
  // their order.
  [[nodiscard]] std::size_t dims() const noexcept { return dims_; }
  [[nodiscard]] std::size_t max_windows(std::size_t samples) const noexcept;
  [[nodiscard]] std::int64_t next_window() const noexcept { return framer_.next_frame(); }
  [[nodiscard]] std::size_t non_finite() const noexcept { return non_finite_; }  // samples since make()
  // invalid_data after a refused sample.
  [[nodiscard]] Status status() const noexcept;

 private:
  struct Bins {
    std::size_t first, end;
  };
  WindowStatistics() noexcept = default;
  Status find_bins(const WindowStatisticsOptions& options, Memory& memory) noexcept;
  void describe(const float* window, float* out) noexcept;
  void spectrum(float offset) noexcept;

  const Kernels* kernels_ = nullptr;
  Framer framer_;
  OwnFft fft_;
  std::size_t length_ = 0, channels_ = 1, dims_ = 0, fft_size_ = 0, bands_ = 0, count_ = 0;
  const Statistic* statistics_ = nullptr;
  const Bins* bins_ = nullptr;
  bool remove_dc_offset_ = true, refuse_ = false, refused_ = false;
  float power_scale_ = 0;
  float *channel_ = nullptr, *weights_ = nullptr, *shaped_ = nullptr, *re_ = nullptr, *im_ = nullptr;
  std::size_t non_finite_ = 0;
};

}  // namespace runnel::features
