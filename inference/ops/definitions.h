// The operators of this library, by family. An application that wants only some of them names them in a table of its own.
#pragma once

#include "inference/operator.h"

namespace runnel::ops {

extern const OperatorDefinition conv_v1, fully_connected_v1;                                                   // conv.cpp
extern const OperatorDefinition add_v1, add_v2, sub_v1, sub_v2, mul_v1, mul_v2, max_v1, min_v1;                // binary.cpp
extern const OperatorDefinition relu_v1, clip_v1, requantize_v1, quantize_v1, dequantize_v1, lut_v1;           // unary.cpp
extern const OperatorDefinition average_pool_v1, max_pool_v1;                                                  // pool.cpp
extern const OperatorDefinition reshape_v1, transpose_v1, slice_v1, concat_v1, split_v1, pad_v1;               // movement.cpp
extern const OperatorDefinition reduce_mean_v1, reduce_sum_v1, reduce_max_v1, reduce_min_v1;                   // reduce.cpp

}  // namespace runnel::ops
