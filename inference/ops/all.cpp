#include "inference/delegate.h"
#include "inference/ops/definitions.h"
#include "inference/ops/window_reduce.h"

namespace runnel {
namespace {

const OperatorDefinition* const kAll[] = {
    &ops::conv_v1,       &ops::fully_connected_v1, &ops::add_v1,         &ops::add_v2,        &ops::sub_v1,        &ops::sub_v2,
    &ops::mul_v1,        &ops::mul_v2,             &ops::max_v1,         &ops::min_v1,        &ops::relu_v1,       &ops::clip_v1,
    &ops::requantize_v1, &ops::quantize_v1,        &ops::dequantize_v1,  &ops::lut_v1,        &ops::average_pool_v1, &ops::max_pool_v1,
    &ops::reshape_v1,    &ops::transpose_v1,       &ops::slice_v1,       &ops::concat_v1,     &ops::split_v1,      &ops::pad_v1,
    &ops::reduce_mean_v1, &ops::reduce_sum_v1,     &ops::reduce_max_v1,  &ops::reduce_min_v1,
    // Element by element, matrices, choices.
    &ops::matmul_v1, &ops::div_v1, &ops::mod_v1, &ops::mod_v2, &ops::pow_v1, &ops::prelu_v1,
    &ops::softmax_v1, &ops::log_softmax_v1,
    &ops::abs_v1, &ops::neg_v1, &ops::exp_v1, &ops::log_v1, &ops::sqrt_v1, &ops::sigmoid_v1, &ops::tanh_v1, &ops::swish_v1,
    &ops::hard_sigmoid_v1, &ops::hard_swish_v1, &ops::gelu_v1, &ops::elu_v1, &ops::leaky_relu_v1, &ops::mish_v1, &ops::softplus_v1, &ops::erf_v1,
    &ops::equal_v1, &ops::greater_v1, &ops::greater_or_equal_v1, &ops::less_v1, &ops::less_or_equal_v1,
    &ops::logical_and_v1, &ops::logical_or_v1, &ops::logical_xor_v1, &ops::logical_not_v1,
    &ops::where_v1, &ops::cast_v1, &ops::arg_max_v1, &ops::top_k_v1,
    &ops::reduce_l1_v1, &ops::reduce_l2_v1, &ops::reduce_prod_v1, &ops::reduce_log_sum_v1, &ops::reduce_log_sum_exp_v1, &ops::reduce_sum_square_v1,
    // Recurrence, normalization, rearrangement.
    &ops::gru_v1, &ops::lstm_v1, &ops::layer_norm_v1, &ops::rms_norm_v1, &ops::lp_norm_v1, &ops::resize_v1, &ops::depth_to_space_v1,
    &ops::space_to_depth_v1, &ops::expand_v1, &ops::insert_zeros_v1, &ops::reverse_sequence_v1, &ops::gather_v1, &ops::scatter_nd_v1,
    &ops::transposed_conv_v1, &ops::streaming_cache_v1,
    // Any scale and zero point.
    &ops::add_v3, &ops::sub_v3, &ops::mul_v3, &ops::max_v3, &ops::min_v3, &ops::squared_difference_v1, &ops::relu_v3, &ops::requantize_v3, &ops::sigmoid_v3, &ops::tanh_v3, &ops::leaky_relu_v3,
    &ops::hard_swish_v3, &ops::clip_v3, &ops::quantize_v3, &ops::dequantize_v3, &ops::softmax_v3, &ops::average_pool_v3, &ops::max_pool_v3,
    &ops::reduce_mean_v3, &ops::reduce_sum_v3, &ops::reduce_max_v3, &ops::reduce_min_v3, &ops::conv_v3, &ops::fully_connected_v3, &ops::matmul_v3,
    &ops::lstm_v3, &ops::lstm_v4, &ops::svdf_v1, &ops::svdf_v2,
    &ops::conv_v4, &ops::fully_connected_v4,
    // What a session keeps, and what back ends compute.
    &ops::read_variable_v1, &ops::assign_variable_v1, &ops::delegate_v1,
    // What only streams need.
    &ops::reduce_mean_v2, &ops::reduce_sum_v2, &ops::reduce_max_v2, &ops::reduce_min_v2, &ops::reduce_mean_v4, &ops::reduce_mean_v5, &ops::reduce_mean_v6, &ops::attention_v1,
};

}  // namespace

OperatorTable all_operators() noexcept { return kAll; }

}  // namespace runnel
