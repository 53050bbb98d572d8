// Tensors of a model for people and programs: their names, and values in their integers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "inference/model/model.h"

namespace runnel::describe {

// "name" of a tensor, or "#index" when the names were stripped.
std::string tensor_label(const Model& model, int tensor);
// Quantizes float32 values to the tensor's integers, with the rounding of the model's operators.
std::vector<std::byte> quantize_for(const Model& model, const TensorView& tensor,
                                    std::span<const std::byte> floats);

}  // namespace runnel::describe
