#include "compiler/import/onnx/operators.h"

#include <algorithm>

#include "compiler/import/onnx/builder.h"
#include "compiler/import/onnx/importer.h"

namespace runnel::compiler::onnx_source {

// The conversions, by kind: convert/*.cpp.
Status convert_transposed_conv(Builder& builder, const Node& node);
Status convert_pad(Builder& builder, const Node& node);
Status convert_batch_norm(Builder& builder, const Node& node);
Status convert_composed(Builder& builder, const Node& node);
Status convert_power(Builder& builder, const Node& node);
Status convert_reciprocal(Builder& builder, const Node& node);
Status convert_clip(Builder& builder, const Node& node);
Status convert_prelu(Builder& builder, const Node& node);
Status convert_where(Builder& builder, const Node& node);
Status convert_cast(Builder& builder, const Node& node);
Status convert_reduce(Builder& builder, const Node& node);
Status convert_layer_norm(Builder& builder, const Node& node);
Status convert_arg_max(Builder& builder, const Node& node);
Status convert_top_k(Builder& builder, const Node& node);
Status convert_cumulative_sum(Builder& builder, const Node& node);
Status convert_group_norm(Builder& builder, const Node& node);
Status convert_lp_norm(Builder& builder, const Node& node);
Status convert_resize(Builder& builder, const Node& node);
Status convert_blocks(Builder& builder, const Node& node);
Status convert_identity(Builder& builder, const Node& node);
Status convert_reshape(Builder& builder, const Node& node);
Status convert_transpose(Builder& builder, const Node& node);
Status convert_slice(Builder& builder, const Node& node);
Status convert_split(Builder& builder, const Node& node);
Status convert_gather(Builder& builder, const Node& node);
Status convert_gather_elements(Builder& builder, const Node& node);
Status convert_scatter(Builder& builder, const Node& node);
Status convert_expand(Builder& builder, const Node& node);
Status convert_recurrent(Builder& builder, const Node& node);
Status convert_quantize(Builder& builder, const Node& node);
Status convert_dequantize(Builder& builder, const Node& node);
Status convert_dynamic_quantize(Builder& builder, const Node& node);
Status convert_integer_operator(Builder& builder, const Node& node);
namespace {

// find_operator() searches by halves: keep the order of the names.
constexpr OperatorRow kRows[] = {
    {"Abs", convert_function, OpCode::abs},
    {"Add", convert_binary, OpCode::add},
    {"And", convert_binary, OpCode::logical_and},
    {"ArgMax", convert_arg_max, OpCode::none, "the first of equals"},
    {"ArgMin", convert_arg_max, OpCode::none, "the first of equals"},
    {"AveragePool", convert_pool, OpCode::none, "one or two axes"},
    {"BatchNormalization", convert_batch_norm, OpCode::none, "constant parameters"},
    {"Cast", convert_cast},
    {"Ceil", convert_composed},
    {"Celu", convert_composed},
    {"Clip", convert_clip},
    {"Concat", convert_concat},
    {"Conv", convert_conv, OpCode::none, "one or two axes, constant weights"},
    {"ConvInteger", convert_integer_operator, OpCode::none, "in float32: exact up to 2^24"},
    {"ConvTranspose", convert_transposed_conv, OpCode::none,
     "one or two axes, constant weights, padding in numbers"},
    {"CumSum", convert_cumulative_sum, OpCode::none, "float32, up to 1024 elements"},
    {"DepthToSpace", convert_blocks},
    {"DequantizeLinear", convert_dequantize, OpCode::none, "one scale; weights one per channel, too"},
    {"Div", convert_binary, OpCode::div},
    {"Dropout", convert_identity},
    {"DynamicQuantizeLinear", convert_dynamic_quantize, OpCode::none,
     "the integers stay whole numbers in float32"},
    {"Elu", convert_function, OpCode::elu},
    {"Equal", convert_binary, OpCode::equal},
    {"Erf", convert_function, OpCode::erf},
    {"Exp", convert_function, OpCode::exp},
    {"Expand", convert_expand, OpCode::none, "a constant shape"},
    {"Flatten", convert_reshape},
    {"Floor", convert_composed},
    {"GRU", convert_recurrent, OpCode::none, "all directions, initial states; own activations"},
    {"Gather", convert_gather},
    {"GatherElements", convert_gather_elements, OpCode::none, "constant indices"},
    {"Gelu", convert_function, OpCode::gelu},
    {"Gemm", convert_gemm},
    {"GlobalAveragePool", convert_global_pool},
    {"GlobalMaxPool", convert_global_pool},
    {"Greater", convert_binary, OpCode::greater},
    {"GreaterOrEqual", convert_binary, OpCode::greater_or_equal},
    {"GroupNormalization", convert_group_norm, OpCode::none, "constant parameters"},
    {"HardSigmoid", convert_function, OpCode::hard_sigmoid},
    {"HardSwish", convert_function, OpCode::hard_swish},
    {"Identity", convert_identity},
    {"InstanceNormalization", convert_group_norm, OpCode::none, "constant parameters"},
    {"LSTM", convert_recurrent, OpCode::none,
     "all directions, initial states; own activations, no peepholes"},
    {"LayerNormalization", convert_layer_norm, OpCode::none, "constant parameters, no statistics as outputs"},
    {"LeakyRelu", convert_function, OpCode::leaky_relu},
    {"Less", convert_binary, OpCode::less},
    {"LessOrEqual", convert_binary, OpCode::less_or_equal},
    {"Log", convert_function, OpCode::log},
    {"LogSoftmax", convert_softmax},
    {"LpNormalization", convert_lp_norm},
    {"MatMul", convert_matmul},
    {"MatMulInteger", convert_integer_operator, OpCode::none, "in float32: exact up to 2^24"},
    {"Max", convert_binary, OpCode::max},
    {"MaxPool", convert_pool, OpCode::none, "one or two axes, no indices"},
    {"Mean", convert_composed},
    {"Min", convert_binary, OpCode::min},
    {"Mish", convert_function, OpCode::mish},
    {"Mod", convert_binary, OpCode::mod, "fmod"},
    {"Mul", convert_binary, OpCode::mul},
    {"Neg", convert_function, OpCode::neg},
    {"Not", convert_function, OpCode::logical_not},
    {"Or", convert_binary, OpCode::logical_or},
    {"PRelu", convert_prelu},
    {"Pad", convert_pad, OpCode::none, "constant, reflect or edge; constant pads"},
    {"Pow", convert_power},
    {"QGemm", convert_integer_operator},
    {"QLinearAdd", convert_integer_operator},
    {"QLinearAveragePool", convert_integer_operator},
    {"QLinearConcat", convert_integer_operator},
    {"QLinearConv", convert_integer_operator},
    {"QLinearGlobalAveragePool", convert_integer_operator},
    {"QLinearLeakyRelu", convert_integer_operator},
    {"QLinearMatMul", convert_integer_operator},
    {"QLinearMul", convert_integer_operator},
    {"QLinearSigmoid", convert_integer_operator},
    {"QLinearSoftmax", convert_integer_operator},
    {"QuantizeLinear", convert_quantize, OpCode::none, "one scale; int8, uint8 or int16"},
    {"Reciprocal", convert_reciprocal},
    {"ReduceL1", convert_reduce, OpCode::reduce_l1},
    {"ReduceL2", convert_reduce, OpCode::reduce_l2},
    {"ReduceLogSum", convert_reduce, OpCode::reduce_log_sum},
    {"ReduceLogSumExp", convert_reduce, OpCode::reduce_log_sum_exp},
    {"ReduceMax", convert_reduce, OpCode::reduce_max},
    {"ReduceMean", convert_reduce, OpCode::reduce_mean},
    {"ReduceMin", convert_reduce, OpCode::reduce_min},
    {"ReduceProd", convert_reduce, OpCode::reduce_prod},
    {"ReduceSum", convert_reduce, OpCode::reduce_sum},
    {"ReduceSumSquare", convert_reduce, OpCode::reduce_sum_square},
    {"Relu", convert_function, OpCode::relu},
    {"Reshape", convert_reshape, OpCode::none, "a constant shape"},
    {"Resize", convert_resize, OpCode::none,
     "constant scales or sizes; nearest in every way, linear by half_pixel, asymmetric or align_corners"},
    {"ScatterND", convert_scatter},
    {"Selu", convert_composed},
    {"Sigmoid", convert_function, OpCode::sigmoid},
    {"Sign", convert_composed},
    {"Slice", convert_slice, OpCode::none, "constant limits"},
    {"Softmax", convert_softmax},
    {"Softplus", convert_function, OpCode::softplus},
    {"Softsign", convert_composed},
    {"SpaceToDepth", convert_blocks},
    {"Split", convert_split},
    {"Sqrt", convert_function, OpCode::sqrt},
    {"Squeeze", convert_reshape},
    {"Sub", convert_binary, OpCode::sub},
    {"Sum", convert_binary, OpCode::add},
    {"Tanh", convert_function, OpCode::tanh},
    {"ThresholdedRelu", convert_composed},
    {"TopK", convert_top_k, OpCode::none, "constant k; of equals the first"},
    {"Transpose", convert_transpose},
    {"Unsqueeze", convert_reshape},
    {"Upsample", convert_resize, OpCode::none, "constant scales; nearest or linear"},
    {"Where", convert_where},
    {"Xor", convert_binary, OpCode::logical_xor},
};
static_assert(std::ranges::is_sorted(kRows, {}, &OperatorRow::name));

}  // namespace

std::span<const OperatorRow> operator_rows() { return kRows; }

const OperatorRow* find_operator(std::string_view name) {
  const auto* const row = std::ranges::lower_bound(kRows, name, {}, &OperatorRow::name);
  return row != std::end(kRows) && row->name == name ? row : nullptr;
}

}  // namespace runnel::compiler::onnx_source

namespace runnel::compiler {

std::vector<ListedOperator> onnx_operators() {
  std::vector<ListedOperator> all;
  for (const auto& row : onnx_source::operator_rows()) all.push_back({std::string(row.name), row.remarks});
  return all;
}

}  // namespace runnel::compiler
