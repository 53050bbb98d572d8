#include "compiler/espdl/tables.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "compiler/import/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

constexpr std::pair<std::string_view, fb::OpCode> kFunctions[] = {{"Sigmoid", fb::OpCode::sigmoid},
                                                                  {"Tanh", fb::OpCode::tanh},
                                                                  {"Swish", fb::OpCode::swish},
                                                                  {"HardSwish", fb::OpCode::hard_swish},
                                                                  {"HardSigmoid", fb::OpCode::hard_sigmoid},
                                                                  {"Gelu", fb::OpCode::gelu},
                                                                  {"Elu", fb::OpCode::elu},
                                                                  {"LeakyRelu", fb::OpCode::leaky_relu},
                                                                  {"Exp", fb::OpCode::exp},
                                                                  {"Log", fb::OpCode::log},
                                                                  {"Sqrt", fb::OpCode::sqrt},
                                                                  {"Neg", fb::OpCode::neg},
                                                                  {"Abs", fb::OpCode::abs},
                                                                  {"Mish", fb::OpCode::mish},
                                                                  {"Erf", fb::OpCode::erf},
                                                                  {"Softplus", fb::OpCode::softplus}};

const std::pair<std::string_view, fb::OpCode>* find(std::string_view op) {
  return std::find_if(std::begin(kFunctions), std::end(kFunctions),
                      [&](const auto& entry) { return entry.first == op; });
}

}  // namespace

bool is_function(std::string_view op) { return find(op) != std::end(kFunctions); }

std::string_view function_named(fb::OpCode code) {
  const auto* const found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                         [&](const auto& entry) { return entry.second == code; });
  return found == std::end(kFunctions) ? std::string_view() : found->first;
}

Result<FunctionCode> function_of(const Node& node) {
  const auto* const found = find(node.op);
  if (found == std::end(kFunctions))
    return Builder::fail(node, Code::unsupported) << "is no function of one value";
  FunctionCode out{found->second, {}};
  FunctionOptions options;
  switch (out.code) {
    case fb::OpCode::gelu: {
      RUNNEL_ASSIGN(const std::string variant, node.text("approximate", "none"));
      if (variant != "none" && variant != "tanh")
        return Builder::fail(node, Code::unsupported)
               << "approximate \"" << variant << "\", expected none or tanh";
      options.tanh_form = variant == "tanh";
      break;
    }
    case fb::OpCode::hard_sigmoid: {
      RUNNEL_ASSIGN(options.alpha, node.number("alpha", 0.2f));
      RUNNEL_ASSIGN(options.beta, node.number("beta", 0.5f));
      break;
    }
    case fb::OpCode::elu:
    case fb::OpCode::leaky_relu: {
      RUNNEL_ASSIGN(options.alpha, node.number("alpha", out.code == fb::OpCode::elu ? 1.0f : 0.01f));
      break;
    }
    default:
      return out;
  }
  out.options = options;
  return out;
}

}  // namespace runnel::compiler::espdl_source
