#include "compiler/npu/compile.h"

#include <algorithm>
#include <set>

#include "compiler/npu/lowering.h"
#include "compiler/npu/partition.h"

namespace runnel::compiler::ethos_u {
namespace {

std::size_t bytes_of(const Tensor& tensor) {
  std::size_t bytes = size_of(tensor.dtype);
  for (const std::int32_t size : tensor.shape) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

// A part that could not be compiled because of one of its nodes.
struct Refusal {
  int node = -1;
  std::string reason;
};

struct CompiledPart {
  npu::CompiledProgram program;
  std::vector<std::int64_t> input_offsets, output_offsets;
};

class PartCompiler {
 public:
  PartCompiler(const Graph& graph, const Part& part, const Options& options) : graph_(graph), part_(part), program_(options.program), lowering_(graph, program_) {}

  Result<CompiledPart> run(Refusal& refusal) {
    using Lifetime = npu::Program::Lifetime;
    std::vector<npu::BufferId> inputs, outputs;
    for (const TensorId id : part_.inputs) inputs.push_back(port(id, Lifetime::from_begin));
    for (const TensorId id : part_.outputs) outputs.push_back(port(id, Lifetime::to_end));
    std::vector<const Node*> nodes;
    for (const int n : part_.nodes) nodes.push_back(&graph_.nodes[static_cast<std::size_t>(n)]);
    lowering_.plan_concatenations(nodes, [&](TensorId id) { return std::count(part_.inputs.begin(), part_.inputs.end(), id) > 0; });
    for (const int n : part_.nodes) {
      const Status status = lowering_.lower(graph_.nodes[static_cast<std::size_t>(n)]);
      if (status.ok()) continue;
      refusal = {n, std::string(status.text())};
      return status;
    }
    CompiledPart out;
    RUNNEL_ASSIGN(out.program, program_.finish());
    for (const npu::BufferId id : inputs) out.input_offsets.push_back(static_cast<std::int64_t>(out.program.offsets[static_cast<std::size_t>(id)]));
    for (const npu::BufferId id : outputs) out.output_offsets.push_back(static_cast<std::int64_t>(out.program.offsets[static_cast<std::size_t>(id)]));
    return out;
  }

 private:
  npu::BufferId port(TensorId id, npu::Program::Lifetime lifetime) {
    const Tensor& tensor = graph_.tensors[static_cast<std::size_t>(id)];
    const npu::BufferId buffer = program_.buffer(bytes_of(tensor), lifetime);
    lowering_.set_place(id, {buffer, 0, dense_strides(tensor.shape, size_of(tensor.dtype))});
    return buffer;
  }

  const Graph& graph_;
  const Part& part_;
  npu::Program program_;
  Lowering lowering_;
};

// The graph with segments in the place of their nodes.
class Rewriter {
 public:
  Rewriter(const Graph& graph, const Options& options) : graph_(graph), options_(options) { graph_.nodes.clear(); }

  void keep(const Node& node) { graph_.nodes.push_back(node); }
  void segment(const Part& part, CompiledPart&& compiled) {
    Node node;
    node.name = "ethos-u " + std::to_string(count_++);
    node.code = fb::OpCode::delegate;
    DelegateOptions options;
    options.kind = "ethos-u";
    const auto add_part = [&](const char* name, std::vector<std::byte> bytes) {
      if (bytes.empty()) return;
      options.parts.emplace_back(name);
      node.inputs.push_back(constant(node.name + "/" + name, std::move(bytes)));
    };
    add_part("command_stream", std::move(compiled.program.payload));
    add_part("weights", std::move(compiled.program.constants));
    node.inputs.insert(node.inputs.end(), part.inputs.begin(), part.inputs.end());
    node.outputs = part.outputs;
    const auto bytes = [](std::size_t value) { return std::vector<std::int64_t>{static_cast<std::int64_t>(value)}; };
    options.attributes = {{"scratch_bytes", bytes(compiled.program.scratch)},
                          {"fast_scratch_bytes", bytes(compiled.program.fast_scratch)},
                          {"input_offsets", compiled.input_offsets},
                          {"output_offsets", compiled.output_offsets},
                          {"target", std::string(options_.program.accelerator->name)},
                          {"memory_mode", std::string(npu::name_of(options_.program.mode))},
                          {"system_config", options_.system}};
    node.options = std::move(options);
    graph_.nodes.push_back(std::move(node));
  }
  Graph take() { return std::move(graph_); }

 private:
  TensorId constant(const std::string& name, std::vector<std::byte> bytes) {
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = DType::uint8;
    tensor.shape = {static_cast<std::int32_t>(bytes.size())};
    tensor.data = std::move(bytes);
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }

  Graph graph_;
  const Options& options_;
  int count_ = 0;
};

Result<CompiledGraph> assemble(const Graph& graph, const Options& options, const Partition& partition, std::vector<CompiledPart>& compiled) {
  CompiledGraph out;
  Rewriter rewriter(graph, options);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    out.nodes.push_back({name_of(graph, node), operator_name(node), partition.reasons[n], partition.part_of[n], multiply_adds(graph, node)});
  }
  std::vector<bool> done(partition.parts.size());
  for (const int n : partition.order) {
    const int p = partition.part_of[static_cast<std::size_t>(n)];
    if (p < 0) {
      rewriter.keep(graph.nodes[static_cast<std::size_t>(n)]);
      continue;
    }
    if (done[static_cast<std::size_t>(p)]) continue;
    done[static_cast<std::size_t>(p)] = true;
    const Part& part = partition.parts[static_cast<std::size_t>(p)];
    CompiledPart& own = compiled[static_cast<std::size_t>(p)];
    SegmentReport report{own.program.operations.size(), own.program.constants.size(), own.program.scratch, own.program.fast_scratch, 0, 0};
    for (const TensorId id : part.inputs) report.copied_in += bytes_of(graph.tensors[static_cast<std::size_t>(id)]);
    for (const TensorId id : part.outputs) report.copied_out += bytes_of(graph.tensors[static_cast<std::size_t>(id)]);
    out.segments.push_back(report);
    rewriter.segment(part, std::move(own));
  }
  out.graph = rewriter.take();
  return out;
}

}  // namespace

Result<CompiledGraph> compile(const Graph& graph, const Options& options) {
  if (options.program.accelerator == nullptr || options.program.accelerator->product == npu::Product::u85) return Status(Code::unsupported, "compiles for Ethos-U55 and U65 only");
  std::map<int, std::string> refused;
  // Each round either ends or takes one node back to the CPU.
  for (;;) {
    const Partition parts = partition(graph, options, refused);
    if (parts.parts.empty()) {
      Status status(Code::unsupported);
      status << "no operator can be computed by " << options.program.accelerator->name;
      for (std::size_t n = 0; n < graph.nodes.size(); ++n) status << (n == 0 ? ": " : "; ") << name_of(graph, graph.nodes[n]) << ": " << parts.reasons[n];
      return status;
    }
    std::vector<CompiledPart> compiled;
    Refusal refusal;
    for (const Part& part : parts.parts) {
      auto one = PartCompiler(graph, part, options).run(refusal);
      if (!one.ok() && refusal.node < 0) return one.status();
      if (!one.ok()) break;
      compiled.push_back(*std::move(one));
    }
    if (refusal.node < 0) return assemble(graph, options, parts, compiled);
    refused[refusal.node] = refusal.reason;
  }
}

}  // namespace runnel::compiler::ethos_u
