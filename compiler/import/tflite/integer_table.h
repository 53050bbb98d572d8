// Functions of one int8 value as tables of 256 entries.
#pragma once

#include "compiler/import/tflite/builder.h"

namespace runnel::compiler::tflite_source {

// A function from x to y, both int8 with one scale. ABS and RSQRT are computed in integers, with multipliers
// of 31 bits; all others as round(function(value) * (1 / scale)) + zero point in float32, ties away from
// zero. Errors: unsupported for other types.
Status emit_table(Builder& builder, const Operator& op, TensorId x, TensorId y, float (*function)(float));

}  // namespace runnel::compiler::tflite_source
