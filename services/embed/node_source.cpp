#include "services/embed/node_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/host/heap_memory.h"
#include "decoding/host/search_tables_source.h"
#include "pipeline/host/registry.h"
#include "pipeline/nodes/nodes.h"
#include "services/embed/front_end_source.h"

namespace runnel::embedding {
namespace {

// The node's memory is not its own.
struct Destroy {
  void operator()(pipeline::Node* node) const noexcept { node->~Node(); }
};

// Numbers as C++ literals of exactly the same value, enumerations as '#' and their number.
std::string literal(const pipeline::Parameter& parameter, const pipeline::Value& value, bool option) {
  switch (value.type) {
    case pipeline::ParameterType::boolean:
      return value.boolean ? "true" : "false";
    case pipeline::ParameterType::integer:
      return std::to_string(value.integer);
    case pipeline::ParameterType::real: {
      // Members are float or double: hexadecimal literals are exact for both.
      return option || static_cast<double>(static_cast<float>(value.real)) == value.real
                 ? fmt::format("{:a}F", value.real)
                 : fmt::format("{:a}", value.real);
    }
    case pipeline::ParameterType::text:
      break;
  }
  if (!option) return compiler::quoted(value.text);
  std::size_t index = 0;
  for (std::string_view rest = parameter.choices; !rest.empty(); ++index) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    if (rest.substr(0, bar) == value.text) break;
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return "#" + std::to_string(index);
}

}  // namespace

Result<compiler::EmbeddedNode> node_source(const pipeline::NodeText& text, std::size_t index,
                                           const std::string& model, const EmbeddedSpeech& speech,
                                           bool constant) {
  RUNNEL_ASSIGN(const pipeline::NodeType* const type,
                pipeline::find_node(pipeline::device_nodes(), text.type, true));
  const auto rows = pipeline::device_node_rows();
  const auto known =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.type == type; });
  if (known == rows.end() || known->header.empty())
    return Status(Code::unsupported) << "the node " << text.type << " cannot be embedded";
  HeapMemory memory;
  const std::unique_ptr<pipeline::Node, Destroy> made(type->make(memory));
  if (made == nullptr) return pipeline::out_of_memory(text.type);
  for (const pipeline::ParameterText& given : text.parameters) {
    if (const auto found = pipeline::find_parameter(*type, given.key); !found.ok()) return found.status();
  }
  compiler::EmbeddedNode out{text.type,
                             std::string(known->class_name),
                             std::string(known->header),
                             std::to_string(type->input.kinds),
                             std::to_string(type->output.kinds),
                             {},
                             {}};
  for (const pipeline::Parameter& parameter : type->parameters) {
    for (const pipeline::ParameterText& given : text.parameters) {
      if (given.key != parameter.name) continue;
      RUNNEL_ASSIGN(const pipeline::Value value, pipeline::parse_value(parameter, given.value));
      RUNNEL_TRY(pipeline::check_value(parameter, value));
      RUNNEL_TRY(parameter.set(parameter, *made, value));
    }
  }
  if (text.type == "fbank" && constant) {
    RUNNEL_TRY(fbank_in_rom(static_cast<const pipeline::Fbank&>(*made), index, out));
    return out;
  }
  if (text.type == "microfrontend") {
    RUNNEL_TRY(microfrontend_in_rom(static_cast<const pipeline::Microfrontend&>(*made), index, out));
    return out;
  }
  if (speech.tables != nullptr) {
    // What its files say goes to ROM.
    const std::string name = fmt::format("k{}{}Tables", known->class_name, index);
    out.definitions = decoding::search_tables_source(speech.tables->tables(), name);
    out.members.push_back({"tables", "&" + name});
  }
  for (const pipeline::Parameter& parameter : type->parameters) {
    if (speech.tables != nullptr && is_in_tables(parameter.name)) continue;
    const bool option = known->has_options && known->own_settings.find("," + std::string(parameter.name) +
                                                                       ",") == std::string_view::npos;
    if (parameter.name == "preset") continue;
    const pipeline::Value value = parameter.get(parameter, *made);
    const bool is_model = text.type == "infer" && parameter.name == "model";
    out.members.push_back({(option ? "options." : "") + std::string(parameter.name),
                           is_model ? compiler::quoted(model) : literal(parameter, value, option)});
  }
  return out;
}

std::string decision_name(std::size_t index) { return fmt::format("Decision{}", index); }

void decision_in_rom(const std::string& facts, std::size_t index, compiler::EmbeddedNode& node) {
  node.class_name = fmt::format("Detect{}Node", index);
  node.header = "pipeline/nodes/decide/rom_detect.h";
  node.definitions =
      facts + fmt::format("using {} = RomDetect<{}>;\n", node.class_name, decision_name(index));
  node.members.clear();
}

}  // namespace runnel::embedding
