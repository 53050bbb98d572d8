// Operators that work element by element.
#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/import/onnx/builder.h"
#include "compiler/import/onnx/operators.h"

namespace runnel::compiler::onnx_source {
namespace {

bool is_boolean(OpCode code) { return code >= OpCode::equal && code <= OpCode::logical_xor; }

// A limit of Clip: an input, or the attribute of older opsets; nothing when there is none.
Result<std::optional<Value>> limit(Builder& builder, const Node& node, std::size_t position,
                                   std::string_view attribute) {
  if (!node.has_input(position)) {
    const auto* given = node.attribute(attribute);
    return given == nullptr ? std::optional<Value>() : std::optional(scalar(static_cast<double>(given->f())));
  }
  RUNNEL_ASSIGN(Value given, builder.value(node, position));
  RUNNEL_ASSIGN(const std::int64_t count, checked_count(given.dims));
  if (count != 1) return node.fail() << "a limit of " << count << " elements, expected 1";
  return std::optional(std::move(given));
}

}  // namespace

Value scalar(double value) {
  return constant_value(make_reals(DType::float32, {}, std::vector<double>{value}));
}

Result<Aligned> aligned(Builder& builder, const Node& node, const std::vector<Value>& operands) {
  std::size_t rank = 0;
  for (const Value& operand : operands) rank = std::max(rank, operand.rank());
  Aligned out;
  out.perm = identity_perm(rank);
  std::int64_t most = 0;
  std::vector<Value> wide;
  for (const Value& operand : operands) {
    RUNNEL_ASSIGN(const Value value, builder.widened(node, operand, rank));
    wide.push_back(value);
    // The largest computed operand decides: the others are moved to its order of axes.
    if (value.constant != nullptr) continue;
    RUNNEL_ASSIGN(const std::int64_t count, checked_count(value.dims));
    if (count <= most) continue;
    most = count;
    out.perm = value.perm;
  }
  for (const Value& value : wide) {
    RUNNEL_ASSIGN(const TensorId id, builder.stored(node, value, out.perm));
    out.ids.push_back(id);
  }
  return out;
}

Result<Value> binary(Builder& builder, const Node& node, OpCode code, const Value& a, const Value& b,
                     DType dtype) {
  RUNNEL_ASSIGN(const Aligned both, aligned(builder, node, {a, b}));
  Options options;
  if (!is_boolean(code)) options = BinaryOptions{};
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, code, both.ids, options, {}, dtype));
  return builder.computed(y, both.perm);
}

Result<Value> unary(Builder& builder, const Node& node, OpCode code, const Value& x, Options options) {
  const Perm perm = x.constant != nullptr ? identity_perm(x.rank()) : x.perm;
  RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, perm));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, code, {id}, std::move(options)));
  return builder.computed(y, perm);
}

Status convert_binary(Builder& builder, const Node& node) {
  const OpCode code = find_operator(node.op)->code;
  RUNNEL_ASSIGN(Value sum, builder.value(node, 0));
  if (node.op == "Mod" && node.has_input(1) && node.integer("fmod", 0) == 0 && sum.dtype == DType::float32)
    return node.fail() << "fmod 0 for float32";
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    RUNNEL_ASSIGN(const Value next, builder.value(node, i));
    RUNNEL_ASSIGN(sum,
                  binary(builder, node, code, sum, next, is_boolean(code) ? DType::boolean : DType::none));
  }
  builder.result(node, std::move(sum));
  return {};
}

Status convert_function(Builder& builder, const Node& node) {
  const OpCode code = find_operator(node.op)->code;
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  FunctionOptions function;
  Options options;
  if (code == OpCode::leaky_relu || code == OpCode::elu) {
    function.alpha = node.real("alpha", code == OpCode::elu ? 1.0f : 0.01f);
    options = function;
  } else if (code == OpCode::hard_sigmoid) {
    function.alpha = node.real("alpha", 0.2f);
    function.beta = node.real("beta", 0.5f);
    options = function;
  } else if (code == OpCode::gelu) {
    function.tanh_form = node.text("approximate", "none") == "tanh";
    options = function;
  }
  RUNNEL_ASSIGN(Value y, unary(builder, node, code, x, options));
  builder.result(node, std::move(y));
  return {};
}

Status convert_power(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(Value exponent, builder.value(node, 1));
  Value y;
  if (exponent.constant != nullptr && exponent.dtype != DType::float32) {
    exponent = constant_value(make_reals(DType::float32, exponent.dims, reals_of(*exponent.constant)));
  }
  const bool single =
      exponent.constant != nullptr && exponent.constant->count() == 1 && exponent.rank() <= x.rank();
  const double power = single ? reals_of(*exponent.constant)[0] : 0;
  if (single && power == 2) {
    RUNNEL_ASSIGN(y, binary(builder, node, OpCode::mul, x, x));
  } else if (single && power == 0.5) {
    RUNNEL_ASSIGN(y, unary(builder, node, OpCode::sqrt, x));
  } else {
    RUNNEL_ASSIGN(y, binary(builder, node, OpCode::pow, x, exponent));
  }
  builder.result(node, std::move(y));
  return {};
}

Status convert_reciprocal(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(Value y, binary(builder, node, OpCode::div, scalar(1), x));
  builder.result(node, std::move(y));
  return {};
}

// Functions that there is no operator for, put together from others.
Status convert_composed(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  const auto pair = [&](OpCode code, const Value& a, const Value& b) {
    return binary(builder, node, code, a, b);
  };
  const auto elu = [&](const Value& from, double alpha) {
    FunctionOptions options;
    options.alpha = static_cast<float>(alpha);
    return unary(builder, node, OpCode::elu, from, options);
  };
  // x - (x mod 1), with the sign of 1.
  const auto floor = [&](const Value& from) -> Result<Value> {
    RUNNEL_ASSIGN(const Aligned both, aligned(builder, node, {from, scalar(1)}));
    RUNNEL_ASSIGN(const TensorId rest, builder.emit(node, OpCode::mod, both.ids, BinaryOptions{}, {},
                                                    DType::none, Arithmetic::floored));
    return pair(OpCode::sub, from, builder.computed(rest, both.perm));
  };
  const auto truth = [&](OpCode code) -> Result<Value> {
    RUNNEL_ASSIGN(const Value which, binary(builder, node, code, x, scalar(0), DType::boolean));
    RUNNEL_ASSIGN(const TensorId number,
                  builder.emit(node, OpCode::cast, {which.id}, {}, {}, DType::float32));
    return builder.computed(number, which.perm);
  };
  if (x.dtype != DType::float32)
    return node.fail(Code::unsupported) << "of " << name_of(x.dtype) << ", expected float32";
  Value y;
  if (node.op == "Selu") {
    RUNNEL_ASSIGN(y, elu(x, static_cast<double>(node.real("alpha", 1.67326319f))));
    RUNNEL_ASSIGN(y, pair(OpCode::mul, y, scalar(static_cast<double>(node.real("gamma", 1.05070102f)))));
  } else if (node.op == "Celu") {  // alpha elu(x / alpha)
    const auto alpha = static_cast<double>(node.real("alpha", 1));
    if (!(alpha > 0))
      return node.fail(Code::unsupported) << "alpha " << std::to_string(alpha) << ", expected more than 0";
    RUNNEL_ASSIGN(y, pair(OpCode::div, x, scalar(alpha)));
    RUNNEL_ASSIGN(y, elu(y, 1));
    RUNNEL_ASSIGN(y, pair(OpCode::mul, y, scalar(alpha)));
  } else if (node.op == "Softsign") {
    RUNNEL_ASSIGN(y, unary(builder, node, OpCode::abs, x));
    RUNNEL_ASSIGN(y, pair(OpCode::add, y, scalar(1)));
    RUNNEL_ASSIGN(y, pair(OpCode::div, x, y));
  } else if (node.op == "ThresholdedRelu") {
    RUNNEL_ASSIGN(const Value above,
                  binary(builder, node, OpCode::greater, x,
                         scalar(static_cast<double>(node.real("alpha", 1))), DType::boolean));
    RUNNEL_ASSIGN(const Aligned all, aligned(builder, node, {above, x, scalar(0)}));
    RUNNEL_ASSIGN(const TensorId id, builder.emit(node, OpCode::where, all.ids, {}, {}, DType::float32));
    y = builder.computed(id, all.perm);
  } else if (node.op == "Sign") {
    RUNNEL_ASSIGN(const Value above, truth(OpCode::greater));
    RUNNEL_ASSIGN(const Value below, truth(OpCode::less));
    RUNNEL_ASSIGN(y, pair(OpCode::sub, above, below));
  } else if (node.op == "Ceil") {
    RUNNEL_ASSIGN(y, unary(builder, node, OpCode::neg, x));
    RUNNEL_ASSIGN(y, floor(y));
    RUNNEL_ASSIGN(y, unary(builder, node, OpCode::neg, y));
  } else if (node.op == "Floor") {
    RUNNEL_ASSIGN(y, floor(x));
  } else {  // Mean
    y = x;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      RUNNEL_ASSIGN(const Value next, builder.value(node, i));
      RUNNEL_ASSIGN(y, pair(OpCode::add, y, next));
    }
    RUNNEL_ASSIGN(y, pair(OpCode::div, y, scalar(static_cast<double>(node.inputs.size()))));
  }
  builder.result(node, std::move(y));
  return {};
}

Status convert_clip(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(Value y, builder.value(node, 0));
  RUNNEL_ASSIGN(const std::optional<Value> low, limit(builder, node, 1, "min"));
  RUNNEL_ASSIGN(const std::optional<Value> high, limit(builder, node, 2, "max"));
  const auto known = [](const std::optional<Value>& value) { return !value || value->constant != nullptr; };
  if (known(low) && known(high)) {
    constexpr float kMax = std::numeric_limits<float>::max();
    ClipOptions options;
    options.low_value = low ? static_cast<float>(reals_of(*low->constant)[0]) : -kMax;
    options.high_value = high ? static_cast<float>(reals_of(*high->constant)[0]) : kMax;
    RUNNEL_ASSIGN(y, unary(builder, node, OpCode::clip, y, options));
  } else {
    if (low) {
      RUNNEL_ASSIGN(y, binary(builder, node, OpCode::max, y, *low));
    }
    if (high) {
      RUNNEL_ASSIGN(y, binary(builder, node, OpCode::min, y, *high));
    }
  }
  builder.result(node, std::move(y));
  return {};
}

Status convert_prelu(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  RUNNEL_ASSIGN(const Value slopes, builder.value(node, 1));
  if (slopes.rank() > x.rank())
    return node.fail() << "slopes of " << text_of(slopes.dims) << " for an input of " << text_of(x.dims);
  RUNNEL_ASSIGN(const Value wide, builder.widened(node, slopes, x.rank()));
  const Perm perm = x.constant != nullptr ? identity_perm(x.rank()) : x.perm;
  RUNNEL_ASSIGN(const TensorId id, builder.stored(node, x, perm));
  RUNNEL_ASSIGN(const TensorId slope, builder.stored(node, wide, perm));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::prelu, {id, slope}));
  builder.result(node, y, perm);
  return {};
}

Status convert_where(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value condition, builder.value(node, 0));
  RUNNEL_ASSIGN(const Value a, builder.value(node, 1));
  RUNNEL_ASSIGN(const Value b, builder.value(node, 2));
  RUNNEL_ASSIGN(const Aligned all, aligned(builder, node, {condition, a, b}));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::where, all.ids, {}, {}, a.dtype));
  builder.result(node, y, all.perm);
  return {};
}

Status convert_cast(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Value x, builder.value(node, 0));
  DType to = dtype_of(node.integer("to", 0));
  if (to == DType::none)
    return node.fail(Code::unsupported) << "to type " << node.integer("to", 0) << " of ONNX";
  if (to == DType::float64) to = DType::float32;  // the runtime computes in float32
  if (to == x.dtype) {
    builder.result(node, x);
    return {};
  }
  RUNNEL_ASSIGN(const TensorId y, builder.emit(node, OpCode::cast, {x.id}, {}, {}, to));
  builder.result(node, y, x.perm);
  return {};
}

}  // namespace runnel::compiler::onnx_source
