// Averages as the hardware computes them: found by trying all sums.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "npu/operation.h"

namespace runnel::compiler::ethos_u {

struct AverageForm {
  bool global = true;  // one scale for all windows; else each sum is divided by the elements in its window
  npu::Scale scale;
  npu::Rounding rounding = npu::Rounding::tfl;
  std::int32_t zero_point = 0;  // of input and output, whatever their own one is
};

// Integers of the output for a sum of `count` elements of int8.
using ExpectedAverage = std::function<std::int64_t(std::int64_t sum, std::int64_t count)>;

// A form that gives, saturated to int8, what is expected for each sum that windows of `least` to `most`
// elements can have. `ratio`: one step of the input in steps of the output. `multiplier_bits`: of a scale of
// the device, 32 or 31. Errors: unsupported when none of the forms does.
Result<AverageForm> average_form(const ExpectedAverage& expected, std::int32_t least, std::int32_t most,
                                 double ratio, int multiplier_bits);

}  // namespace runnel::compiler::ethos_u
