// Mean and variance normalisation of frames with fixed statistics: (x - mean) / standard deviation, per
// dimension, in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "features/simd/kernels.h"

namespace runnel::features {

class Cmvn {
 public:
  // `inverse_deviation` may be empty: only the mean is subtracted. The values are copied.
  // Errors: invalid_argument when a value is not finite; mismatch of the sizes; out_of_memory.
  Status init(std::span<const float> mean, std::span<const float> inverse_deviation, Isa isa,
              Memory& memory) noexcept;
  // From sums over `frames` frames, the way Kaldi stores them: mean = sum / frames, variance = sum_of_squares
  // / frames - mean^2, at least `variance_floor`. Errors: as init(), and invalid_argument when frames < 1 or
  // the floor is not positive.
  Status init_from_sums(std::span<const double> sum, std::span<const double> sum_of_squares, double frames,
                        double variance_floor, Isa isa, Memory& memory) noexcept;

  // frames: a whole number of frames of dims() values. Stateless: any partition gives the same.
  void apply(std::span<float> frames) const noexcept;
  [[nodiscard]] std::size_t dims() const noexcept { return dims_; }

 private:
  Status allocate(std::size_t dims, Isa isa, Memory& memory) noexcept;
  std::size_t dims_ = 0;
  const Kernels* kernels_ = nullptr;
  float *mean_ = nullptr, *scale_ = nullptr;
};

}  // namespace runnel::features
