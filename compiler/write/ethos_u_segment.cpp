#include "compiler/write/ethos_u_segment.h"

#include <algorithm>

namespace runnel::compiler {
namespace {

std::span<const std::int64_t> integers(const DelegateOptions& options, std::string_view name) {
  const auto found = std::ranges::find(options.attributes, name, &CustomAttribute::name);
  if (found == options.attributes.end()) return {};
  const auto* const numbers = std::get_if<std::vector<std::int64_t>>(&found->value);
  return numbers == nullptr ? std::span<const std::int64_t>() : std::span(*numbers);
}
std::string text(const DelegateOptions& options, std::string_view name) {
  const auto found = std::ranges::find(options.attributes, name, &CustomAttribute::name);
  if (found == options.attributes.end()) return {};
  const auto* const value = std::get_if<std::string>(&found->value);
  return value == nullptr ? std::string() : *value;
}

// Places in the scratch memory, which is region 1.
Status read_places(const Node& node, std::span<const std::int64_t> offsets,
                   std::span<const std::int64_t> regions, std::size_t count, std::vector<std::size_t>& to) {
  const auto fail = [&] { return Status(Code::unsupported) << "\"" << node.name << "\": "; };
  if (offsets.size() != count) return fail() << offsets.size() << " places for " << count << " tensors";
  for (const std::int64_t region : regions) {
    if (region != 1) return fail() << "a tensor in region " << region << ", expected the scratch memory";
  }
  for (const std::int64_t offset : offsets) {
    if (offset < 0) return fail() << "a tensor without a place in the scratch memory";
    to.push_back(static_cast<std::size_t>(offset));
  }
  return {};
}

}  // namespace

bool is_ethos_u(const Node& node) {
  const auto* const options = std::get_if<DelegateOptions>(&node.options);
  return options != nullptr && options->kind == "ethos-u";
}

Result<EthosUSegment> read_segment(const Graph& graph, const Node& node) {
  if (!is_ethos_u(node))
    return Status(Code::unsupported) << "\"" << node.name << "\": not a segment for an Ethos-U";
  const auto& options = std::get<DelegateOptions>(node.options);
  EthosUSegment out;
  for (std::size_t i = 0; i < options.parts.size(); ++i) {
    const auto& data = graph.tensors[static_cast<std::size_t>(node.inputs[i])].data;
    if (options.parts[i] == "command_stream") out.commands = *data;
    if (options.parts[i] == "weights") out.weights = *data;
  }
  const auto size = [&](std::string_view name) {
    const auto numbers = integers(options, name);
    return numbers.empty() ? std::size_t{0} : static_cast<std::size_t>(numbers[0]);
  };
  out.scratch = size("scratch_bytes");
  out.fast_scratch = size("fast_scratch_bytes");
  out.inputs = std::span(node.inputs).subspan(options.parts.size());
  out.outputs = node.outputs;
  for (const TensorId id : out.inputs) {
    if (id == kAbsent)
      return Status(Code::unsupported) << "\"" << node.name << "\": it keeps state from run to run";
  }
  RUNNEL_TRY(read_places(node, integers(options, "input_offsets"), integers(options, "input_regions"),
                         out.inputs.size(), out.in_offsets));
  RUNNEL_TRY(read_places(node, integers(options, "output_offsets"), integers(options, "output_regions"),
                         out.outputs.size(), out.out_offsets));
  out.target = text(options, "target");
  out.memory_mode = text(options, "memory_mode");
  out.system = text(options, "system_config");
  return out;
}

}  // namespace runnel::compiler
