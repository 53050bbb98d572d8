#include "compiler/npu/stream_form.h"

#include <algorithm>
#include <cstring>

#include "compiler/ir/numbering.h"
#include "compiler/write/writer.h"
#include "streaming/plan.h"

namespace runnel::compiler::ethos_u {
namespace {

// Attention, seen from its outputs: the keys around each frame.
streaming::NodeRule window_of(const streaming::NodeRule& attention) {
  streaming::NodeRule rule;
  rule.kind = streaming::Kind::window;
  rule.left = attention.left;
  rule.right = attention.right;
  rule.kernel = rule.left + 1 + rule.right;
  return rule;
}

// A node's window, combined with those before it.
StreamWindow after(const StreamWindow& front, const streaming::NodeRule& rule) {
  if (rule.kind != streaming::Kind::window) return front;
  return {front.kernel + (rule.extent() - 1) * front.stride, front.stride * rule.stride,
          front.left + rule.left * front.stride, front.right + rule.right * front.stride};
}

// Two branches of one rate that meet.
StreamWindow joined(const StreamWindow& a, const StreamWindow& b) {
  StreamWindow out;
  out.stride = a.stride;
  out.left = std::max(a.left, b.left);
  out.kernel = out.left + std::max(a.kernel - a.left, b.kernel - b.left);
  out.right = out.kernel - out.left + (a.left + a.right - a.kernel);
  return out;
}

std::int64_t length_of(const StreamWindow& window, std::int64_t frames) {
  streaming::NodeRule rule;
  rule.kind = streaming::Kind::window;
  rule.kernel = window.kernel;
  rule.stride = window.stride;
  rule.left = window.left;
  rule.right = window.right;
  return streaming::output_length(rule, frames);
}

}  // namespace

Result<std::shared_ptr<const GraphStreams>> GraphStreams::make(const Graph& graph) {
  auto out = std::make_shared<GraphStreams>();
  Numbering numbering(graph);
  RUNNEL_TRY(numbering.number());
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, graph_bytes(graph, numbering));
  auto* const memory = static_cast<std::byte*>(out->memory_.allocate(bytes.size(), 64));
  std::memcpy(memory, bytes.data(), bytes.size());
  RUNNEL_ASSIGN(Model model, Model::open({memory, bytes.size()}));
  out->model_ = std::make_unique<Model>(std::move(model));
  for (std::size_t id = 0; id < graph.tensors.size(); ++id)
    out->index_.push_back(numbering.of(static_cast<TensorId>(id)));
  const auto count = static_cast<std::size_t>(out->model_->tensor_count());
  out->tensors_.resize(count);
  out->steps_.resize(graph.nodes.size());
  std::vector<std::int64_t> lengths(count);
  std::vector<std::int8_t> axes;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    axes.push_back(static_cast<std::int8_t>(i < graph.time_axes.size() ? graph.time_axes[i] : -1));
  RUNNEL_TRY(
      plan_streams(*out->model_, all_operators(), axes, out->tensors_, out->steps_, lengths, out->multiple_));
  return std::shared_ptr<const GraphStreams>(std::move(out));
}

std::vector<std::int64_t> GraphStreams::lengths(std::int64_t source) const {
  std::vector<std::int64_t> lengths(tensors_.size());
  plan_lengths(*model_, tensors_, steps_, source, lengths);
  return lengths;
}

Result<std::unique_ptr<StreamForm>> StreamForm::make(const Graph& graph,
                                                     std::shared_ptr<const GraphStreams> streams,
                                                     const Part& part, std::int64_t block) {
  if (part.inputs.size() != 1 || part.outputs.size() != 1) {
    return Status(Code::unsupported) << "a segment of " << part.inputs.size() << " inputs and "
                                     << part.outputs.size() << " outputs, expected one stream in and one out";
  }
  if (block % streams->block_multiple() != 0)
    return Status(Code::invalid_argument)
           << "blocks of " << block << " frames, expected a multiple of " << streams->block_multiple();
  auto out = std::unique_ptr<StreamForm>(new StreamForm(graph));
  out->streams_ = std::move(streams);
  out->block_ = block;
  out->tensors_.resize(graph.tensors.size());
  const auto begin = [&](TensorId id) {
    const StreamTensor& stream = out->streams_->tensor(id);
    OwnTensor& own = out->tensors_[static_cast<std::size_t>(id)];
    own.axis = stream.time_axis;
    own.frames = streaming::frames_per_block(stream.stream, block);
    return stream.time_axis >= 0;
  };
  if (!begin(part.inputs[0])) return Status(Code::unsupported) << "a segment that is no stream";
  for (const int n : part.nodes) {
    const Node& node = graph.nodes[static_cast<std::size_t>(n)];
    for (const TensorId id : node.outputs) {
      if (id >= 0 && !begin(id))
        return Status(Code::unsupported) << "\"" << name_of(graph, node) << "\" does not follow the stream";
    }
    RUNNEL_TRY(out->add(static_cast<std::size_t>(n)));
  }
  RUNNEL_TRY(out->check(part));
  return out;
}

// Windows, histories and masks that come with one node.
Status StreamForm::add(std::size_t n) {
  const Node& node = graph_.nodes[n];
  const StreamStep& step = streams_->step(n);
  const streaming::NodeRule& rule = step.rule;
  const auto refuse = [&] { return Status(Code::unsupported) << "\"" << name_of(graph_, node) << "\": "; };
  if (rule.kind != streaming::Kind::window && rule.kind != streaming::Kind::pointwise &&
      rule.kind != streaming::Kind::attention)
    return refuse() << "the NPU steps windows and what goes frame by frame only";
  if (rule.kind == streaming::Kind::window && node.code != OpCode::conv &&
      node.code != OpCode::average_pool && node.code != OpCode::max_pool) {
    return refuse() << "it moves frames along time";
  }
  if (rule.padding == streaming::Padding::skipped && (rule.left > 0 || rule.right > 0))
    return refuse() << "it pools over padding in time";
  const TensorId y = node.outputs[0];
  bool first = true;
  StreamWindow front;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId id = node.inputs[i];
    if (id < 0 || at(id).axis < 0) continue;
    OwnTensor& x = tensors_[static_cast<std::size_t>(id)];
    const std::int64_t from = delay(id), to = delay(y);
    x.history = std::max(x.history, step.back_frames(static_cast<int>(i), from, to));
    // After a delay frames before the first one are computed, and after the last one too; those also
    // where a recording ends inside a block.
    const bool reads_padding = rule.padding == streaming::Padding::zero_point &&
                               (rule.extent() > 1 || rule.left > 0 || rule.right > 0);
    x.masked = x.masked || (reads_padding && (from > 0 || to > 0 || rule.right > 0));
    front = first ? x.window : joined(front, x.window);
    first = false;
  }
  const bool attends = rule.kind == streaming::Kind::attention;
  const StreamWindow whole = after(front, attends ? window_of(rule) : rule);
  for (const TensorId id : node.outputs) {
    if (id >= 0) tensors_[static_cast<std::size_t>(id)].window = whole;
  }
  return {};
}

// The part seen as one window has the delay and the lengths that its nodes have.
Status StreamForm::check(const Part& part) const {
  const TensorId x = part.inputs[0], y = part.outputs[0];
  const auto refuse = [] {
    return Status(Code::unsupported, "its windows are no single one when they are joined: ");
  };
  streaming::NodeRule rule;
  rule.kind = streaming::Kind::window;
  const StreamWindow& window = at(y).window;
  rule.kernel = window.kernel;
  rule.stride = window.stride;
  rule.left = window.left;
  rule.right = window.right;
  RUNNEL_ASSIGN(const streaming::NodePlan plan, streaming::plan_node(rule, streams_->tensor(x).stream));
  if (plan.output != streams_->tensor(y).stream)
    return refuse() << "a delay of " << plan.output.delay << " frames, expected " << delay(y);
  constexpr std::int64_t kMore = 64;
  for (std::int64_t source = 1; source < 2 * window.kernel + kMore; ++source) {
    const std::vector<std::int64_t> lengths = streams_->lengths(source);
    const std::int64_t frames = streams_->length(lengths, x);
    for (const int n : part.nodes) {
      for (const TensorId id : graph_.nodes[static_cast<std::size_t>(n)].outputs) {
        if (id < 0 || (id != y && !masked(id))) continue;
        const std::int64_t found = length_of(at(id).window, frames), expected = streams_->length(lengths, id);
        if (found != expected)
          return refuse() << found << " frames of " << graph_.tensors[static_cast<std::size_t>(id)].name
                          << ", expected " << expected;
      }
    }
  }
  return {};
}

Dims StreamForm::shape(TensorId id) const {
  Dims shape = graph_.tensors[static_cast<std::size_t>(id)].shape;
  if (at(id).axis >= 0)
    shape[static_cast<std::size_t>(at(id).axis)] = static_cast<std::int32_t>(at(id).frames);
  return shape;
}

void StreamForm::adapt_input(const Node& node, std::size_t position, Operand& operand) const {
  const TensorId x = node.inputs[position], y = node.outputs[0];
  if (at(x).axis < 0) return;
  const streaming::NodeRule& rule = streams_->step(index_of(node)).rule;
  const auto axis = static_cast<std::size_t>(at(x).axis);
  operand.place.offset -= back_frames(node, position) * operand.place.strides[axis];
  const std::int64_t frames =
      rule.kind == streaming::Kind::window ? (at(y).frames - 1) * rule.stride + rule.extent()
      : rule.kind == streaming::Kind::attention && position > 0 ? rule.left + at(y).frames + rule.right
                                                                : at(y).frames;
  // Reshapes may put frames together.
  if (node.code != OpCode::reshape) operand.shape[axis] = static_cast<std::int32_t>(frames);
}

std::int64_t StreamForm::back_frames(const Node& node, std::size_t position) const {
  return streams_->step(index_of(node))
      .back_frames(static_cast<int>(position), delay(node.inputs[position]), delay(node.outputs[0]));
}

void StreamForm::adapt_window(const Node& node, Window& window) const {
  const TensorId x = node.inputs[0];
  const auto rank = static_cast<int>(graph_.tensors[static_cast<std::size_t>(x)].shape.size());
  (at(x).axis == rank - 2 ? window.columns : window.rows).pad = 0;
}

}  // namespace runnel::compiler::ethos_u
