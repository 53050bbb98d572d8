#include "inference/host/event_driven.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "base/checked.h"
#include "inference/frames.h"
#include "inference/plan/stream_plan.h"
#include "streaming/certainty.h"

namespace runnel {

// The frames of a tensor that some reader may still need.
struct EventDriven::Queue {
  std::size_t frame_bytes = 0;
  std::deque<std::vector<std::byte>> frames;
  std::int64_t base = 0;      // logical index of the first frame kept
  std::int64_t received = 0;  // frames so far
  std::int64_t length = kEndless;
  bool stream = false;
};

// One operator, bound to compute a single frame from the smallest window.
struct EventDriven::Node final : PrepareContext {
  const Model* graph = nullptr;
  const fb::Operator* node = nullptr;
  Isa level = Isa::reference;
  HeapMemory* heap = nullptr;
  StreamStep step;
  std::vector<StreamTensor> streams;
  const BoundOperator* bound = nullptr;
  std::size_t scratch_bytes = 0, state_bytes = 0;
  std::vector<std::byte> scratch, state;
  std::vector<std::vector<std::byte>> windows;  // per input
  std::vector<std::byte*> data;                 // per tensor of the graph
  std::vector<FrameIndex> index;
  std::int64_t next = 0;  // next output frame

  // Upsampling computes all outputs that are new with one more input, `context` older ones before it,
  // and takes one of them.
  [[nodiscard]] bool upsamples() const noexcept { return step.rule.kind == streaming::Kind::upsample; }
  [[nodiscard]] std::int64_t back_frames() const noexcept { return upsamples() ? step.context : 0; }
  [[nodiscard]] std::int64_t window_frames() const noexcept {
    if (step.rule.kind == streaming::Kind::attention)
      return step.rule.left + step.rule.chunk + step.rule.right;
    return step.rule.kind == streaming::Kind::window ? step.rule.extent() : 1 + back_frames();
  }
  [[nodiscard]] std::int64_t output_frames() const noexcept { return upsamples() ? step.rule.stride : 1; }
  // For output j: the first input frame of the window, and which of the outputs it is.
  struct Place {
    std::int64_t first = 0, output = 0;
  };
  [[nodiscard]] Place place(std::int64_t j) const noexcept {
    const streaming::NodeRule& rule = step.rule;
    if (!upsamples()) return {streaming::oldest(rule, j), 0};
    const std::int64_t late = streaming::certainty(rule), m = j + rule.left;
    const std::int64_t output = m + late - rule.stride * floor_div(m + late, rule.stride);
    return {floor_div(m, rule.stride) - floor_div(output - late, rule.stride) - step.context, output};
  }

  const Model& model() const noexcept override { return *graph; }
  const fb::Operator& op() const noexcept override { return *node; }
  Isa isa() const noexcept override { return level; }
  Memory& memory() const noexcept override { return *heap; }
  Shape shape(int tensor) const noexcept override {
    Shape shape = graph->tensor(tensor).shape;
    const int axis = streams[static_cast<std::size_t>(tensor)].time_axis;
    const auto& outputs = *node->outputs();
    const bool is_output = std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
    if (axis >= 0)
      shape[axis] = static_cast<std::int32_t>(is_output     ? output_frames()
                                              : upsamples() ? 1
                                                            : window_frames());
    return shape;
  }
  int time_axis(int tensor) const noexcept override {
    return streams[static_cast<std::size_t>(tensor)].time_axis;
  }
  bool streamed() const noexcept override { return true; }
  bool windows_apart() const noexcept override { return true; }
  TimeWindow window(int position) const noexcept override {
    TimeWindow window;
    window.frames = window_frames();
    window.back_frames = back_frames();
    const std::int32_t tensor = node->inputs()->Get(static_cast<std::uint32_t>(position));
    if (window.back_frames == 0 || tensor < 0 || time_axis(tensor) < 0) return window;
    const TensorView view = graph->tensor(tensor);
    window.back_bytes =
        window.back_frames *
        static_cast<std::int64_t>(view.bytes() / static_cast<std::size_t>(view.shape[time_axis(tensor)]));
    return window;
  }
  void request_scratch(std::size_t bytes) noexcept override {
    scratch_bytes = std::max(scratch_bytes, bytes);
  }
  std::size_t request_state(std::size_t bytes) noexcept override {
    const std::size_t offset = (state_bytes + 15) / 16 * 16;
    state_bytes = offset + bytes;
    return offset;
  }
  void use_frame_index() noexcept override {}
};

EventDriven::~EventDriven() = default;

Result<std::unique_ptr<EventDriven>> EventDriven::make(std::shared_ptr<const OwnedModel> owned, Isa isa,
                                                       Sink sink, OperatorTable table) {
  const Model& model = owned->model();
  if (model.plan() == nullptr) return Status(Code::unsupported) << "the model has no streaming plan";
  const auto tensors = static_cast<std::size_t>(model.tensor_count());
  const auto operators = static_cast<std::size_t>(model.operator_count());
  std::vector<StreamTensor> streams(tensors);
  std::vector<StreamStep> steps(operators);
  std::vector<std::int64_t> lengths(tensors);
  std::vector<std::int8_t> axes;
  for (const std::int32_t input : model.inputs())
    axes.push_back(model.plan()->tensors()->Get(static_cast<std::uint32_t>(input))->time_axis());
  std::int64_t multiple = 1;
  RUNNEL_TRY(plan_streams(model, table, axes, streams, steps, lengths, multiple));

  std::unique_ptr<EventDriven> out(new EventDriven);
  out->model_ = std::move(owned);
  out->sink_ = std::move(sink);
  for (std::size_t t = 0; t < tensors; ++t) {
    const TensorView view = model.tensor(static_cast<int>(t));
    auto queue = std::make_unique<Queue>();
    queue->stream = streams[t].time_axis >= 0;
    queue->frame_bytes = queue->stream
                             ? view.bytes() / static_cast<std::size_t>(view.shape[streams[t].time_axis])
                             : view.bytes();
    out->queues_.push_back(std::move(queue));
  }
  for (std::size_t i = 0; i < operators; ++i) {
    auto node = std::make_unique<Node>();
    node->graph = &model;
    node->node = &model.op(static_cast<int>(i));
    node->level = isa;
    node->heap = &out->memory_;
    node->step = steps[i];
    node->streams = streams;
    const OperatorDefinition* definition = find_operator(table, *node->node);
    if (definition == nullptr)
      return operator_status(model, table, static_cast<int>(i),
                             Status(Code::unsupported) << "is not in this build");
    const Status checked = definition->check(model, *node->node);
    if (!checked.ok()) return operator_status(model, table, static_cast<int>(i), checked);
    auto bound = definition->prepare(*node);
    if (!bound.ok()) return operator_status(model, table, static_cast<int>(i), bound.status());
    node->bound = *bound;
    node->scratch.resize(node->scratch_bytes + 128);
    node->state.resize(node->state_bytes);
    if (node->bound->reset != nullptr) node->bound->reset(*node->bound, node->state.data());
    node->data.resize(tensors);
    node->index.resize(tensors);
    for (std::uint32_t k = 0; k < node->node->inputs()->size(); ++k) {
      const std::int32_t tensor = node->node->inputs()->Get(k);
      const std::size_t bytes = tensor < 0 ? 0
                                           : out->queues_[static_cast<std::size_t>(tensor)]->frame_bytes *
                                                 static_cast<std::size_t>(node->window_frames());
      node->windows.emplace_back(bytes + 64);
      if (tensor < 0) continue;
      node->data[static_cast<std::size_t>(tensor)] = node->windows.back().data();
      const TensorView view = model.tensor(tensor);
      if (view.constant)
        node->data[static_cast<std::size_t>(tensor)] = const_cast<std::byte*>(view.data.data());
    }
    for (const std::int32_t output : *node->node->outputs()) {
      node->windows.emplace_back(out->queues_[static_cast<std::size_t>(output)]->frame_bytes *
                                     static_cast<std::size_t>(node->output_frames()) +
                                 64);
      node->data[static_cast<std::size_t>(output)] = node->windows.back().data();
    }
    out->nodes_.push_back(std::move(node));
  }
  return out;
}

void EventDriven::push(std::span<const std::byte* const> inputs, std::int64_t count) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Queue& queue = *queues_[static_cast<std::size_t>(model_->model().inputs()[i])];
    for (std::int64_t f = 0; f < count; ++f) {
      const std::byte* first = inputs[i] + static_cast<std::size_t>(f) * queue.frame_bytes;
      queue.frames.emplace_back(first, first + queue.frame_bytes);
      ++queue.received;
    }
  }
  advance();
}

void EventDriven::finish() {
  ended_ = true;
  for (const std::int32_t input : model_->model().inputs()) {
    Queue& queue = *queues_[static_cast<std::size_t>(input)];
    queue.length = queue.received;
  }
  advance();
}

// Runs the node on its windows and passes on frame `output` of what it computed.
void EventDriven::emit(Node& node, std::int64_t output_frame) {
  const Model& model = model_->model();
  std::byte* scratch = node.scratch.data();
  scratch += (64 - reinterpret_cast<std::uintptr_t>(scratch) % 64) % 64;
  const RunContext context{node.data.data(), node.index.data(), scratch, node.state.data()};
  node.bound->run(*node.bound, context);
  for (const std::int32_t output : *node.node->outputs()) {
    Queue& queue = *queues_[static_cast<std::size_t>(output)];
    const std::byte* frame = node.data[static_cast<std::size_t>(output)] +
                             static_cast<std::size_t>(queue.stream ? output_frame : 0) * queue.frame_bytes;
    queue.frames.emplace_back(frame, frame + queue.frame_bytes);
    ++queue.received;
    for (std::size_t position = 0; position < model.outputs().size(); ++position) {
      if (model.outputs()[position] == output) sink_(static_cast<int>(position), {frame, queue.frame_bytes});
    }
  }
}

// The frames [first, first + window_frames) of the node's streamed inputs.
void EventDriven::gather(Node& node, std::int64_t first) {
  const auto& inputs = *node.node->inputs();
  for (std::uint32_t k = 0; k < inputs.size(); ++k) {
    const std::int32_t tensor = inputs.Get(k);
    if (tensor < 0 || !queues_[static_cast<std::size_t>(tensor)]->stream) continue;
    const Queue& queue = *queues_[static_cast<std::size_t>(tensor)];
    const TensorView view = model_->model().tensor(tensor);
    const std::vector<std::byte> padding(queue.frame_bytes, static_cast<std::byte>(view.zero_point() & 0xFF));
    const std::vector<std::byte> forgotten(queue.frame_bytes,
                                           std::byte{0x55});  // or not there yet: must not be read
    // With dimensions before time, a frame is spread over the rows of the window.
    const FrameLayout layout =
        FrameLayout::of(view.shape, node.streams[static_cast<std::size_t>(tensor)].time_axis, view.dtype);
    for (std::int64_t w = 0; w < node.window_frames(); ++w) {
      const std::int64_t i = first + w;
      const bool is_data = i >= 0 && i < queue.length, is_here = i >= queue.base && i < queue.received;
      const std::vector<std::byte>& frame = !is_data  ? padding
                                            : is_here ? queue.frames[static_cast<std::size_t>(i - queue.base)]
                                                      : forgotten;
      copy_frames(layout, frame.data(), 1, 0, node.windows[k].data(), node.window_frames(), w, 1);
    }
    const auto back = static_cast<std::size_t>(node.back_frames()) * queue.frame_bytes;
    node.data[static_cast<std::size_t>(tensor)] = node.windows[k].data() + back;
    node.index[static_cast<std::size_t>(tensor)] = {first + node.back_frames(), queue.length};
  }
}

void EventDriven::advance() {
  for (const auto& node : nodes_) {
    const streaming::NodeRule& rule = node->step.rule;
    if (rule.kind == streaming::Kind::constant) continue;
    const auto& inputs = *node->node->inputs();
    std::int64_t received = kEndless, length = kEndless;
    for (const std::int32_t input : inputs) {
      if (input < 0 || !queues_[static_cast<std::size_t>(input)]->stream) continue;
      received = std::min(received, queues_[static_cast<std::size_t>(input)]->received);
      length = std::min(length, queues_[static_cast<std::size_t>(input)]->length);
    }
    const std::int64_t out_length = length == kEndless ? kEndless : streaming::output_length(rule, length);
    for (;; ++node->next) {
      const std::int64_t j = node->next;
      if (length != kEndless ? j >= out_length : streaming::due(rule, j) >= received) break;
      const Node::Place place = node->place(j);
      gather(*node, place.first);
      for (const std::int32_t output : *node->node->outputs())
        node->index[static_cast<std::size_t>(output)] = {j - place.output, out_length};
      emit(*node, place.output);
    }
    for (const std::int32_t output : *node->node->outputs())
      queues_[static_cast<std::size_t>(output)]->length = out_length;
  }
  if (ended_) finish_finals();
  // Forget what has no reader left; of a value without time the last is kept.
  for (std::size_t t = 0; t < queues_.size(); ++t) {
    Queue& queue = *queues_[t];
    std::int64_t keep = queue.stream ? queue.received : queue.received - 1;
    for (const auto& node : nodes_) {
      if (node->step.rule.kind == streaming::Kind::constant) continue;
      for (const std::int32_t input : *node->node->inputs()) {
        if (input == static_cast<std::int32_t>(t))
          keep = std::min(keep, streaming::oldest(node->step.rule, node->next));
      }
    }
    for (; queue.base < keep && !queue.frames.empty(); ++queue.base) queue.frames.pop_front();
  }
}

// What is made from the last state of a recurrence, once that is known.
void EventDriven::finish_finals() {
  for (const auto& node : nodes_) {
    if (node->step.rule.kind != streaming::Kind::constant) continue;
    bool known = false;
    for (const std::int32_t input : *node->node->inputs()) {
      if (input < 0 || queues_[static_cast<std::size_t>(input)]->frames.empty()) continue;
      node->data[static_cast<std::size_t>(input)] =
          queues_[static_cast<std::size_t>(input)]->frames.back().data();
      known = true;
    }
    if (known) emit(*node, 0);
  }
}

}  // namespace runnel
