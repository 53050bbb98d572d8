// QuantizeLinear, DequantizeLinear, and operators that are float ones between them (integer_form.h makes
// integer ones of both).
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "compiler/import/onnx/builder.h"
#include "compiler/import/onnx/fold/fold.h"
#include "compiler/import/onnx/integers/integer_form.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::onnx_source {
namespace {

struct Numbers {
  DType dtype = DType::none;
  float scale = 1;
  std::int32_t zero_point = 0;
};

// One scale and zero point for a whole tensor of activations, at inputs `position` and the next one.
Result<Numbers> numbers_of(const Builder& builder, const Node& node, std::size_t position, DType otherwise) {
  RUNNEL_ASSIGN(const ConstantPtr scale, builder.constant(node, position));
  RUNNEL_ASSIGN(const ConstantPtr zero, builder.constant(node, position + 1));
  if (scale == nullptr || !is_real(scale->dtype) || scale->count() != 1 ||
      (zero != nullptr && zero->count() != 1)) {
    return node.fail(Code::unsupported)
           << "input " << position << ": activations with " << (scale == nullptr ? 0 : scale->count())
           << " scales, expected one for the whole tensor; only constants can have one per channel";
  }
  Numbers out{zero != nullptr ? zero->dtype : otherwise, static_cast<float>(reals_of(*scale)[0])};
  if (!(out.scale > 0) || !std::isfinite(out.scale))
    return node.fail() << "a scale of " << std::to_string(out.scale) << ", expected a positive number";
  const std::int64_t value = zero != nullptr ? integers_of(*zero)[0] : 0;
  if (out.dtype != DType::int8 && out.dtype != DType::uint8 && out.dtype != DType::int16 &&
      out.dtype != DType::int32) {
    return node.fail(Code::unsupported)
           << "activations of " << name_of(out.dtype) << ", expected int8, uint8, int16 or int32";
  }
  out.zero_point = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(value, kernels::lowest(out.dtype), kernels::highest(out.dtype)));
  if (out.dtype == DType::int32 && out.zero_point != 0)
    return node.fail(Code::unsupported) << "int32 with zero point " << out.zero_point << ", expected 0";
  return out;
}

// Gives integers their meaning, and those that they were moved from.
Status tag(Builder& builder, const Node& node, TensorId id, const Numbers& numbers) {
  std::vector<TensorId> open = {id};
  while (!open.empty()) {
    const TensorId next = open.back();
    open.pop_back();
    Tensor& tensor = builder.at(next);
    if (!tensor.scales.empty()) {
      if (tensor.scales[0] == numbers.scale && tensor.zero_points[0] == numbers.zero_point) continue;
      return node.fail(Code::unsupported)
             << "reads \"" << tensor.name << "\" with scale " << std::to_string(numbers.scale)
             << " and zero point " << numbers.zero_point << ", it has " << std::to_string(tensor.scales[0])
             << " and " << tensor.zero_points[0];
    }
    tensor.scales = {numbers.scale};
    tensor.zero_points = {numbers.zero_point};
    for (const compiler::Node& made : builder.graph.nodes) {
      if (!moves_data(made)) continue;
      const auto moved_end = made.inputs.begin() + static_cast<std::ptrdiff_t>(moved_inputs(made));
      const bool writes = std::find(made.outputs.begin(), made.outputs.end(), next) != made.outputs.end();
      if (!writes && std::find(made.inputs.begin(), moved_end, next) == moved_end) continue;
      open.insert(open.end(), made.inputs.begin(), moved_end);
      open.insert(open.end(), made.outputs.begin(), made.outputs.end());
    }
  }
  return {};
}

Result<Value> quantized(Builder& builder, const Node& node, const Value& x, const Numbers& numbers) {
  if (x.dtype != DType::float32)
    return node.fail(Code::unsupported) << "of " << name_of(x.dtype) << ", expected float32";
  const Perm perm = x.constant != nullptr ? identity_perm(x.rank()) : x.perm;
  RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, perm));
  RUNNEL_ASSIGN(const TensorId y,
                builder.emit(node, OpCode::quantize, {id}, {}, {}, numbers.dtype, Arithmetic::tflite));
  builder.graph.nodes.back().rounding = kernels::Rounding::half_even;
  builder.at(y).scales = {numbers.scale};
  builder.at(y).zero_points = {numbers.zero_point};
  return builder.computed(y, perm);
}

Result<Value> dequantized(Builder& builder, const Node& node, const Value& x, const Numbers& numbers) {
  if (x.dtype != numbers.dtype)
    return node.fail() << name_of(x.dtype) << " with a zero point of " << name_of(numbers.dtype);
  RUNNEL_TRY(tag(builder, node, x.id, numbers));
  RUNNEL_ASSIGN(const TensorId y,
                builder.emit(node, OpCode::dequantize, {x.id}, {}, {}, DType::float32, Arithmetic::tflite));
  return builder.computed(y, x.perm);
}

// Input `position` with its scale and zero point after it, as float32: a constant with a grid, or a tensor.
// `scale` none: 1.
Result<Value> dequantized(Builder& builder, const Node& node, std::size_t position,
                          std::optional<std::size_t> scale, std::size_t zero, std::int64_t axis) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, position));
  Node part = node;  // as DequantizeLinear would see it
  part.op = "DequantizeLinear";
  ::onnx::NodeProto proto;
  auto* const along = proto.add_attribute();
  along->set_name("axis");
  along->set_type(::onnx::AttributeProto::INT);
  along->set_i(axis);
  part.proto = &proto;
  const auto name_at = [&](std::size_t at) { return node.has_input(at) ? node.inputs[at] : std::string(); };
  part.inputs = {node.inputs[position], scale ? name_at(*scale) : node.name + ".one", name_at(zero)};
  if (!scale) builder.define(part.inputs[1], scalar(1));
  if (x.constant != nullptr) {
    RUNNEL_ASSIGN(const ConstantPtr scales, builder.constant(part, 1));
    RUNNEL_ASSIGN(const ConstantPtr zeros, builder.constant(part, 2));
    RUNNEL_ASSIGN(auto folded, fold_quantized(part, {x.constant.get(), scales.get(), zeros.get()}));
    if (!folded) return node.fail() << "input " << position << " has no scale";
    return constant_value(std::move(*folded));
  }
  RUNNEL_ASSIGN(const Numbers numbers, numbers_of(builder, part, 1, x.dtype));
  return dequantized(builder, node, x, numbers);
}

// What an operator on integers is made of: operands with scale and zero point after each, then those of the
// result.
struct Form {
  std::string_view name, plain;  // and the float operator that it is
  std::size_t operands = 1;
};
constexpr std::array kForms = {Form{"QLinearConv", "Conv", 2},
                               Form{"QLinearMatMul", "MatMul", 2},
                               Form{"QGemm", "Gemm", 2},
                               Form{"QLinearAdd", "Add", 2},
                               Form{"QLinearMul", "Mul", 2},
                               Form{"QLinearSigmoid", "Sigmoid", 1},
                               Form{"QLinearLeakyRelu", "LeakyRelu", 1},
                               Form{"QLinearSoftmax", "Softmax", 1},
                               Form{"QLinearAveragePool", "AveragePool", 1},
                               Form{"QLinearGlobalAveragePool", "GlobalAveragePool", 1}};

Status convert_plain(Builder& builder, const Node& plain) {
  if (plain.op == "Conv") return convert_conv(builder, plain);
  if (plain.op == "MatMul") return convert_matmul(builder, plain);
  if (plain.op == "Gemm") return convert_gemm(builder, plain);
  if (plain.op == "Add" || plain.op == "Mul") return convert_binary(builder, plain);
  if (plain.op == "Softmax") return convert_softmax(builder, plain);
  if (plain.op == "AveragePool") return convert_pool(builder, plain);
  if (plain.op == "GlobalAveragePool") return convert_global_pool(builder, plain);
  return plain.op == "Concat" ? convert_concat(builder, plain) : convert_function(builder, plain);
}

// A bias of int32 on the grid of the products.
Result<Value> dequantized_bias(const Builder& builder, const Node& node, std::size_t position,
                               std::size_t x_scale, std::size_t w_scale) {
  RUNNEL_ASSIGN(const ConstantPtr bias, builder.constant(node, position));
  RUNNEL_ASSIGN(const ConstantPtr x, builder.constant(node, x_scale));
  RUNNEL_ASSIGN(const ConstantPtr w, builder.constant(node, w_scale));
  if (x == nullptr || w == nullptr || x->count() != 1 || (w->count() != 1 && w->count() != bias->count()))
    return node.fail() << "a bias of " << bias->count() << " elements beside other scales";
  const std::vector<double> unit = reals_of(*w);
  std::vector<double> values = reals_of(*bias);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] *= reals_of(*x)[0] * unit[unit.size() == 1 ? 0 : i];
  return constant_value(make_reals(DType::float32, bias->dims, values));
}

// ---- scales that are computed while running: the integers are whole numbers in float32
bool is_dynamic(const Value& x) { return x.constant == nullptr && x.dtype == DType::float32; }

// To even, by way of int16.
Result<Value> rounded(Builder& builder, const Node& node, const Value& x) {
  constexpr Numbers whole{DType::int16, 1, 0};
  RUNNEL_ASSIGN(const Value integers, quantized(builder, node, x, whole));
  return dequantized(builder, node, integers, whole);
}
Result<Value> as_byte(Builder& builder, const Node& node, const Value& x) {
  ClipOptions limits;
  limits.high_value = 255;
  return unary(builder, node, OpCode::clip, x, limits);
}
// The largest or smallest element and 0.
Result<Value> extreme(Builder& builder, const Node& node, const Value& x, bool largest) {
  ReduceOptions options;
  for (std::size_t i = 0; i < x.rank(); ++i) options.axes.push_back(static_cast<std::uint8_t>(i));
  RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, x.perm));
  RUNNEL_ASSIGN(const TensorId found,
                builder.emit(node, largest ? OpCode::reduce_max : OpCode::reduce_min, {id}, options));
  RUNNEL_ASSIGN(const Value one, builder.with_ones(node, builder.computed(found, x.perm), {}));
  return binary(builder, node, largest ? OpCode::max : OpCode::min, one, scalar(0));
}
// Without its zero point, input `zero`.
Result<Value> centred(Builder& builder, const Node& node, const Value& x, std::size_t zero) {
  if (!node.has_input(zero)) return x;
  RUNNEL_ASSIGN(const Value at, builder.value(node, zero));
  if (!is_dynamic(at))
    return node.fail(Code::unsupported)
           << "a zero point of " << name_of(at.dtype) << " beside a scale that is computed at run time";
  return binary(builder, node, OpCode::sub, x, at);
}

}  // namespace

Status convert_dynamic_quantize(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  if (!is_dynamic(x))
    return node.fail(Code::unsupported)
           << "of a constant or of " << name_of(x.dtype) << ", expected float32 that is computed";
  RUNNEL_ASSIGN(const Value high, extreme(builder, node, x, true));
  RUNNEL_ASSIGN(const Value low, extreme(builder, node, x, false));
  RUNNEL_ASSIGN(const Value range, binary(builder, node, OpCode::sub, high, low));
  RUNNEL_ASSIGN(const Value step, binary(builder, node, OpCode::div, range, scalar(255)));
  RUNNEL_ASSIGN(const Value scale,
                binary(builder, node, OpCode::max, step, scalar(1e-30)));  // nothing but zeros
  RUNNEL_ASSIGN(const Value below, unary(builder, node, OpCode::neg, low));
  RUNNEL_ASSIGN(const Value steps_below, binary(builder, node, OpCode::div, below, scale));
  RUNNEL_ASSIGN(const Value bounded, as_byte(builder, node, steps_below));
  RUNNEL_ASSIGN(const Value zero, rounded(builder, node, bounded));
  RUNNEL_ASSIGN(const Value steps, binary(builder, node, OpCode::div, x, scale));
  RUNNEL_ASSIGN(const Value whole, rounded(builder, node, steps));
  RUNNEL_ASSIGN(const Value shifted, binary(builder, node, OpCode::add, whole, zero));
  RUNNEL_ASSIGN(const Value y, as_byte(builder, node, shifted));
  builder.result(node, y, 0);
  builder.result(node, scale, 1);
  builder.result(node, zero, 2);
  return {};
}

Status convert_quantize(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  const DType wanted = dtype_of(node.integer("output_dtype", 0));
  RUNNEL_ASSIGN(const Numbers numbers,
                numbers_of(builder, node, 1, wanted != DType::none ? wanted : DType::uint8));
  if (numbers.dtype == DType::int32)
    return node.fail(Code::unsupported) << "to int32, expected int8, uint8 or int16";
  RUNNEL_ASSIGN(Value y, quantized(builder, node, x, numbers));
  builder.result(node, std::move(y));
  return {};
}

Status convert_dequantize(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  if (is_dynamic(x)) {
    RUNNEL_ASSIGN(const Value difference, centred(builder, node, x, 2));
    RUNNEL_ASSIGN(const Value scale, builder.value(node, 1));
    RUNNEL_ASSIGN(Value real, binary(builder, node, OpCode::mul, difference, scale));
    builder.result(node, std::move(real));
    return {};
  }
  RUNNEL_ASSIGN(Value y, dequantized(builder, node, 0, 1, 2, node.integer("axis", 1)));
  builder.result(node, std::move(y));
  return {};
}

Status convert_integer_operator(Builder& builder, const Node& node) {
  Node plain = node;
  const auto give = [&](std::size_t i, Value value) {
    const std::string name = node.name + ".float" + std::to_string(i);
    builder.define(name, std::move(value));
    return name;
  };
  plain.inputs.clear();
  plain.outputs = {node.name + ".result"};
  std::size_t scale_of_result = 0;
  if (node.op == "ConvInteger" || node.op == "MatMulInteger") {
    // Products of integers, in float32: exact up to 2^24.
    plain.op = node.op == "ConvInteger" ? "Conv" : "MatMul";
    for (std::size_t i = 0; i < 2; ++i) {
      RUNNEL_ASSIGN(Value operand, builder.value(node, i));
      if (is_dynamic(operand)) {
        RUNNEL_ASSIGN(operand, centred(builder, node, operand, i + 2));
      } else {
        RUNNEL_ASSIGN(operand, dequantized(builder, node, i, std::nullopt, i + 2,
                                           i == 1 && plain.op == "Conv" ? 0 : 1));
      }
      plain.inputs.push_back(give(i, std::move(operand)));
    }
    RUNNEL_TRY(convert_plain(builder, plain));
    const Value* const product = builder.find(plain.outputs[0]);
    if (product == nullptr || product->constant != nullptr)
      return node.fail(Code::unsupported) << "of constants alone";
    RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::cast, {product->id}, {}, {}, DType::int32));
    builder.result(node, y, product->perm);
    return {};
  }
  if (node.op == "QLinearConcat") {
    plain.op = "Concat";
    for (std::size_t i = 2; i + 2 < node.inputs.size(); i += 3) {
      RUNNEL_ASSIGN(Value operand, dequantized(builder, node, i, i + 1, i + 2, 1));
      plain.inputs.push_back(give(i, std::move(operand)));
    }
  } else {
    const auto* const form =
        std::find_if(kForms.begin(), kForms.end(), [&](const Form& entry) { return entry.name == node.op; });
    plain.op = form->plain;
    for (std::size_t i = 0; i < form->operands; ++i) {
      RUNNEL_ASSIGN(Value operand, dequantized(builder, node, 3 * i, 3 * i + 1, 3 * i + 2,
                                               i == 1 && plain.op == "Conv" ? 0 : 1));
      plain.inputs.push_back(give(i, std::move(operand)));
    }
    scale_of_result = 3 * form->operands;
    const bool gemm = plain.op == "Gemm";
    const std::size_t bias = gemm ? 6 : 8;
    if (gemm) ++scale_of_result;
    if ((gemm || plain.op == "Conv") && node.has_input(bias)) {
      RUNNEL_ASSIGN(Value added, dequantized_bias(builder, node, bias, 1, 4));
      plain.inputs.push_back(give(2, std::move(added)));
    }
  }
  RUNNEL_TRY(convert_plain(builder, plain));
  plain.inputs = plain.outputs;  // read it
  RUNNEL_ASSIGN(Value y, builder.value(plain, 0));
  if (node.has_input(scale_of_result)) {
    RUNNEL_ASSIGN(const Numbers numbers, numbers_of(builder, node, scale_of_result, DType::uint8));
    RUNNEL_ASSIGN(y, quantized(builder, node, y, numbers));
  }
  builder.result(node, std::move(y));
  return {};
}

}  // namespace runnel::compiler::onnx_source
