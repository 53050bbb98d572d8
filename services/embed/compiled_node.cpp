#include "services/embed/compiled_node.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/host/heap_memory.h"
#include "compiler/embed/compiled_model.h"

namespace runnel::embedding {

Status compile_node(const Model& model, const std::vector<pipeline::NodeText>& chain, std::size_t fast,
                    compiler::EmbeddedProgram& program, DryRun& dry) {
  const auto at = static_cast<std::size_t>(program.output_stage);
  compiler::CompileOptions options;
  options.array = "runnel_" + program.name + "_model";
  options.scope = fmt::format("Infer{}", at);
  for (const pipeline::ParameterText& parameter : chain[at].parameters) {
    if (parameter.key == "output") options.output = parameter.value;
  }
  // C++ of the interpreting node.
  for (const compiler::EmbeddedNode::Member& member : program.nodes[at].members) {
    if (member.name == "chunk") options.chunk = std::atoll(member.value.c_str());
    if (member.name == "dequantize") options.dequantize = member.value == "true";
  }
  if (program.passes) options.dequantize = true;  // as the interpreting node
  options.given = dry.features.dtype;
  options.given_exponent = dry.features.exponent;
  if (model.pipeline() != nullptr && model.pipeline()->labels() != nullptr) {
    for (const flatbuffers::String* label : *model.pipeline()->labels())
      options.labels.push_back(label->str());
  }
  options.fast_bytes = fast;
  options.steps = program.counters;
  RUNNEL_ASSIGN(compiler::CompiledText compiled, compiler::compile_model(model, options));
  compiler::EmbeddedNode& node = program.nodes[at];
  node.definitions = std::move(compiled.definitions);
  node.class_name = "RomInfer";
  node.header = "pipeline/nodes/model/rom_infer.h";
  node.members = {{"model", "&" + options.scope + "::kModel"}};
  program.model = std::move(compiled.constants);
  program.compiled = true;
  HeapMemory memory;
  DryModel dry_model{.gives = dry.output,
                     .search = dry.search,
                     .counters = program.counters,
                     .cores = program.cores,
                     .passes = program.passes};
  // The results of the first run are invalid now.
  const std::vector<std::string_view> labels(options.labels.begin(), options.labels.end());
  dry_model.gives.labels = labels;
  dry_model.gives.source = {};
  RUNNEL_ASSIGN(dry_model.compiled, compiler::prepare_for_compiling(model, options, memory));
  for (const std::int32_t tensor : model.outputs()) {
    if (options.output.empty() || model.tensor_name(tensor) == options.output) dry_model.tensor = tensor;
  }
  RUNNEL_ASSIGN(dry, dry_run(program, chain, fast, dry_model));
  return {};
}

}  // namespace runnel::embedding
