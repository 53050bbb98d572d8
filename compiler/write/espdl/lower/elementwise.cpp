// Element by element, written: arithmetic, functions and their tables, activations, changes of scale.
#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/espdl/tables.h"
#include "compiler/write/espdl/lowering.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::compiler::espdl_source {
namespace {

constexpr std::pair<OpCode, std::string_view> kBinary[] = {
    {OpCode::add, "Add"}, {OpCode::sub, "Sub"}, {OpCode::mul, "Mul"}, {OpCode::div, "Div"},
    {OpCode::pow, "Pow"}, {OpCode::max, "Max"}, {OpCode::min, "Min"}, {OpCode::mod, "Mod"}};

Constant number(std::string name, DType dtype, std::vector<std::byte> data) {
  Constant out;
  out.name = std::move(name);
  out.count = 1;  // no dimensions: a scalar
  out.dtype = dtype;
  out.layout = "UNK";
  out.data = std::move(data);
  return out;
}

// ESP-DL adds raw integers: an operand of a sum or difference is brought to the result's scale by a node of
// its own. That is what the operator does too: it rounds its operands first.
std::string aligned_operand(Lowering& to, const compiler::Node& node, std::size_t position) {
  const Tensor &x = to.input(node, position), &y = to.output(node);
  // What was read from an .espdl file is written as it was.
  const auto& origin = to.model.metadata;
  const bool read = std::find(origin.begin(), origin.end(),
                              std::pair<std::string, std::string>("source.format", "espdl")) != origin.end();
  const bool aligns =
      !read && node.arithmetic == Arithmetic::espdl && (node.code == OpCode::add || node.code == OpCode::sub);
  if (!aligns || x.data || !is_quantized(y.dtype) || x.dtype != y.dtype || x.exponents == y.exponents)
    return to.operand(node, position);
  const std::string suffix = "/rescale" + std::to_string(position), name = node.name + suffix;
  const std::string factor =
      to.constant(number(name + "/scale", DType::float32,
                         bytes_of(std::vector{kernels::power_of_two(exponent_of(y) - exponent_of(x))})));
  const std::string zero =
      to.constant(number(name + "/zero_point", y.dtype, std::vector<std::byte>(size_of(y.dtype))));
  Tensor like = x;
  like.exponents = y.exponents;
  const std::string result = to.value(name, like, {x.shape.begin(), x.shape.end()});
  to.add_between(node, "RequantizeLinear", {to.operand(node, position), factor, zero}, result, y.dtype,
                 suffix);
  return result;
}

}  // namespace

void lower_binary(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<BinaryOptions>(node.options);
  if (o.activation != Activation::none)
    to.refuse(node, std::string("a fused ") + name_of(o.activation) + ", which only products have");
  const auto* const found = std::find_if(std::begin(kBinary), std::end(kBinary),
                                         [&](const auto& entry) { return entry.first == node.code; });
  const std::string first = aligned_operand(to, node, 0), second = aligned_operand(to, node, 1);
  Node& out = to.add(node, found->second, {first, second});
  if (node.code == OpCode::mod)
    out.attributes["fmod"] = std::int64_t{node.arithmetic == Arithmetic::floored ? 0 : 1};
}

// Without a table: computed for each element.
void lower_function(Lowering& to, const compiler::Node& node) {
  const std::string_view op = function_named(node.code);
  Node& out = to.add(node, op, {to.operand(node, 0)});
  const auto* const o = std::get_if<FunctionOptions>(&node.options);
  if (o == nullptr) return;
  if (node.code == OpCode::gelu) out.attributes["approximate"] = std::string(o->tanh_form ? "tanh" : "none");
  if (node.code == OpCode::hard_sigmoid || node.code == OpCode::elu || node.code == OpCode::leaky_relu)
    out.attributes["alpha"] = o->alpha;
  if (node.code == OpCode::hard_sigmoid) out.attributes["beta"] = o->beta;
}

void lower_table(Lowering& to, const compiler::Node& node) {
  const Tensor &x = to.input(node, 0), &table = to.input(node, 1), &y = to.output(node);
  if (std::get<LutOptions>(node.options).linear) {
    to.refuse(node, "a table whose entries are interpolated; ESP-DL looks up the nearest one");
    return;
  }
  if (!table.data || !is_quantized(x.dtype) || table.dtype != y.dtype || !is_quantized(y.dtype)) {
    to.refuse(node, "a table that is no constant of its output's type, int8 or int16");
    return;
  }
  Constant constant = to.constant_of(table, "");
  constant.exponents = y.exponents;
  constant.dims = {constant.count};
  Node& out = to.add(node, "LUT", {to.operand(node, 0)});
  if (x.dtype == DType::int16) out.attributes["int16_lut_step"] = 65536 / (constant.count - 1);
  out.attributes["lut"] = to.constant(std::move(constant));
}

void lower_clip(Lowering& to, const compiler::Node& node) {
  const auto& o = std::get<ClipOptions>(node.options);
  const Tensor& y = to.output(node);
  std::vector<std::string> inputs = {to.operand(node, 0)};
  if (is_quantized(y.dtype)) {
    inputs.push_back(to.constant(quantized_value(node.name + "/min", y, o.low)));
    inputs.push_back(to.constant(quantized_value(node.name + "/max", y, o.high)));
  } else {
    const auto bound = [&](const char* what, float value) {
      return std::isinf(value)
                 ? std::string()
                 : to.constant(number(node.name + what, DType::float32, bytes_of(std::vector{value})));
    };
    inputs.push_back(bound("/min", o.low_value));
    inputs.push_back(bound("/max", o.high_value));
  }
  to.add(node, "Clip", std::move(inputs));
}

void lower_prelu(Lowering& to, const compiler::Node& node) {
  const Tensor &x = to.input(node, 0), &slopes = to.input(node, 1);
  if (!slopes.data || slopes.exponents.size() != (is_quantized(slopes.dtype) ? 1u : 0u)) {
    to.refuse(node, "slopes that are no constant with one exponent");
    return;
  }
  Constant constant = to.constant_of(slopes);
  // [C, 1, ..], as ONNX has them.
  if (constant.count > 1) {
    constant.dims.assign(std::max<std::size_t>(x.shape.size(), 2) - 1, 1);
    constant.dims[0] = constant.count;
  }
  to.add(node, "PRelu", {to.operand(node, 0), to.constant(std::move(constant))});
}

// QuantizeLinear and DequantizeLinear name a scale and a zero point, RequantizeLinear the quotient of the two
// scales.
void lower_scale(Lowering& to, const compiler::Node& node) {
  const Tensor &x = to.input(node, 0), &y = to.output(node);
  const bool in = is_quantized(x.dtype), out = is_quantized(y.dtype);
  const std::string_view op = in && out ? "RequantizeLinear" : in ? "DequantizeLinear" : "QuantizeLinear";
  if ((!in && x.dtype != DType::float32) || (!out && y.dtype != DType::float32) || (!in && !out)) {
    to.refuse(node, "from " + std::string(runnel::name_of(x.dtype)) + " to " +
                        std::string(runnel::name_of(y.dtype)));
    return;
  }
  const float scale = kernels::power_of_two(in && out ? exponent_of(y) - exponent_of(x)
                                            : in      ? exponent_of(x)
                                                      : exponent_of(y));
  const DType integers = out ? y.dtype : x.dtype;
  const std::string factor =
      to.constant(number(node.name + "/scale", DType::float32, bytes_of(std::vector{scale})));
  const std::string zero =
      to.constant(number(node.name + "/zero_point", integers, std::vector<std::byte>(size_of(integers))));
  to.add(node, op, {to.operand(node, 0), factor, zero});
}

void lower_softmax(Lowering& to, const compiler::Node& node) {
  Node& out = to.add(node, node.code == OpCode::softmax ? "Softmax" : "LogSoftmax", {to.operand(node, 0)});
  out.attributes["axis"] = static_cast<std::int64_t>(std::get<AxisOptions>(node.options).axis);
}

}  // namespace runnel::compiler::espdl_source
