// The operators of this library, by family. An application that wants only some of them names them in a table
// of its own.
#pragma once

#include "inference/operator.h"

namespace runnel::ops {

extern const OperatorDefinition conv_v1, fully_connected_v1;                                     // conv.cpp
extern const OperatorDefinition add_v1, add_v2, sub_v1, sub_v2, mul_v1, mul_v2, max_v1, min_v1;  // binary.cpp
extern const OperatorDefinition relu_v1, clip_v1, requantize_v1, quantize_v1, dequantize_v1,
    lut_v1;                                                    // unary.cpp
extern const OperatorDefinition average_pool_v1, max_pool_v1;  // pool.cpp
extern const OperatorDefinition reshape_v1, transpose_v1, slice_v1, concat_v1, split_v1,
    pad_v1;  // movement.cpp, concat.cpp, pad.cpp
extern const OperatorDefinition reduce_mean_v1, reduce_sum_v1, reduce_max_v1, reduce_min_v1;  // reduce.cpp
extern const OperatorDefinition reduce_mean_v2, reduce_sum_v2, reduce_max_v2, reduce_min_v2,
    reduce_mean_v4;                            // window_reduce.cpp
extern const OperatorDefinition attention_v1;  // attention.cpp
extern const OperatorDefinition reduce_l1_v1, reduce_l2_v1, reduce_prod_v1, reduce_log_sum_v1,
    reduce_log_sum_exp_v1, reduce_sum_square_v1;
extern const OperatorDefinition matmul_v1, matmul_v3;                      // matmul.cpp
extern const OperatorDefinition softmax_v1, log_softmax_v1;                // softmax.cpp
extern const OperatorDefinition div_v1, mod_v1, mod_v2, pow_v1, prelu_v1;  // pair.cpp
extern const OperatorDefinition equal_v1, greater_v1, greater_or_equal_v1, less_v1, less_or_equal_v1;
extern const OperatorDefinition logical_and_v1, logical_or_v1, logical_xor_v1;
extern const OperatorDefinition where_v1, cast_v1, logical_not_v1, arg_max_v1, top_k_v1;  // choice.cpp
extern const OperatorDefinition abs_v1, neg_v1, exp_v1, log_v1, sqrt_v1, sigmoid_v1, tanh_v1,
    swish_v1;  // function.cpp
extern const OperatorDefinition hard_sigmoid_v1, hard_swish_v1, gelu_v1, elu_v1, leaky_relu_v1, mish_v1,
    softplus_v1, erf_v1;
// Recurrence, normalization, rearrangement.
extern const OperatorDefinition gru_v1, lstm_v1;                         // recurrent.cpp
extern const OperatorDefinition layer_norm_v1, rms_norm_v1, lp_norm_v1;  // norm.cpp
extern const OperatorDefinition resize_v1;                               // resize.cpp
extern const OperatorDefinition depth_to_space_v1, space_to_depth_v1, expand_v1, insert_zeros_v1,
    reverse_sequence_v1;                                   // rearrange.cpp
extern const OperatorDefinition gather_v1, scatter_nd_v1;  // gather.cpp
extern const OperatorDefinition transposed_conv_v1;        // transposed_conv.cpp
extern const OperatorDefinition streaming_cache_v1;        // streaming_cache.cpp
// Any scale and zero point.
extern const OperatorDefinition add_v3, sub_v3, mul_v3, max_v3, min_v3,
    squared_difference_v1;  // affine_binary.cpp
extern const OperatorDefinition relu_v3, requantize_v3, sigmoid_v3, tanh_v3, leaky_relu_v3,
    hard_swish_v3;  // affine_unary.cpp
extern const OperatorDefinition clip_v3, quantize_v3, dequantize_v3;
extern const OperatorDefinition softmax_v3;                    // affine_softmax.cpp
extern const OperatorDefinition average_pool_v3, max_pool_v3;  // pool.cpp
extern const OperatorDefinition reduce_mean_v3, reduce_sum_v3, reduce_max_v3, reduce_min_v3;  // reduce.cpp
extern const OperatorDefinition conv_v3, fully_connected_v3;                                  // hybrid.cpp
extern const OperatorDefinition lstm_v3, lstm_v4;                      // sequence_lstm.cpp
extern const OperatorDefinition svdf_v1, svdf_v2;                      // svdf.cpp
extern const OperatorDefinition conv_v4, fully_connected_v4;           // conv.cpp
extern const OperatorDefinition read_variable_v1, assign_variable_v1;  // variable.cpp

}  // namespace runnel::ops
