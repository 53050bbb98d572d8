// Whether this program has every operator of a model.
#pragma once

#include "base/status.h"
#include "inference/model.h"

namespace runnel::compiler {

// Error: all that are missing, at once, each kind and version once; kinds that this program has no name for by their number.
Status check_known(const Model& model);

}  // namespace runnel::compiler
