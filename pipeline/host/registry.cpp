#include "pipeline/host/registry.h"

#include <algorithm>
#include <charconv>

#include "base/host/heap_memory.h"
#include "base/suggest.h"

namespace runnel::pipeline {
namespace {

template <class Items>
Status unknown(std::string_view what, std::string_view name, const Items& items) {
  Suggestion suggestion(name);
  for (const auto& item : items) suggestion.consider(item);
  Status status(Code::not_found);
  status << "there is no " << what << " '" << name << '\'';
  if (!suggestion.best().empty()) return std::move(status) << ", did you mean '" << suggestion.best() << "'?";
  status << "; there are:";
  for (const auto& item : items) status << ' ' << item;
  return status;
}

std::string kinds_of(const Port& port) {
  std::string text;
  for (const Kind kind : {Kind::audio, Kind::frames, Kind::events}) {
    if (!takes(port.kinds, kind)) continue;
    if (!text.empty()) text += " or ";
    text += name_of(kind);
  }
  return text.empty() ? "none" : text + " (" + std::string(port.help) + ")";
}

std::string default_of(const Parameter& parameter, const Node& node) {
  if (parameter.required) return "required";
  return value_text(parameter.get(parameter, node));
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::string value_text(const Value& value) {
  if (value.type != ParameterType::real || static_cast<double>(static_cast<float>(value.real)) != value.real)
    return std::string(describe_value(value).view());
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<float>(value.real)).ptr;
  return {digits, end};
}

Result<const NodeType*> find_node(NodeTable nodes, std::string_view name, bool has_input) {
  const NodeType* other = nullptr;
  for (const NodeType* type : nodes) {
    if (type->name != name) continue;
    if ((type->input.kinds != 0) == has_input) return type;
    other = type;
  }
  if (other != nullptr) {
    Status status(Code::invalid_argument);
    status << name
           << (has_input ? " is a source: nothing can flow into it"
                         : " needs an input: put a source and `!` before it");
    return status;
  }
  std::vector<std::string_view> names;
  for (const NodeType* type : nodes) {
    if (std::find(names.begin(), names.end(), type->name) == names.end()) names.push_back(type->name);
  }
  return unknown("node", name, names);
}

Result<const Parameter*> find_parameter(const NodeType& type, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : type.parameters) {
    if (parameter.name == name) return &parameter;
    names.push_back(parameter.name);
  }
  return unknown("parameter", name, names).at(type.name);
}

std::string describe_node(const NodeType& type) {
  HeapMemory memory;
  Node* node = type.make(memory);
  std::string text = std::string(type.name) + ": " + std::string(type.help) +
                     "\n  input:  " + kinds_of(type.input) + "\n  output: " + kinds_of(type.output) + "\n";
  for (const Parameter& parameter : type.parameters) {
    text += "  " + std::string(parameter.name);
    text.append(parameter.name.size() < 26 ? 26 - parameter.name.size() : 1, ' ');
    text += std::string(parameter.help) + " [" + std::string(describe_allowed(parameter).view()) + "; " +
            default_of(parameter, *node) + "]\n";
  }
  node->~Node();
  return text;
}

std::string nodes_as_markdown(NodeTable nodes) {
  std::string text;
  for (const NodeType* type : nodes) {
    HeapMemory memory;
    Node* node = type->make(memory);
    text += "### " + std::string(type->name) +
            (type->input.kinds == 0    ? " (source)"
             : type->output.kinds == 0 ? " (sink)"
                                       : "") +
            "\n\n" + std::string(type->help) + " Input: " + kinds_of(type->input) +
            ". Output: " + kinds_of(type->output) + ".\n\n";
    if (!type->parameters.empty()) text += "| parameter | default | allowed | meaning |\n|---|---|---|---|\n";
    for (const Parameter& parameter : type->parameters) {
      std::string help(parameter.help);
      replace_all(help, "|", "\\|");
      const std::string standard = default_of(parameter, *node);
      text += "| `" + std::string(parameter.name) + "` | " +
              (standard.empty()     ? ""
               : parameter.required ? standard
                                    : "`" + standard + "`") +
              " | " + std::string(describe_allowed(parameter).view()) + " | " + help + " |\n";
    }
    if (!type->parameters.empty()) text += "\n";
    node->~Node();
  }
  return text;
}

}  // namespace runnel::pipeline
