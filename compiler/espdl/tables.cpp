#include "compiler/espdl/tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "compiler/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

constexpr std::array<std::string_view, 13> kFunctions = {"Sigmoid", "Tanh", "Swish", "HardSwish", "HardSigmoid", "Gelu", "Elu",
                                                         "LeakyRelu", "Exp", "Log", "Sqrt", "Neg", "Abs"};

// In double; the result is rounded to float32 by the caller.
Result<std::function<double(double)>> function_of(const Node& node) {
  using Function = std::function<double(double)>;
  const std::string& op = node.op;
  if (op == "Sigmoid") return Function([](double x) { return 1 / (1 + std::exp(-x)); });
  if (op == "Tanh") return Function([](double x) { return std::tanh(x); });
  if (op == "Swish") return Function([](double x) { return x / (1 + std::exp(-x)); });
  if (op == "HardSwish") return Function([](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
  if (op == "Exp") return Function([](double x) { return std::exp(x); });
  if (op == "Log") return Function([](double x) { return std::log(x); });
  if (op == "Sqrt") return Function([](double x) { return std::sqrt(x); });
  if (op == "Neg") return Function([](double x) { return -x; });
  if (op == "Abs") return Function([](double x) { return std::abs(x); });
  if (op == "Gelu") {
    RUNNEL_ASSIGN(const std::string variant, node.text("approximate", "none"));
    if (variant == "tanh") {
      return Function([](double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); });   // sqrt(2 / pi)
    }
    if (variant != "none") return Builder::fail(node, Code::unsupported) << "approximate \"" << variant << "\", expected none or tanh";
    return Function([](double x) { return 0.5 * x * (1 + std::erf(x / 1.4142135623730951)); });
  }
  if (op == "HardSigmoid") {
    RUNNEL_ASSIGN(const float alpha, node.number("alpha", 0.2f));
    RUNNEL_ASSIGN(const float beta, node.number("beta", 0.5f));
    return Function([alpha, beta](double x) { return std::clamp(double{alpha} * x + double{beta}, 0.0, 1.0); });
  }
  RUNNEL_ASSIGN(const float alpha, node.number("alpha", op == "LeakyRelu" ? 0.01f : 1.0f));
  if (op == "LeakyRelu") return Function([alpha](double x) { return x >= 0 ? x : double{alpha} * x; });
  if (op == "Elu") return Function([alpha](double x) { return x > 0 ? x : double{alpha} * (std::exp(x) - 1); });
  return Builder::fail(node, Code::unsupported) << "no table can be made for it";
}

}  // namespace

bool is_function(std::string_view op) { return std::find(kFunctions.begin(), kFunctions.end(), op) != kFunctions.end(); }

Result<std::vector<std::byte>> make_table(const Node& node, DType from, int from_exponent, DType to, int to_exponent,
                                          kernels::Rounding rounding) {
  RUNNEL_ASSIGN(const auto function, function_of(node));
  const std::int64_t low = from == DType::int8 ? -128 : -32768, high = from == DType::int8 ? 127 : 32768;
  const std::int64_t least = to == DType::int8 ? -128 : -32768, most = to == DType::int8 ? 127 : 32767;
  std::vector<std::byte> table;
  for (std::int64_t x = low; x <= high; ++x) {
    const auto y = static_cast<float>(function(std::ldexp(static_cast<double>(x), from_exponent)));
    const std::int64_t rounded = kernels::round_float(y * kernels::power_of_two(-to_exponent), rounding);
    const auto entry = static_cast<std::uint16_t>(std::clamp(rounded, least, most));
    table.push_back(static_cast<std::byte>(entry));
    if (to == DType::int16) table.push_back(static_cast<std::byte>(entry >> 8));
  }
  return table;
}

}  // namespace runnel::compiler::espdl_source
