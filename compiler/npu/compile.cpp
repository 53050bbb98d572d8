#include "compiler/npu/compile.h"

#include <algorithm>
#include <set>

#include "compiler/npu/lowering.h"
#include "compiler/npu/partition.h"
#include "compiler/npu/stream_form.h"

namespace runnel::compiler::ethos_u {
namespace {

std::size_t bytes_of(const Tensor& tensor, const Dims& shape) {
  return size_of(tensor.dtype) * element_count(shape);
}
std::size_t bytes_of(const Tensor& tensor) { return bytes_of(tensor, tensor.shape); }

// A part that could not be compiled because of one of its nodes.
struct Refusal {
  int node = -1;
  std::string reason;
};

// How a part is stepped: numbers for the runtime (docs/delegates.md).
struct StepFacts {
  std::int64_t in_frames = 0, out_frames = 0, delay = 0;
  std::vector<std::int64_t> window, axes, states, masks;
};
struct CompiledPart {
  npu::CompiledProgram program;
  std::vector<std::int64_t> input_offsets, output_offsets, input_regions, output_regions;
  std::size_t copied_in = 0,
              copied_out = 0;  // bytes of inputs and outputs that do not lie where the CPU has them
  StepFacts steps;
};

class PartCompiler {
 public:
  // With a form the part is compiled for the blocks of a stream.
  PartCompiler(const Graph& graph, const Part& part, const Options& options, const StreamForm* form = nullptr)
      : graph_(graph),
        part_(part),
        form_(form),
        in_scratch_(options.borders_in_scratch),
        program_(options.program),
        lowering_(graph, program_, form) {}

  Result<CompiledPart> run(Refusal& refusal) {
    std::vector<Port> inputs, outputs;
    for (const TensorId id : part_.inputs) inputs.push_back(port(id, true));
    for (const TensorId id : part_.outputs) outputs.push_back(port(id, false));
    std::vector<const Node*> nodes;
    for (const int n : part_.nodes) nodes.push_back(&graph_.nodes[static_cast<std::size_t>(n)]);
    lowering_.plan_concatenations(
        nodes, [&](TensorId id) { return std::count(part_.inputs.begin(), part_.inputs.end(), id) > 0; });
    std::vector<std::pair<TensorId, npu::BufferId>> masks;
    for (const Port& input : inputs) {
      if (input.moved) RUNNEL_TRY(lowering_.copy(input.dense, input.own));
    }
    for (const int n : part_.nodes) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(n)];
      if (const Status status = lower(node, masks); !status.ok()) {
        refusal = {n, std::string(status.text())};
        return status;
      }
    }
    for (const Port& output : outputs) {
      if (output.moved) RUNNEL_TRY(lowering_.copy(output.own, output.dense));
    }
    if (form_ != nullptr) lowering_.step_histories();
    CompiledPart out;
    RUNNEL_ASSIGN(out.program, program_.finish());
    const auto offset = [&](npu::BufferId id) {
      return static_cast<std::int64_t>(out.program.offsets[static_cast<std::size_t>(id)]);
    };
    const auto note = [&](const std::vector<Port>& ports, std::vector<std::int64_t>& offsets,
                          std::vector<std::int64_t>& regions, std::size_t& copied) {
      for (const Port& port : ports) {
        offsets.push_back(offset(port.dense.place.buffer) + port.dense.place.offset);
        regions.push_back(out.program.regions[static_cast<std::size_t>(port.dense.place.buffer)]);
        if (regions.back() < npu::kFirstOwn) copied += bytes_of(*port.dense.tensor, port.dense.shape);
      }
    };
    note(inputs, out.input_offsets, out.input_regions, out.copied_in);
    note(outputs, out.output_offsets, out.output_regions, out.copied_out);
    if (form_ == nullptr) return out;
    const TensorId x = part_.inputs[0], y = part_.outputs[0];
    out.steps = {form_->frames(x),
                 form_->frames(y),
                 form_->delay(x),
                 form_->window(y).numbers(),
                 {form_->time_axis(x), form_->time_axis(y)},
                 {},
                 {}};
    for (const auto& [id, buffer] : lowering_.kept()) {
      const Tensor& tensor = graph_.tensors[static_cast<std::size_t>(id)];
      const Place& place = lowering_.place(id);
      const std::int64_t frame = place.strides[static_cast<std::size_t>(form_->time_axis(id))];
      out.steps.states.insert(out.steps.states.end(),
                              {offset(buffer), place.offset + form_->frames(id) * frame,
                               tensor.zero_points.empty() ? 0 : tensor.zero_points[0]});
    }
    for (const Lowering::Seen& one : lowering_.seen()) {
      masks.emplace_back(one.id, one.mask);
      out.steps.states.insert(
          out.steps.states.end(),
          {offset(one.kept), (form_->history(one.id) + form_->frames(one.id)) * one.frame, 0});
    }
    for (const auto& [id, buffer] : masks) {
      out.steps.masks.insert(out.steps.masks.end(), {offset(buffer), form_->frames(id), form_->delay(id)});
      const std::vector<std::int64_t> window = form_->window(id).numbers();
      out.steps.masks.insert(out.steps.masks.end(), window.begin(), window.end());
    }
    return out;
  }

 private:
  // Where a tensor is brought from outside or wanted outside; with a history that has gaps, another place
  // than its own.
  struct Port {
    Operand dense, own;
    bool moved = false;
  };
  Port port(TensorId id, bool input) {
    const Tensor& tensor = graph_.tensors[static_cast<std::size_t>(id)];
    const Dims shape = form_ == nullptr ? tensor.shape : form_->shape(id);
    Operand dense;
    dense.tensor = &tensor;
    dense.shape = shape;
    dense.place.strides = dense_strides(shape, size_of(tensor.dtype));
    if (form_ != nullptr && form_->history(id) > 0) {
      Operand own{&tensor, lowering_.place(id), shape};
      const auto axis = static_cast<std::size_t>(form_->time_axis(id));
      if (own.place.strides[axis] == dense.place.strides[axis]) return {own, own, false};
      dense.place.buffer = border(bytes_of(tensor, shape), input);
      return {dense, own, true};
    }
    dense.place.buffer = border(bytes_of(tensor, shape), input);
    lowering_.set_place(id, dense.place);
    return {dense, dense, false};
  }

  // The tensor itself, as long as there are regions and they are wanted; else scratch memory that it is
  // copied to or from.
  npu::BufferId border(std::size_t bytes, bool input) {
    using Lifetime = npu::Program::Lifetime;
    const npu::BufferId own = in_scratch_ ? npu::kNoBuffer : program_.own_region();
    return own != npu::kNoBuffer ? own
                                 : program_.buffer(bytes, input ? Lifetime::from_begin : Lifetime::to_end);
  }

  Status lower(const Node& node, std::vector<std::pair<TensorId, npu::BufferId>>& masks) {
    RUNNEL_TRY(lowering_.lower(node));
    for (const TensorId id : node.outputs) {
      if (form_ == nullptr || id < 0 || !form_->masked(id)) continue;
      if (graph_.tensors[static_cast<std::size_t>(id)].dtype != DType::int8)
        return Status(Code::unsupported) << "frames of int16 before a window that pads time";
      masks.emplace_back(id, program_.buffer(static_cast<std::size_t>(form_->frames(id)),
                                             npu::Program::Lifetime::from_begin));
      RUNNEL_TRY(lowering_.mask(id, masks.back().second));
    }
    return {};
  }

  const Graph& graph_;
  const Part& part_;
  const StreamForm* form_;
  bool in_scratch_;
  npu::Program program_;
  Lowering lowering_;
};

// The graph with segments in the place of their nodes.
class Rewriter {
 public:
  Rewriter(const Graph& graph, const Options& options) : graph_(graph), options_(options) {
    graph_.nodes.clear();
  }

  void keep(const Node& node) { graph_.nodes.push_back(node); }
  // `block`: the part for the blocks of a stream; null: there is none.
  void segment(const Part& part, CompiledPart&& compiled, CompiledPart* block) {
    Node node;
    node.name = "ethos-u " + std::to_string(count_++);
    node.code = OpCode::delegate;
    DelegateOptions options;
    options.kind = "ethos-u";
    options.attributes = {{"target", std::string(options_.program.accelerator->name)},
                          {"memory_mode", std::string(options_.program.mode->name)},
                          {"system_config", std::string(options_.program.system->name)}};
    add(node, options, "", std::move(compiled));
    if (block != nullptr) {
      const StepFacts& steps = block->steps;
      options.attributes.push_back({"stream_window", steps.window});
      options.attributes.push_back({"stream_axes", steps.axes});
      options.attributes.push_back(
          {"block_frames", std::vector<std::int64_t>{steps.in_frames, steps.out_frames, steps.delay}});
      if (!steps.states.empty()) options.attributes.push_back({"block_states", steps.states});
      if (!steps.masks.empty()) options.attributes.push_back({"block_masks", steps.masks});
      add(node, options, "block_", std::move(*block));
    }
    node.inputs.insert(node.inputs.end(), part.inputs.begin(), part.inputs.end());
    node.outputs = part.outputs;
    node.options = std::move(options);
    graph_.nodes.push_back(std::move(node));
  }
  Graph take() { return std::move(graph_); }

 private:
  // One program: parts and attributes, whose names begin with `prefix`.
  void add(Node& node, DelegateOptions& options, const std::string& prefix, CompiledPart&& compiled) {
    const auto part = [&](const char* name, std::vector<std::byte> bytes) {
      if (bytes.empty()) return;
      options.parts.push_back(prefix + name);
      node.inputs.push_back(constant(node.name + "/" + prefix + name, std::move(bytes)));
    };
    part("command_stream", std::move(compiled.program.payload));
    part("weights", std::move(compiled.program.constants));
    const auto bytes = [](std::size_t value) {
      return std::vector<std::int64_t>{static_cast<std::int64_t>(value)};
    };
    options.attributes.push_back({prefix + "scratch_bytes", bytes(compiled.program.scratch)});
    options.attributes.push_back({prefix + "fast_scratch_bytes", bytes(compiled.program.fast_scratch)});
    options.attributes.push_back({prefix + "input_offsets", compiled.input_offsets});
    options.attributes.push_back({prefix + "output_offsets", compiled.output_offsets});
    options.attributes.push_back({prefix + "input_regions", compiled.input_regions});
    options.attributes.push_back({prefix + "output_regions", compiled.output_regions});
  }
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

CompiledGraph assemble(const Graph& graph, const Options& options, const Partition& partition,
                       std::vector<CompiledPart>& compiled, std::vector<CompiledPart>& blocks) {
  CompiledGraph out;
  Rewriter rewriter(graph, options);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    out.nodes.push_back({name_of(graph, node), operator_name(node), partition.reasons[n],
                         partition.part_of[n], multiply_adds(graph, node)});
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
    SegmentReport report{own.program.operations.size(),
                         own.program.constants.size(),
                         own.program.scratch,
                         own.program.fast_scratch,
                         own.copied_in,
                         own.copied_out,
                         0,
                         0,
                         0,
                         0};
    for (const TensorId id : part.inputs)
      report.border_in += bytes_of(graph.tensors[static_cast<std::size_t>(id)]);
    for (const TensorId id : part.outputs)
      report.border_out += bytes_of(graph.tensors[static_cast<std::size_t>(id)]);
    if (!blocks.empty()) {
      report.block_copied_in = blocks[static_cast<std::size_t>(p)].copied_in;
      report.block_copied_out = blocks[static_cast<std::size_t>(p)].copied_out;
    }
    out.segments.push_back(report);
    rewriter.segment(part, std::move(own), blocks.empty() ? nullptr : &blocks[static_cast<std::size_t>(p)]);
  }
  out.graph = rewriter.take();
  return out;
}

// Whether time is before everything else in all streams that a node reads and writes.
bool frames_lie_together(const Graph& graph, const GraphStreams& streams, const Node& node) {
  for (const auto* const tensors : {&node.inputs, &node.outputs}) {
    for (const TensorId id : *tensors) {
      if (id < 0 || graph.tensors[static_cast<std::size_t>(id)].data) continue;
      const Dims& shape = graph.tensors[static_cast<std::size_t>(id)].shape;
      for (int axis = 0; axis < streams.tensor(id).time_axis; ++axis) {
        if (shape[static_cast<std::size_t>(axis)] != 1) return false;
      }
    }
  }
  return true;
}

}  // namespace

Result<CompiledGraph> compile(const Graph& graph, const Options& given) {
  if (given.program.accelerator == nullptr) return Status(Code::invalid_argument, "no accelerator");
  Options options = given;
  options.program = npu::Program(given.program).options();
  std::map<int, std::string> refused;
  std::shared_ptr<const GraphStreams> streams;
  std::int64_t block = 0;
  if (options.block != Options::kWholeClips) {
    RUNNEL_ASSIGN(streams, GraphStreams::make(graph));
    block = options.block == Options::kSmallestBlock ? streams->block_multiple() : options.block;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (!frames_lie_together(graph, *streams, graph.nodes[n]))
        refused[static_cast<int>(n)] = "frames of a stream that do not lie after each other";
    }
  }
  // Each round either ends or takes one node back to the CPU.
  for (;;) {
    const Partition parts = partition(graph, options, refused);
    if (parts.parts.empty()) {
      Status status(Code::unsupported);
      status << "no operator can be computed by " << options.program.accelerator->name;
      for (std::size_t n = 0; n < graph.nodes.size(); ++n)
        status << (n == 0 ? ": " : "; ") << name_of(graph, graph.nodes[n]) << ": " << parts.reasons[n];
      return status;
    }
    std::vector<CompiledPart> compiled, blocks;
    Refusal refusal;
    const auto add = [&](const Part& part, const StreamForm* form, std::vector<CompiledPart>& to) -> Status {
      RUNNEL_ASSIGN(CompiledPart one, PartCompiler(graph, part, options, form).run(refusal));
      to.push_back(std::move(one));
      return {};
    };
    Status status;
    for (const Part& part : parts.parts) {
      status = add(part, nullptr, compiled);
      if (status.ok() && streams != nullptr) {
        RUNNEL_ASSIGN(const auto form, StreamForm::make(graph, streams, part, block));
        status = add(part, form.get(), blocks);
      }
      if (!status.ok()) break;
    }
    if (status.ok()) {
      CompiledGraph out = assemble(graph, options, parts, compiled, blocks);
      out.block = block;
      return out;
    }
    if (refusal.node < 0) return status;
    refused[refusal.node] = refusal.reason;
  }
}

}  // namespace runnel::compiler::ethos_u
