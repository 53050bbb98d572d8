#include "compiler/espdl/tables.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "compiler/import/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

constexpr std::pair<std::string_view, OpCode> kFunctions[] = {{"Sigmoid", OpCode::sigmoid},
                                                              {"Tanh", OpCode::tanh},
                                                              {"Swish", OpCode::swish},
                                                              {"HardSwish", OpCode::hard_swish},
                                                              {"HardSigmoid", OpCode::hard_sigmoid},
                                                              {"Gelu", OpCode::gelu},
                                                              {"Elu", OpCode::elu},
                                                              {"LeakyRelu", OpCode::leaky_relu},
                                                              {"Exp", OpCode::exp},
                                                              {"Log", OpCode::log},
                                                              {"Sqrt", OpCode::sqrt},
                                                              {"Neg", OpCode::neg},
                                                              {"Abs", OpCode::abs},
                                                              {"Mish", OpCode::mish},
                                                              {"Erf", OpCode::erf},
                                                              {"Softplus", OpCode::softplus}};

const std::pair<std::string_view, OpCode>* find(std::string_view op) {
  return std::find_if(std::begin(kFunctions), std::end(kFunctions),
                      [&](const auto& entry) { return entry.first == op; });
}

}  // namespace

bool is_function(std::string_view op) { return find(op) != std::end(kFunctions); }

std::string_view function_named(OpCode code) {
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
    case OpCode::gelu: {
      RUNNEL_ASSIGN(const std::string variant, node.text("approximate", "none"));
      if (variant != "none" && variant != "tanh")
        return Builder::fail(node, Code::unsupported)
               << "approximate \"" << variant << "\", expected none or tanh";
      options.tanh_form = variant == "tanh";
      break;
    }
    case OpCode::hard_sigmoid: {
      RUNNEL_ASSIGN(options.alpha, node.number("alpha", 0.2f));
      RUNNEL_ASSIGN(options.beta, node.number("beta", 0.5f));
      break;
    }
    case OpCode::elu:
    case OpCode::leaky_relu: {
      RUNNEL_ASSIGN(options.alpha, node.number("alpha", out.code == OpCode::elu ? 1.0f : 0.01f));
      break;
    }
    default:
      return out;
  }
  out.options = options;
  return out;
}

}  // namespace runnel::compiler::espdl_source
