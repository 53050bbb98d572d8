#include "compiler/quantize/round/function_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "compiler/quantize/round/quantization_grid.h"
#include "kernels/elementwise/affine.h"
#include "kernels/elementwise/functions.h"

namespace runnel::compiler::quantizer {
namespace {

using kernels::Function;

constexpr std::pair<OpCode, Function> kFunctions[] = {{OpCode::abs, Function::abs},
                                                      {OpCode::neg, Function::neg},
                                                      {OpCode::exp, Function::exp},
                                                      {OpCode::log, Function::log},
                                                      {OpCode::sqrt, Function::sqrt},
                                                      {OpCode::sigmoid, Function::sigmoid},
                                                      {OpCode::tanh, Function::tanh},
                                                      {OpCode::swish, Function::swish},
                                                      {OpCode::hard_sigmoid, Function::hard_sigmoid},
                                                      {OpCode::gelu, Function::gelu},
                                                      {OpCode::elu, Function::elu},
                                                      {OpCode::hard_swish, Function::hard_swish},
                                                      {OpCode::mish, Function::mish},
                                                      {OpCode::erf, Function::erf},
                                                      {OpCode::leaky_relu, Function::leaky_relu},
                                                      {OpCode::softplus, Function::softplus},
                                                      {OpCode::swoosh, Function::swoosh}};

}  // namespace

std::optional<kernels::FunctionSpec> function_of(const Node& node) {
  const auto* found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                   [&](const auto& entry) { return entry.first == node.code; });
  if (found == std::end(kFunctions)) return {};
  kernels::FunctionSpec spec{found->second};
  if (const auto* options = std::get_if<FunctionOptions>(&node.options); options != nullptr) {
    spec.alpha = options->alpha;
    spec.beta = options->beta;
    spec.gamma = options->gamma;
    if (spec.function == Function::gelu && options->tanh_form) spec.function = Function::gelu_tanh;
  }
  return spec;
}

Result<Tensor> make_function_table(const Node& node, const Tensor& x, const Tensor& y,
                                   kernels::Rounding rounding, int wide_entries) {
  const std::optional<kernels::FunctionSpec> spec = function_of(node);
  if (!spec) return Status(Code::unsupported) << "node \"" << node.name << "\" is no function of one value";
  const float x_scale = x.scales.empty() ? kernels::power_of_two(x.exponents[0]) : x.scales[0];
  const int x_zero = x.zero_points.empty() ? 0 : x.zero_points[0];
  const int first = x.dtype == DType::int8 ? -128 : -32768,
            entries = x.dtype == DType::int8 ? 256 : wide_entries,
            step = x.dtype == DType::int8 ? 1 : 65536 / (wide_entries - 1);
  std::vector<float> values;
  for (int i = 0; i < entries; ++i) {
    const float value = kernels::evaluate(*spec, static_cast<float>(first + i * step - x_zero) * x_scale);
    values.push_back(std::isnan(value) ? 0.0f : value);  // outside of where the function is defined
  }
  Tensor table;
  table.name = y.name + ".table";
  table.dtype = y.dtype;
  table.shape = {entries};
  table.exponents = y.exponents;
  table.scales = y.scales;
  table.zero_points = y.zero_points;
  table.data.emplace(values.size() * size_of(y.dtype));
  to_integers(table, rounding, values, *table.data);
  return table;
}

}  // namespace runnel::compiler::quantizer
