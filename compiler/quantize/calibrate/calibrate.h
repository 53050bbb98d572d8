// What values the tensors of a model take on clips, and the ranges that follow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/quantize/calibrate/clips.h"
#include "compiler/quantize/options.h"
#include "compiler/quantize/plan.h"

namespace runnel::compiler::quantizer {

// How often a tensor had which value: bins of one width over [range.low, range.high].
struct Histogram {
  static constexpr std::size_t kBins = 4096;
  Range range;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> bins;

  [[nodiscard]] double centre(std::size_t bin) const {
    return range.low + (range.high - range.low) * (static_cast<double>(bin) + 0.5) / kBins;
  }
};

// Histograms of the groups of tensors (Plan::groups), at the place of the group; the others are empty. Two
// passes over the clips, memory does not depend on how many there are. Errors: those of the clips;
// invalid_data for tensors that become infinite or NaN.
Result<std::vector<Histogram>> observe(const Graph& graph, const Plan& plan, const Clips& clips,
                                       std::span<const std::size_t> which, const Options& options);

// The range that a method makes of a histogram, for a tensor of this type.
Range range_of(const Histogram& histogram, Calibration calibration, DType dtype, Scheme scheme);
// Sets the ranges of all groups. `types`: of the tensors. Outputs of the graph are never clipped: what
// decides is at their ends.
void set_ranges(const Graph& graph, const std::vector<Histogram>& histograms, Calibration calibration,
                std::span<const DType> types, Plan& plan);

}  // namespace runnel::compiler::quantizer
