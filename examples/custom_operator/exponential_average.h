// A running average for every channel: s[t] = s[t-1] + (x[t] - s[t-1]) / 2^shift, s[-1] = 0, in int8 with 8
// more fractional bits inside.
//
// Attribute `shift`: 1 to 7, default 3. Input and output: [1, time, channels], the same scale.
#pragma once

#include "inference/operator.h"

namespace example {

extern const runnel::OperatorDefinition exponential_average_v1;

}  // namespace example
