// Arithmetic on constants: element by element, comparisons, reductions.
#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/import/onnx/fold/fold.h"

namespace runnel::compiler::onnx_source {
namespace {

using Integer = std::int64_t;

Integer wrap(std::uint64_t value) { return static_cast<Integer>(value); }
Integer wrapping_add(Integer a, Integer b) {
  return wrap(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
Integer wrapping_sub(Integer a, Integer b) {
  return wrap(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
Integer wrapping_mul(Integer a, Integer b) {
  return wrap(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
Integer quotient(Integer a, Integer b) { return b == 0 ? 0 : b == -1 ? wrapping_sub(0, a) : a / b; }
Integer remainder(Integer a, Integer b) {
  if (b == 0 || b == -1) return 0;
  const Integer rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

struct Pair {
  Integer (*integers)(Integer, Integer);
  double (*reals)(double, double);
};
const std::map<std::string, Pair, std::less<>>& pairs() {
  static const std::map<std::string, Pair, std::less<>> table = {
      {"Add", {wrapping_add, [](double a, double b) { return a + b; }}},
      {"Sub", {wrapping_sub, [](double a, double b) { return a - b; }}},
      {"Mul", {wrapping_mul, [](double a, double b) { return a * b; }}},
      {"Div", {quotient, [](double a, double b) { return a / b; }}},
      {"Mod", {remainder, [](double a, double b) { return std::fmod(a, b); }}},
      {"Max",
       {[](Integer a, Integer b) { return std::max(a, b); },
        [](double a, double b) { return a > b ? a : b; }}},
      {"Min",
       {[](Integer a, Integer b) { return std::min(a, b); },
        [](double a, double b) { return a < b ? a : b; }}},
      {"Pow",
       {[](Integer a, Integer b) {
          return static_cast<Integer>(std::pow(static_cast<double>(a), static_cast<double>(b)));
        },
        [](double a, double b) { return std::pow(a, b); }}},
  };
  return table;
}
const std::map<std::string, Pair, std::less<>>& comparisons() {
  static const std::map<std::string, Pair, std::less<>> table = {
      {"Equal",
       {[](Integer a, Integer b) -> Integer { return a == b; },
        [](double a, double b) -> double { return a == b; }}},
      {"Less",
       {[](Integer a, Integer b) -> Integer { return a < b; },
        [](double a, double b) -> double { return a < b; }}},
      {"LessOrEqual",
       {[](Integer a, Integer b) -> Integer { return a <= b; },
        [](double a, double b) -> double { return a <= b; }}},
      {"Greater",
       {[](Integer a, Integer b) -> Integer { return a > b; },
        [](double a, double b) -> double { return a > b; }}},
      {"GreaterOrEqual",
       {[](Integer a, Integer b) -> Integer { return a >= b; },
        [](double a, double b) -> double { return a >= b; }}},
      {"And",
       {[](Integer a, Integer b) -> Integer { return a != 0 && b != 0; },
        [](double a, double b) -> double { return a != 0 && b != 0; }}},
      {"Or",
       {[](Integer a, Integer b) -> Integer { return a != 0 || b != 0; },
        [](double a, double b) -> double { return a != 0 || b != 0; }}},
      {"Xor",
       {[](Integer a, Integer b) -> Integer { return (a != 0) != (b != 0); },
        [](double a, double b) -> double { return (a != 0) != (b != 0); }}},
  };
  return table;
}
const std::map<std::string, double (*)(double), std::less<>>& functions() {
  static const std::map<std::string, double (*)(double), std::less<>> table = {
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Log", [](double x) { return std::log(x); }},
      {"Abs", [](double x) { return std::fabs(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Relu", [](double x) { return x > 0 ? x : 0; }},
  };
  return table;
}

Result<Constant> combine(const Node& node, const Constant& a, const Constant& b, const Pair& how, DType to) {
  const auto dims = broadcast_dims(a.dims, b.dims);
  if (!dims.ok()) return node.named(dims.status());
  RUNNEL_ASSIGN(const Constant left, broadcast_to(a, *dims));
  RUNNEL_ASSIGN(const Constant right, broadcast_to(b, *dims));
  const auto apply = [&](auto x, const auto& y, auto f) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = f(x[i], y[i]);
    return x;
  };
  if (is_real(a.dtype) || is_real(b.dtype))
    return make_reals(to, *dims, apply(reals_of(left), reals_of(right), how.reals));
  return make_integers(to, *dims, apply(integers_of(left), integers_of(right), how.integers));
}

Result<std::optional<Constant>> reduce(const Node& node, const std::vector<const Constant*>& inputs) {
  const Constant& x = *inputs[0];
  std::vector<std::int64_t> axes = list_of(node, inputs, 1, "axes");
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0) return std::optional(x);
  if (axes.empty()) {
    for (std::size_t i = 0; i < x.dims.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  std::vector<bool> gone(x.dims.size(), false);
  for (const std::int64_t axis : axes) {
    RUNNEL_ASSIGN(const int at, axis_of(node, axis, x.dims.size()));
    gone[static_cast<std::size_t>(at)] = true;
  }
  Dims kept = x.dims, out;
  std::int64_t each = 1;
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    if (gone[i]) each *= x.dims[i];
    if (gone[i]) kept[i] = 1;
    if (!gone[i] || node.integer("keepdims", 1) != 0) out.push_back(kept[i]);
  }
  if (each == 0) return node.fail(Code::unsupported) << "over no elements";
  const std::vector<std::int64_t> to = dense_strides(kept);
  const std::vector<double> values = reals_of(x);
  std::int64_t count = 1;
  for (const std::int64_t dim : kept) count *= dim;
  const bool product = node.op == "ReduceProd", largest = node.op == "ReduceMax",
             least = node.op == "ReduceMin";
  std::vector<double> result(static_cast<std::size_t>(count), product   ? 1.0
                                                              : largest ? -HUGE_VAL
                                                              : least   ? HUGE_VAL
                                                                        : 0.0);
  const std::vector<std::int64_t> from = dense_strides(x.dims);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t at = 0, rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = 0; axis < x.dims.size(); ++axis) {
      if (!gone[axis]) at += rest / from[axis] * to[axis];
      rest %= from[axis];
    }
    double& sum = result[static_cast<std::size_t>(at)];
    if (product)
      sum *= values[i];
    else if (largest)
      sum = std::max(sum, values[i]);
    else if (least)
      sum = std::min(sum, values[i]);
    else
      sum += values[i];
  }
  if (node.op == "ReduceMean") {
    for (double& value : result) value /= static_cast<double>(each);
  }
  return std::optional(make_reals(x.dtype, out, result));
}

Result<Constant> where(const Node& node, const Constant& condition, const Constant& a, const Constant& b) {
  const auto sides = broadcast_dims(a.dims, b.dims);
  if (!sides.ok()) return node.named(sides.status());
  const auto dims = broadcast_dims(condition.dims, *sides);
  if (!dims.ok()) return node.named(dims.status());
  if (a.dtype != b.dtype)
    return node.fail() << name_of(a.dtype) << " and " << name_of(b.dtype) << ", expected one type";
  RUNNEL_ASSIGN(const Constant choice, broadcast_to(condition, *dims));
  RUNNEL_ASSIGN(Constant out, broadcast_to(a, *dims));
  RUNNEL_ASSIGN(const Constant other, broadcast_to(b, *dims));
  const std::vector<std::int64_t> taken = integers_of(choice);
  const std::size_t size = size_of(a.dtype);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (taken[i] == 0)
      std::copy_n(other.data.begin() + static_cast<std::ptrdiff_t>(i * size), size,
                  out.data.begin() + static_cast<std::ptrdiff_t>(i * size));
  }
  return out;
}

Result<Constant> range(const Node& node, const Constant& start, const Constant& limit,
                       const Constant& delta) {
  if (start.count() != 1 || limit.count() != 1 || delta.count() != 1)
    return node.fail() << "limits that are not scalars";
  const double from = reals_of(start)[0], to = reals_of(limit)[0], step = reals_of(delta)[0];
  const double count = step == 0 ? -1 : std::max(0.0, std::ceil((to - from) / step));
  if (!(count >= 0 && count <= 1e8)) return node.fail() << "a range of too many numbers";
  std::vector<double> values;
  for (double i = 0; i < count; ++i) values.push_back(from + i * step);
  return make_reals(start.dtype, {static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

Result<std::optional<Constant>> fold_arithmetic(const Node& node,
                                                const std::vector<const Constant*>& inputs) {
  const auto have = [&](std::size_t count) {
    return inputs.size() >= count &&
           std::all_of(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(count),
                       [](const Constant* x) { return x != nullptr; });
  };
  const auto done = [](Constant value) { return std::optional(std::move(value)); };
  if (!have(1)) return std::optional<Constant>();
  if (const auto pair = pairs().find(node.op); pair != pairs().end() && have(inputs.size())) {
    Constant sum = *inputs[0];
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      RUNNEL_ASSIGN(sum, combine(node, sum, *inputs[i], pair->second, sum.dtype));
    }
    return done(std::move(sum));
  }
  if (const auto compared = comparisons().find(node.op); compared != comparisons().end() && have(2)) {
    RUNNEL_ASSIGN(Constant value, combine(node, *inputs[0], *inputs[1], compared->second, DType::boolean));
    return done(std::move(value));
  }
  const Constant& x = *inputs[0];
  if (const auto function = functions().find(node.op); function != functions().end()) {
    std::vector<double> values = reals_of(x);
    for (double& value : values) value = function->second(value);
    return done(make_reals(x.dtype, x.dims, values));
  }
  if (node.op == "Not") {
    std::vector<std::int64_t> values = integers_of(x);
    for (std::int64_t& value : values) value = value == 0;
    return done(make_integers(DType::boolean, x.dims, values));
  }
  if (node.op == "Cast") {
    const DType to = dtype_of(node.integer("to", 0));
    if (to == DType::none)
      return node.fail(Code::unsupported) << "to type " << node.integer("to", 0) << " of ONNX";
    return done(is_real(x.dtype) ? make_reals(to, x.dims, reals_of(x))
                                 : make_integers(to, x.dims, integers_of(x)));
  }
  if (node.op == "Where" && have(3)) {
    RUNNEL_ASSIGN(Constant value, where(node, x, *inputs[1], *inputs[2]));
    return done(std::move(value));
  }
  if (node.op == "Range" && have(3)) {
    RUNNEL_ASSIGN(Constant value, range(node, x, *inputs[1], *inputs[2]));
    return done(std::move(value));
  }
  if (node.op == "ReduceProd" || node.op == "ReduceSum" || node.op == "ReduceMax" || node.op == "ReduceMin" ||
      node.op == "ReduceMean")
    return reduce(node, inputs);
  return std::optional<Constant>();
}

}  // namespace runnel::compiler::onnx_source
