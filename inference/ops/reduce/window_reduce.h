// Means over windows with the arithmetic of pools.
#pragma once

#include "inference/operator.h"

namespace runnel::ops {

// As average_pool version 1 and as average_pool version 3, over the windows of reduce_mean version 2.
extern const OperatorDefinition kReduceMeanPoolWindows, kReduceMeanTflitePoolWindows;

}  // namespace runnel::ops
