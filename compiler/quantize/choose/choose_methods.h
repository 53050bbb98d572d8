// The methods that a network needs, by measurement.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "compiler/quantize/choose/quantization_run.h"

namespace runnel::compiler::quantizer {

// Of the methods that options.offered allows those that leave the least error on a quarter of `which`, which
// nothing was fitted to: some sets first, then how strongly rounding holds weights, then one by one the
// others, each kept only where the error does not get worse. So more methods on offer never leave a larger
// error on those clips. What was tried is added to `trials`. With too few clips to hold any back: the usual
// ones that are allowed. Errors: those of the runs.
Result<Methods> choose_methods(const QuantizationRun& attempt, const Clips& clips,
                               const std::vector<std::size_t>& which, const Options& options,
                               std::vector<Trial>& trials);

}  // namespace runnel::compiler::quantizer
