#include "compiler/write/pte/writer.h"

#include <algorithm>

#include "compiler/write/ethos_u_segment.h"
#include "compiler/write/pte/draft.h"
#include "compiler/write/pte/kernels.h"
#include "npu/host/vela_stream.h"

namespace runnel::compiler {
namespace pte_source {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr std::size_t kPayloadAlignment = 16;

struct Payload {
  std::vector<std::byte> bytes;
  std::string target, flags;
};

Result<npu::VelaTensor> border(const Node& node, const Tensor& tensor, std::size_t offset) {
  npu::VelaTensor out;
  if (tensor.shape.size() > out.shape.size())
    return Status(Code::unsupported) << "\"" << node.name << "\": tensor \"" << tensor.name << "\" has "
                                     << tensor.shape.size() << " axes, expected at most " << out.shape.size();
  out.shape.fill(1);
  std::copy_backward(tensor.shape.begin(), tensor.shape.end(), out.shape.end());
  out.element = static_cast<std::int32_t>(size_of(tensor.dtype));
  out.offset = static_cast<std::int32_t>(offset);
  out.region = 1;
  return out;
}

Result<Payload> payload_of(const Graph& graph, const Node& node, const EthosUSegment& segment) {
  if (segment.fast_scratch > 0)
    return Status(Code::unsupported) << "\"" << node.name << "\": it has fast scratch memory of "
                                     << segment.fast_scratch
                                     << " bytes, which ExecuTorch's payload does not state; compile for "
                                        "--memory-mode Shared_Sram or Sram_Only";
  npu::VelaStream stream;
  const std::vector<std::byte> nothing(kPayloadAlignment);
  stream.commands = segment.commands;
  stream.weights = segment.weights.empty() ? std::span(nothing) : segment.weights;
  stream.scratch = static_cast<std::uint32_t>(std::max(segment.scratch, kPayloadAlignment));
  const auto add = [&](std::span<const TensorId> ids, const std::vector<std::size_t>& offsets,
                       std::vector<npu::VelaTensor>& to) -> Status {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      RUNNEL_ASSIGN(const npu::VelaTensor made,
                    border(node, graph.tensors[static_cast<std::size_t>(ids[i])], offsets[i]));
      to.push_back(made);
    }
    return {};
  };
  RUNNEL_TRY(add(segment.inputs, segment.in_offsets, stream.inputs));
  RUNNEL_TRY(add(segment.outputs, segment.out_offsets, stream.outputs));
  return Payload{npu::write_vela_stream(stream), segment.target,
                 "--accelerator-config=" + segment.target + " --output-format=raw --system-config=" +
                     segment.system + " --memory-mode=" + segment.memory_mode};
}

Offset<pte::CompileSpec> spec(FlatBufferBuilder& to, const char* key, const std::string& value) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(value.data());
  return pte::CreateCompileSpec(to, to.CreateString(key), to.CreateVector(bytes, value.size()));
}

// "[1, {...}]": how Python's pytree flattens a tuple of tensors, for ExecuTorch's Python API.
std::string tree_of(std::size_t leaves, bool call) {
  const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
  std::string list;
  for (std::size_t i = 0; i < leaves; ++i) list += (i == 0 ? "" : ", ") + leaf;
  const std::string tuple = R"({"type": "builtins.tuple", "context": "null", "children_spec": [)";
  if (!call) return "[1, " + (leaves == 1 ? leaf : tuple + list + "]}") + "]";
  return "[1, " + tuple + tuple + list +
         R"(]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}])";
}

Result<WrittenPte> write(const Graph& graph) {
  Draft draft;
  std::vector<Payload> payloads;
  std::vector<std::int32_t> inputs, outputs;
  for (const TensorId id : graph.inputs) inputs.push_back(draft.tensor(graph, id));
  for (const Node& node : graph.nodes) {
    if (!is_ethos_u(node)) {
      RUNNEL_TRY(add_kernel(draft, graph, node));
      continue;
    }
    RUNNEL_ASSIGN(const EthosUSegment segment, read_segment(graph, node));
    RUNNEL_ASSIGN(Payload payload, payload_of(graph, node, segment));
    std::vector<std::int32_t> operands;
    for (const auto& ids : {segment.inputs, segment.outputs}) {
      for (const TensorId id : ids) {
        if (graph.tensors[static_cast<std::size_t>(id)].data)
          return Status(Code::unsupported) << "\"" << node.name << "\": an input that is a constant";
        operands.push_back(draft.tensor(graph, id));
      }
    }
    draft.call_delegate(static_cast<std::int32_t>(payloads.size()), std::move(operands));
    payloads.push_back(std::move(payload));
  }
  for (const TensorId id : graph.outputs) outputs.push_back(draft.tensor(graph, id));
  if (payloads.empty()) return Status(Code::unsupported) << "no segment for an Ethos-U in the graph";

  FlatBufferBuilder to;
  std::vector<Offset<pte::DelegateInlineData>> data;
  std::vector<Offset<pte::Delegate>> delegates;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    to.ForceVectorAlignment(payloads[i].bytes.size(), 1, kPayloadAlignment);
    data.push_back(pte::CreateDelegateInlineData(
        to, to.CreateVector(reinterpret_cast<const std::uint8_t*>(payloads[i].bytes.data()),
                            payloads[i].bytes.size())));
    const std::vector<Offset<pte::CompileSpec>> specs = {spec(to, "compile_flags", payloads[i].flags),
                                                         spec(to, "output_format", "vela"),
                                                         spec(to, "target", payloads[i].target)};
    delegates.push_back(pte::CreateDelegate(
        to, to.CreateString("EthosUBackend"),
        pte::CreateDelegateDataReference(to, 0, static_cast<std::uint32_t>(i)), to.CreateVector(specs)));
  }
  RUNNEL_ASSIGN(const Draft::Plan plan, draft.write(to, inputs, outputs));
  const std::vector<std::int32_t> none;
  const std::vector<Offset<pte::Chain>> chains = {
      pte::CreateChain(to, to.CreateVector(none), to.CreateVector(none), to.CreateVector(plan.instructions))};
  const auto meta = pte::CreateContainerMetadata(to, to.CreateString(tree_of(inputs.size(), true)),
                                                 to.CreateString(tree_of(outputs.size(), false)));
  const std::vector<std::int64_t> sizes = {0, static_cast<std::int64_t>(plan.memory)};
  const std::vector<Offset<pte::ExecutionPlan>> plans = {pte::CreateExecutionPlan(
      to, to.CreateString("forward"), meta, to.CreateVector(plan.values), to.CreateVector(inputs),
      to.CreateVector(outputs), to.CreateVector(chains), to.CreateVector(plan.operators),
      to.CreateVector(delegates), to.CreateVector(sizes))};
  // No constants: the one entry is that of tensors without data, as ExecuTorch's own writer has it.
  const std::vector<std::uint64_t> offsets = {0};
  const auto constants = pte::CreateSubsegmentOffsets(to, 0, to.CreateVector(offsets));
  const std::vector<Offset<pte::DataSegment>> segments = {pte::CreateDataSegment(to, 0, 0)};
  const std::vector<Offset<pte::Buffer>> buffers;
  pte::FinishProgramBuffer(
      to, pte::CreateProgram(to, 0, to.CreateVector(plans), to.CreateVector(buffers), to.CreateVector(data),
                             to.CreateVector(segments), constants));
  const auto* const bytes = reinterpret_cast<const std::byte*>(to.GetBufferPointer());
  return WrittenPte{std::vector(bytes, bytes + to.GetSize()), plan.memory};
}

}  // namespace
}  // namespace pte_source

Result<WrittenPte> write_pte(const Graph& graph) { return pte_source::write(graph); }

}  // namespace runnel::compiler
