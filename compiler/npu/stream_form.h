// A graph as a stream that is stepped on the NPU: frames per call, what must be kept before them, and
// which frames are data.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/host/heap_memory.h"
#include "compiler/npu/lowering.h"
#include "compiler/npu/partition.h"
#include "inference/model/model.h"
#include "inference/plan/stream_plan.h"

namespace runnel::compiler::ethos_u {

// All windows between a part's input and one of its tensors, as a single window: the tensor's frame j depends
// on input frames j * stride - left to j * stride - left + kernel - 1, and there are as many as a window with
// `right` frames of padding after it has.
struct StreamWindow {
  std::int64_t kernel = 1, stride = 1, left = 0, right = 0;

  [[nodiscard]] std::vector<std::int64_t> numbers() const { return {kernel, stride, left, right}; }
};

// The plan of the whole graph, as its file will have it.
class GraphStreams {
 public:
  // Errors: unsupported when the graph cannot be streamed.
  static Result<std::shared_ptr<const GraphStreams>> make(const Graph& graph);

  [[nodiscard]] const StreamTensor& tensor(TensorId id) const {
    return tensors_[static_cast<std::size_t>(index_[static_cast<std::size_t>(id)])];
  }
  [[nodiscard]] const StreamStep& step(std::size_t node) const { return steps_[node]; }
  [[nodiscard]] std::int64_t block_multiple() const { return multiple_; }
  // Frames of a tensor for a recording.
  [[nodiscard]] std::vector<std::int64_t> lengths(std::int64_t source) const;
  [[nodiscard]] std::int64_t length(const std::vector<std::int64_t>& lengths, TensorId id) const {
    return lengths[static_cast<std::size_t>(index_[static_cast<std::size_t>(id)])];
  }

 private:
  HeapMemory memory_;
  std::unique_ptr<Model> model_;
  std::vector<std::int32_t> index_;  // of a graph's tensor in the model
  std::vector<StreamTensor> tensors_;
  std::vector<StreamStep> steps_;
  std::int64_t multiple_ = 1;
};

// One part of it.
class StreamForm final : public Form {
 public:
  // `block`: source frames in each call. Errors: unsupported for what is no single stream in and out, or
  // cannot be stepped; invalid_argument for a block that is no multiple of what the graph needs.
  static Result<std::unique_ptr<StreamForm>> make(const Graph& graph,
                                                  std::shared_ptr<const GraphStreams> streams,
                                                  const Part& part, std::int64_t block);

  [[nodiscard]] Dims shape(TensorId id) const override;
  [[nodiscard]] std::int64_t history(TensorId id) const override { return at(id).history; }
  [[nodiscard]] int time_axis(TensorId id) const override { return at(id).axis; }
  void adapt_input(const Node& node, std::size_t position, Operand& operand) const override;
  [[nodiscard]] std::int64_t back_frames(const Node& node, std::size_t position) const override;
  void adapt_window(const Node& node, Window& window) const override;

  [[nodiscard]] std::int64_t frames(TensorId id) const { return at(id).frames; }
  [[nodiscard]] std::int64_t delay(TensorId id) const { return streams_->tensor(id).stream.delay; }
  [[nodiscard]] const StreamWindow& window(TensorId id) const { return at(id).window; }
  // Frames of this tensor that are not data must be its zero point when they are read.
  [[nodiscard]] bool masked(TensorId id) const override { return at(id).masked; }

 private:
  struct OwnTensor {
    int axis = -1;  // -1: no stream
    std::int64_t frames = 0, history = 0;
    StreamWindow window;
    bool masked = false;
  };
  explicit StreamForm(const Graph& graph) : graph_(graph) {}
  [[nodiscard]] const OwnTensor& at(TensorId id) const { return tensors_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::size_t index_of(const Node& node) const {
    return static_cast<std::size_t>(&node - graph_.nodes.data());
  }
  Status add(std::size_t node);
  Status check(const Part& part) const;

  const Graph& graph_;
  std::shared_ptr<const GraphStreams> streams_;
  std::vector<OwnTensor> tensors_;
  std::int64_t block_ = 1;
};

}  // namespace runnel::compiler::ethos_u
