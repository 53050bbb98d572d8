// Functions of one int8 value as tables of 256 entries.
#pragma once

#include "compiler/import/tflite/builder.h"

namespace runnel::compiler::tflite_source {

// ABS, RSQRT, EXP, LOG, SQRT and NEG from x to y, both int8 with one scale. ABS and RSQRT are computed in
// integers, with multipliers of 31 bits; the others as round(f(value) * (1 / scale)) + zero point in float32,
// ties away from zero. Errors: unsupported for other types.
Status emit_table(Builder& builder, const Operator& op, TensorId x, TensorId y);

}  // namespace runnel::compiler::tflite_source
