// Operators of the application: their operands and attributes are passed on as they are.
#include <algorithm>

#include "compiler/import/espdl/builder.h"

namespace runnel::compiler::espdl_source {
namespace {

Result<CustomAttribute> attribute_of(const Node& node, const std::string& name, const Attribute& value) {
  CustomAttribute out;
  out.name = name;
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    out.value = std::vector<std::int64_t>{*integer};
  else if (const auto* number = std::get_if<float>(&value))
    out.value = std::vector<float>{*number};
  else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value))
    out.value = *integers;
  else if (const auto* numbers = std::get_if<std::vector<float>>(&value))
    out.value = *numbers;
  else if (const auto* text = std::get_if<std::string>(&value))
    out.value = *text;
  else
    return Builder::fail(node, Code::unsupported)
           << "attribute \"" << name << "\" is neither a number, a list of numbers nor text";
  return out;
}

}  // namespace

Status convert_custom(Builder& builder, const Node& node, const CustomOperator& custom) {
  CustomOptions options;
  options.name = node.op;
  for (const auto& [name, value] : node.attributes) {
    if (name.empty()) return Builder::fail(node) << "an attribute without name";
    RUNNEL_ASSIGN(CustomAttribute attribute, attribute_of(node, name, value));
    options.attributes.push_back(std::move(attribute));
  }
  std::vector<TensorId> inputs, outputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    TensorId id = kAbsent;
    if (!node.inputs[i].empty()) {
      RUNNEL_ASSIGN(id, builder.operand(node, i));
    }
    inputs.push_back(id);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    RUNNEL_ASSIGN(const TensorId id, builder.output(node, i));
    outputs.push_back(id);
  }
  std::vector<std::vector<std::int32_t>> shapes;
  if (custom.shapes) {
    CustomNode about{node.name, options, {}};
    for (const TensorId id : inputs) about.inputs.push_back(id == kAbsent ? nullptr : &builder.at(id));
    auto stated = custom.shapes(about);
    if (!stated.ok()) return Builder::fail(node, stated.status().code()) << stated.status().text();
    shapes = std::move(stated).value();
  } else {
    if (inputs.empty() || inputs[0] == kAbsent)
      return Builder::fail(node) << "input 0 is absent, whose shape the outputs have";
    shapes.assign(outputs.size(), builder.at(inputs[0]).shape);
  }
  if (shapes.size() != outputs.size())
    return Builder::fail(node, Code::invalid_argument)
           << "shapes of " << shapes.size() << " outputs were stated, expected " << outputs.size();
  for (std::size_t i = 0; i < outputs.size(); ++i) builder.at(outputs[i]).shape = std::move(shapes[i]);
  return builder.emit(node, OpCode::custom, std::move(inputs), std::move(outputs), std::move(options),
                      Arithmetic{static_cast<std::uint8_t>(custom.version)});
}

}  // namespace runnel::compiler::espdl_source
