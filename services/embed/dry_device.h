// The operators and the NPU that the program will find on its device.
#pragma once

#include <string>

#include "base/status.h"
#include "inference/model/model.h"
#include "inference/operator_table.h"

namespace runnel::embedding {

// All operators, with the back end that devices have for parts for an NPU.
OperatorTable dry_operators();

// The name of the NPU that segments of the model are made for; empty: there are none. A device that they fit
// to, which the dry run asks but does not start, is added to this program and stays; one of each kind.
// Errors: those of the payload and of the driver.
Result<std::string> add_dry_device(const Model& model);

}  // namespace runnel::embedding
