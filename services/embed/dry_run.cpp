#include "services/embed/dry_run.h"

#include <algorithm>

#include "base/host/heap_memory.h"
#include "embed/measure/measures.h"
#include "embed/node.h"
#include "embed/program.h"
#include "pipeline/host/detector_source.h"
#include "pipeline/nodes/decide/detect.h"
#include "services/embed/dry_device.h"
#include "services/embed/dry_nodes.h"
#include "services/embed/embed_model.h"
#include "services/embed/node_source.h"

namespace runnel::embedding {
namespace {

constexpr auto kDeviceMemory = static_cast<std::size_t>(kMaxMemory);

}  // namespace

Result<DryRun> dry_run(const compiler::EmbeddedProgram& program, const std::vector<pipeline::NodeText>& nodes,
                       std::size_t fast, const DryModel& model) {
  DryNodes parts;
  parts.nodes = nodes;
  parts.compiled = model.compiled;
  parts.output = model.tensor;
  parts.gives = model.gives;
  parts.search = model.search;
  parts.counters = model.counters;
  parts.cores = model.cores;
  parts.passes = model.passes;
  const DryNodesInUse held(parts);
  runnel_program dry;
  dry.name = program.name.c_str();
  dry.model = {reinterpret_cast<const unsigned char*>(program.model.data()), program.model.size()};
  dry.compiled = model.compiled != nullptr;
  if (!dry.compiled) dry.make_loader = embed::rom_loader;
  std::vector<embed::NamedModel> named;
  for (const compiler::EmbeddedProgram::Model& one : program.models)
    named.push_back(
        {one.name.c_str(), {reinterpret_cast<const unsigned char*>(one.file.data()), one.file.size()}});
  dry.models = named;
  if (!named.empty()) dry.make_loader = embed::rom_models_loader;
  dry.operators = dry_operators();
  dry.input = {.kind = pipeline::Kind::audio,
               .dtype = DType::float32,
               .channels = program.channels,
               .clock = {.sample_rate = program.sample_rate},
               .source = {},
               .labels = {}};
  dry.hop = program.hop;
  dry.make_nodes = make_dry_nodes;
  dry.stages = static_cast<int>(nodes.size());
  dry.features_stage = program.features_stage;
  dry.output_stage = program.output_stage;
  dry.plain_kernels = true;
  HeapMemory heap;
  auto* memory = heap.allocate(kDeviceMemory, RUNNEL_ALIGNMENT);
  auto* fast_memory = fast > 0 ? heap.allocate(fast, RUNNEL_ALIGNMENT) : nullptr;
  runnel_options options = {memory, kDeviceMemory, fast_memory, fast, nullptr, nullptr};
  runnel_node* node = nullptr;
  DryRun out;
  out.decisions.resize(nodes.size());
  out.search = model.search;
  for (const bool events : {false, true}) {
    dry.events = events;
    if (const runnel_code code = runnel_prepare(&dry, &options, &node); code != RUNNEL_OK) {
      return Status(code == RUNNEL_MISMATCH      ? Code::mismatch
                    : code == RUNNEL_UNSUPPORTED ? Code::unsupported
                                                 : Code::invalid_argument,
                    runnel_last_failure());
    }
    if (model.counters && embed::Measures::make(node->memory, 1 + dry.stages + (events ? 1 : 0)) == nullptr)
      return pipeline::out_of_memory("the figures of the nodes");
    const runnel_counters used = runnel_counters_of(node);
    out.memory_bytes = used.memory_used;
    if (program.features_stage >= 0) {
      const pipeline::Clock& clock = node->executor->format(1 + program.features_stage).clock;
      out.features = node->executor->format(1 + program.features_stage);
      out.output = node->executor->format(1 + program.output_stage);
      out.hop = std::clamp<std::int64_t>(clock.hop / clock.denominator, 1, 4096);
    }
    out.events = events;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].type == "detect")
        out.decisions[i] = pipeline::detector_source(
            static_cast<const pipeline::Detect*>(parts.made[i])->facts(), decision_name(i));
    }
    if (node->executor->format(static_cast<int>(nodes.size())).kind != pipeline::Kind::events) break;
  }
  return out;
}

}  // namespace runnel::embedding
