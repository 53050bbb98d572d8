// A graph as an .espdl model: how each operator is lowered, and what is refused.
#include <algorithm>
#include <array>

#include "compiler/espdl/target.h"
#include "compiler/write/espdl/lowering.h"

namespace runnel::compiler::espdl_source {
namespace {

void lower_relu(Lowering& to, const compiler::Node& node) { to.add(node, "Relu", {to.operand(node, 0)}); }

struct Back {
  OpCode code;
  void (*lower)(Lowering& to, const compiler::Node& node);
  bool rounds = true;  // whether results depend on how ties are rounded, whatever the exponents are
};

using enum OpCode;
constexpr std::array kBack = {
    Back{conv, lower_conv},
    Back{transposed_conv, lower_transposed_conv},
    Back{fully_connected, lower_fully_connected},
    Back{matmul, lower_matmul},
    Back{average_pool, lower_pool},
    Back{max_pool, lower_pool, false},
    Back{streaming_cache, lower_cache, false},
    Back{insert_zeros, lower_insert_zeros, false},
    Back{depth_to_space, lower_blocks, false},
    Back{space_to_depth, lower_blocks, false},
    Back{resize, lower_resize},
    Back{add, lower_binary, false},
    Back{sub, lower_binary, false},
    Back{mul, lower_binary},
    Back{div, lower_binary},
    Back{pow, lower_binary},
    Back{max, lower_binary, false},
    Back{min, lower_binary, false},
    Back{mod, lower_binary},
    Back{lut, lower_table, false},
    Back{relu, lower_relu, false},
    Back{clip, lower_clip, false},
    Back{prelu, lower_prelu},
    Back{requantize, lower_scale},
    Back{quantize, lower_scale},
    Back{dequantize, lower_scale, false},
    Back{softmax, lower_softmax, false},
    Back{log_softmax, lower_softmax, false},
    Back{reduce_mean, lower_reduce},
    Back{reduce_sum, lower_reduce},
    Back{reduce_max, lower_reduce, false},
    Back{reduce_min, lower_reduce, false},
    Back{reduce_l1, lower_reduce},
    Back{reduce_l2, lower_reduce},
    Back{reduce_prod, lower_reduce},
    Back{reduce_log_sum, lower_reduce},
    Back{reduce_log_sum_exp, lower_reduce},
    Back{reduce_sum_square, lower_reduce},
    Back{arg_max, lower_reduce, false},
    Back{equal, lower_comparison, false},
    Back{greater, lower_comparison, false},
    Back{greater_or_equal, lower_comparison, false},
    Back{less, lower_comparison, false},
    Back{less_or_equal, lower_comparison, false},
    Back{logical_and, lower_comparison, false},
    Back{logical_or, lower_comparison, false},
    Back{logical_xor, lower_comparison, false},
    Back{logical_not, lower_comparison, false},
    Back{where, lower_where, false},
    Back{cast, lower_cast, false},
    Back{top_k, lower_top_k, false},
    Back{reshape, lower_reshape, false},
    Back{transpose, lower_transpose, false},
    Back{slice, lower_slice, false},
    Back{concat, lower_concat, false},
    Back{split, lower_split, false},
    Back{pad, lower_pad, false},
    Back{gather, lower_gather, false},
    Back{scatter_nd, lower_scatter, false},
    Back{reverse_sequence, lower_reverse, false},
    Back{expand, lower_expand, false},
    Back{gru, lower_recurrent},
    Back{lstm, lower_recurrent},
    Back{layer_norm, lower_norm},
    Back{rms_norm, lower_norm},
    Back{lp_norm, lower_norm},
    Back{sigmoid, lower_function},
    Back{tanh, lower_function},
    Back{swish, lower_function},
    Back{hard_swish, lower_function},
    Back{hard_sigmoid, lower_function},
    Back{gelu, lower_function},
    Back{elu, lower_function},
    Back{leaky_relu, lower_function},
    Back{exp, lower_function},
    Back{log, lower_function},
    Back{sqrt, lower_function},
    Back{neg, lower_function},
    Back{abs, lower_function},
    Back{mish, lower_function},
    Back{erf, lower_function},
    Back{softplus, lower_function},
};

const Back* find(OpCode code) {
  const auto* const found =
      std::find_if(kBack.begin(), kBack.end(), [&](const Back& entry) { return entry.code == code; });
  return found == kBack.end() ? nullptr : found;
}

// Other arithmetics than those the importer makes compute something else.
bool known_arithmetic(const compiler::Node& node) {
  return node.arithmetic == Arithmetic::espdl || (node.code == mod && node.arithmetic == Arithmetic::floored);
}

// Scales and types of one operand; empty: the format can say them.
std::string obstacle(const Tensor& tensor) {
  const std::string what = "\"" + tensor.name + "\" ";
  if (!tensor.scales.empty()) return what + "has a free scale, expected a power of two";
  if (std::any_of(tensor.zero_points.begin(), tensor.zero_points.end(),
                  [](std::int32_t zero) { return zero != 0; }))
    return what + "has a zero point other than 0";
  switch (tensor.dtype) {
    case DType::int8:
    case DType::int16:
      if (!tensor.exponents.empty()) return {};
      return what + "is " + std::string(runnel::name_of(tensor.dtype)) + " without an exponent";
    case DType::float32:
    case DType::int32:
    case DType::int64:
    case DType::boolean:
      return {};
    default:
      return what + "is " + std::string(runnel::name_of(tensor.dtype)) + ", which its operators do not take";
  }
}

// Whether results depend on how ties are rounded.
bool rounds(const Graph& graph, const Back& back, const compiler::Node& node) {
  if (node.outputs.empty() || !is_quantized(graph.tensors[static_cast<std::size_t>(node.outputs[0])].dtype))
    return false;
  if (back.rounds) return true;
  const auto& out = graph.tensors[static_cast<std::size_t>(node.outputs[0])].exponents;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
    if (id == kAbsent) return false;
    const Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    return is_quantized(tensor.dtype) && tensor.exponents != out;
  });
}

bool check(Lowering& to, const Graph& graph, const compiler::Node& node) {
  const Back* const back = find(node.code);
  if (back == nullptr || !known_arithmetic(node)) {
    to.refuse(node, back == nullptr ? std::string("an operator that .espdl files do not have")
                                    : std::string("its arithmetic ") + name_of(node.code, node.arithmetic) +
                                          ", expected espdl");
    return false;
  }
  bool fits = true;
  for (const auto* list : {&node.inputs, &node.outputs}) {
    for (const TensorId id : *list) {
      if (id == kAbsent) continue;
      const std::string why = obstacle(to.at(id));
      if (!why.empty()) to.refuse(node, why);
      fits = fits && why.empty();
    }
  }
  for (const TensorId id : node.outputs) {
    const Tensor& tensor = to.at(id);
    if (!is_quantized(tensor.dtype) || tensor.exponents.size() == 1 || !obstacle(tensor).empty()) continue;
    to.refuse(node, "\"" + tensor.name + "\" has " + std::to_string(tensor.exponents.size()) +
                        " exponents, expected 1");
    fits = false;
  }
  const auto expected =
      to.target() == EspdlTarget::esp32p4 ? kernels::Rounding::half_even : kernels::Rounding::half_up;
  if (fits && node.rounding != expected && rounds(graph, *back, node)) {
    to.refuse(node, std::string("it does not round ties ") +
                        (expected == kernels::Rounding::half_even ? "to even" : "up") + ", as " +
                        std::string(name_of(to.target())) + " does");
  }
  return fits;
}

Value value_of(const Tensor& tensor) {
  return {tensor.dtype, wide(tensor.shape),
          is_quantized(tensor.dtype) ? tensor.exponents : std::vector<std::int8_t>{}};
}

}  // namespace

void lower(Lowering& to, const Graph& graph) {
  to.model.name = graph.name;
  for (const TensorId id : graph.inputs) {
    if (const std::string why = obstacle(to.at(id)); !why.empty()) to.refuse_input(why);
    to.model.inputs.push_back(to.name_of(id));
    to.model.values.insert_or_assign(to.name_of(id), value_of(to.at(id)));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    fold_right_operand(to, graph.nodes[i], i);
    fold_truth(to, graph.nodes[i], i);
  }
  for (const compiler::Node& node : graph.nodes) {
    if (!to.skipped(node) && check(to, graph, node)) find(node.code)->lower(to, node);
  }
  for (const TensorId id : graph.outputs) to.model.outputs.push_back(to.name_of(id));
}

}  // namespace runnel::compiler::espdl_source
