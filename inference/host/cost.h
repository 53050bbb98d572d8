// What operators cost.
#pragma once

#include <cstdint>

#include "inference/model/model.h"

namespace runnel {

// Multiply-adds of one run of an operator, given the shape of its output 0 in that run (Prepared::shape):
// products of convolutions (plain and transposed), fully connected layers, matrices and recurrences. 0 for
// everything else.
std::int64_t multiply_adds(const Model& model, const fb::Operator& op, const Shape& output);

}  // namespace runnel
