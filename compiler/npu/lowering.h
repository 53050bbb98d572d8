// From nodes of a graph to operations of an Ethos-U, one node after the other. What cannot be computed there
// exactly as on the CPU is refused with the reason.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/npu/words.h"
#include "npu/host/encoder/program.h"

namespace runnel::compiler::ethos_u {

using Dims = std::vector<std::int32_t>;

// Where the elements of a tensor are: in a buffer, so many bytes from one to the next along each axis.
struct Place {
  npu::BufferId buffer = npu::kNoBuffer;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};
// Without gaps.
std::vector<std::int64_t> dense_strides(const Dims& shape, std::size_t element);

// A tensor as one node sees it.
struct Operand {
  const Tensor* tensor = nullptr;
  Place place;
  Dims shape;

  [[nodiscard]] std::int32_t zero_point() const {
    return tensor->zero_points.empty() ? 0 : tensor->zero_points[0];
  }
  [[nodiscard]] int exponent() const { return tensor->exponents.empty() ? 0 : tensor->exponents[0]; }
  [[nodiscard]] bool affine() const { return !tensor->scales.empty(); }
};
// Whether equal integers mean equal numbers.
bool same_scale(const Tensor& a, const Tensor& b);

// Along one axis: output j reads j * stride - pad + i * dilation for each tap i.
struct WindowAxis {
  std::int32_t taps = 1, stride = 1, dilation = 1, pad = 0;
};
struct Window {
  WindowAxis rows, columns;
};

// What a streamed form changes: how many elements along time a node reads and writes, and from where on.
class Form {
 public:
  virtual ~Form() = default;
  // Of one call; frames before it that are kept from call to call; -1: no stream.
  [[nodiscard]] virtual Dims shape(TensorId id) const = 0;
  [[nodiscard]] virtual std::int64_t history(TensorId id) const = 0;
  [[nodiscard]] virtual int time_axis(TensorId id) const = 0;
  // Whether frames that are not data are set to zero points inside, after the node that computes them.
  [[nodiscard]] virtual bool masked(TensorId id) const = 0;
  // The operand's shape and first element, as this node reads it.
  virtual void adapt_input(const Node& node, std::size_t position, Operand& operand) const = 0;
  // How many frames before its block a node reads input `position`.
  [[nodiscard]] virtual std::int64_t back_frames(const Node& node, std::size_t position) const = 0;
  // Padding along the axis of input 0 that is time.
  virtual void adapt_window(const Node& node, Window& window) const = 0;
};

class Lowering {
 public:
  // Graph and program live as long; `form` may be null.
  Lowering(const Graph& graph, npu::Program& program, const Form* form = nullptr)
      : graph_(graph), program_(program), form_(form) {}

  // Tensors that are brought from outside or wanted outside are placed first; others get their places with
  // the node that computes them.
  void set_place(TensorId id, Place place) { places_[id] = std::move(place); }
  [[nodiscard]] const Place* place_of(TensorId id) const;
  // Buffers of `node`'s outputs, and operations. Errors: unsupported with the reason.
  Status lower(const Node& node);
  // Decides which inputs of concatenations are computed in place. Before the first node, with all of them in
  // order.
  void plan_concatenations(const std::vector<const Node*>& nodes, const std::function<bool(TensorId)>& taken);

  Status copy(const Operand& from, const Operand& to);
  // Streams: the place of a tensor's block, made when there is none; a block frame by frame times 0 or 1, one
  // byte per frame in `mask`; and the step of all histories at the end of a call.
  const Place& place(TensorId id) { return placed(id); }
  Status mask(TensorId id, npu::BufferId mask);
  void step_histories();
  // Buffers that are kept from call to call, and the tensors whose frames they hold.
  [[nodiscard]] const std::map<TensorId, npu::BufferId>& kept() const { return kept_; }
  // Frames of which some readers see data only: one byte per frame of the block in `mask`, set from outside,
  // 1: data; and the same, kept from call to call as long as the frames, `frame` bytes from one to the next.
  struct Seen {
    TensorId id = -1;
    npu::BufferId mask = npu::kNoBuffer, kept = npu::kNoBuffer;
    std::int64_t frame = 1;
  };
  [[nodiscard]] const std::vector<Seen>& seen() const { return seen_; }

 private:
  [[nodiscard]] const Tensor& at(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)]; }
  static Status refuse() { return Status(Code::unsupported); }
  [[nodiscard]] bool newest() const { return program_.options().accelerator->product == npu::Product::u85; }
  // Bits of a scale's multiplier.
  [[nodiscard]] int multiplier_bits() const {
    return newest() ? npu::kMultiplierBits : npu::kMultiplierBits + 1;
  }
  Operand input(const Node& node, std::size_t position);
  Operand output(const Node& node, std::size_t position = 0);
  Place& placed(TensorId id);
  [[nodiscard]] Dims shape_of(TensorId id) const {
    return form_ != nullptr && !at(id).data ? form_->shape(id) : at(id).shape;
  }
  [[nodiscard]] std::int64_t history_of(TensorId id) const {
    return form_ != nullptr && !at(id).data ? form_->history(id) : 0;
  }

  // ---- maps (maps.cpp)
  // [leading ones, height, width, channels]; without height: one row.
  static Result<npu::FeatureMap> spatial(const Operand& operand);
  // Operands of one shape, or one that is broadcast (sizes 1), as maps of the same sizes.
  static Status flatten(const std::vector<const Operand*>& operands, std::vector<npu::FeatureMap>& maps);
  // One operation for each piece of the output that the hardware's strides and dilations reach.
  Status window(npu::Step step, const npu::FeatureMap& in, const npu::FeatureMap& out, const Window& window);
  static Result<std::vector<npu::Step>> pieces(const npu::Step& step, const npu::FeatureMap& in,
                                               const npu::FeatureMap& out, const Window& window);
  // Columns of a stride become channels where that takes fewer steps.
  Status folded(npu::Step step, const npu::FeatureMap& in, const npu::FeatureMap& out, const Window& window);
  static void set_limits(npu::Operation& op, const Operand& y, Activation activation);

  // ---- kinds of nodes
  Status lower_by_kind(const Node& node);
  Status convolution(const Node& node);
  Status fully_connected(const Node& node);
  Status weighted(const Node& node, const Operand& x, const Operand& y, npu::Step& step,
                  std::int32_t channels, std::int32_t each);
  Status pool(const Node& node);
  Status reduce(const Node& node);
  Status softmax(const Node& node);
  Status layer_norm(const Node& node);
  Status average(const Node& node, const Operand& x, const Operand& y, const Window& window,
                 const npu::FeatureMap& in, const npu::FeatureMap& out, bool count_padding);
  Status binary(const Node& node);
  Status sum(const Node& node, const Operand& a, const Operand& b, const Operand& y, npu::Operation& op);
  Status scales(const Node& node, const Operand& a, const Operand& b, const Operand& y, npu::Operation& op);
  Status requantize(const Node& node);
  // ---- what only the U85 computes
  Status matmul(const Node& node);
  Status attention(const Node& node);
  Integers hidden_frames(const Node& node, std::int32_t count);
  Status arg_max(const Node& node);
  Status extreme(const Node& node);  // the largest or smallest along axes
  Status resize(const Node& node);
  // An axis of a tensor as columns, with the axes before it as rows and those after it as channels.
  static Result<npu::FeatureMap> along_columns(const Operand& operand, std::size_t axis);
  Status table(const Node& node);
  Status look_up(const Operand& x, const Operand& y, std::vector<std::byte> table);
  Status take_view(TensorId id, const Operand& view);
  Status concat(const Node& node);
  Status split(const Node& node);
  Status slice(const Node& node);
  Status reshape(const Node& node);
  Status transpose(const Node& node);
  Status pad(const Node& node);
  // Elements of one shape in any two places.
  Status move(const Operand& from, const Operand& to);
  Status fill(const Operand& place, std::int32_t value);
  [[nodiscard]] bool read_by_windows(TensorId id) const;

  const Graph& graph_;
  npu::Program& program_;
  const Form* form_;
  std::map<TensorId, Place> places_;
  std::map<TensorId, npu::BufferId> kept_;
  std::vector<Seen> seen_;
};

}  // namespace runnel::compiler::ethos_u
