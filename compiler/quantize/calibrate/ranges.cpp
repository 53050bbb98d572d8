// From what was seen of a tensor to the range that its integers cover.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/quantize/calibrate/calibrate.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::quantizer {
namespace {

// All but this share of the values at each end.
constexpr double kOutside = 1e-4;
// What comes later is larger than what the clips showed; in 16 bits room for it costs nothing.
constexpr double kRoom = 1.5;

Range percentile(const Histogram& histogram) {
  const double most = kOutside * static_cast<double>(histogram.count),
               width = (histogram.range.high - histogram.range.low) / Histogram::kBins;
  double seen = 0;
  std::size_t first = 0, last = Histogram::kBins - 1;
  while (first < last && (seen += static_cast<double>(histogram.bins[first])) <= most) ++first;
  seen = 0;
  while (last > first && (seen += static_cast<double>(histogram.bins[last])) <= most) --last;
  return {std::min(0.0, histogram.range.low + width * static_cast<double>(first)),
          std::max(0.0, histogram.range.low + width * static_cast<double>(last + 1))};
}

// Mean squared error of a grid over the histogram; between the bins' own width the error is that of equal
// distribution.
double squared_error(const Histogram& histogram, const Grid& grid) {
  const double width = (histogram.range.high - histogram.range.low) / Histogram::kBins;
  double sum = 0;
  for (std::size_t b = 0; b < Histogram::kBins; ++b) {
    if (histogram.bins[b] == 0) continue;
    const double value = histogram.centre(b), lowest = (kernels::lowest(grid.dtype) - grid.zero) * grid.step,
                 highest = (kernels::highest(grid.dtype) - grid.zero) * grid.step;
    double error = value < lowest ? lowest - value : value > highest ? value - highest : 0;
    error = error > 0               ? error * error
            : grid.step > 2 * width ? grid.step * grid.step / 12
                                    : std::pow(rounded(grid, kernels::Rounding::half_even, value) - value, 2);
    sum += static_cast<double>(histogram.bins[b]) * error;
  }
  return sum;
}

Range least_squares(const Histogram& histogram, DType dtype, Scheme scheme) {
  Range best = histogram.range;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < (scheme == Scheme::pow2 ? 5 : 40); ++i) {
    const double share = scheme == Scheme::pow2 ? std::ldexp(1.0, -i) : 1.0 - 0.02 * i;
    const Range range{histogram.range.low * share, histogram.range.high * share};
    const double error = squared_error(histogram, grid_of(range, dtype, scheme));
    if (error >= least) continue;
    least = error;
    best = range;
  }
  return best;
}

// Least Kullback-Leibler divergence between the magnitudes and what 128 levels make of them.
Range least_divergence(const Histogram& histogram) {
  constexpr std::size_t kLevels = 128, kBins = Histogram::kBins;
  const double most = std::max(-histogram.range.low, histogram.range.high);
  std::vector<double> magnitudes(kBins, 0);
  for (std::size_t b = 0; b < kBins; ++b) {
    const auto to = static_cast<std::size_t>(std::abs(histogram.centre(b)) / most * kBins);
    magnitudes[std::min(to, kBins - 1)] += static_cast<double>(histogram.bins[b]);
  }
  // Values next to zero cost nothing on any grid.
  const std::size_t near = kBins / 500;
  std::fill_n(magnitudes.begin(), near, 0.0);
  magnitudes[near] += 1;
  double total = 0;
  for (const double count : magnitudes) total += count;
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = kBins;
  for (std::size_t size = kLevels; size <= kBins; size += kLevels) {
    double beyond = 0, divergence = 0;
    for (std::size_t b = size; b < kBins; ++b) beyond += magnitudes[b];
    const std::size_t per_level = size / kLevels;
    for (std::size_t level = 0; level < kLevels; ++level) {
      double mass = 0, filled = 0;
      for (std::size_t b = level * per_level; b < (level + 1) * per_level; ++b) {
        mass += magnitudes[b];
        filled += magnitudes[b] > 0 ? 1 : 0;
      }
      for (std::size_t b = level * per_level; b < (level + 1) * per_level; ++b) {
        const double p = (magnitudes[b] + (b + 1 == size ? beyond : 0)) / total;
        const double q = magnitudes[b] > 0 ? mass / filled / std::max(total - beyond, 1.0) : 0;
        divergence += p * (std::log10(p + 1e-30) - std::log10(q + 1e-30));
      }
    }
    if (divergence >= least) continue;
    least = divergence;
    best = size;
  }
  const double reach = most * static_cast<double>(best) / kBins;
  return {std::max(histogram.range.low, -reach), std::min(histogram.range.high, reach)};
}

}  // namespace

Range range_of(const Histogram& histogram, Calibration calibration, DType dtype, Scheme scheme) {
  if (!(histogram.range.high > histogram.range.low)) return histogram.range;
  // 16 bits have room for everything: clipping can only lose.
  if (dtype == DType::int16) return {histogram.range.low * kRoom, histogram.range.high * kRoom};
  switch (calibration) {
    case Calibration::percentile:
      return percentile(histogram);
    case Calibration::kl:
      return least_divergence(histogram);
    case Calibration::mse:
      return least_squares(histogram, dtype, scheme);
    case Calibration::min_max:
      break;
  }
  return histogram.range;
}

}  // namespace runnel::compiler::quantizer
