#include "compiler/passes/windowed_statistics.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/ir/graph_editor.h"
#include "inference/host/operator_traits.h"

namespace runnel::compiler {
namespace {

bool is_statistic(const Node& node) {
  return node.code == OpCode::reduce_mean || node.code == OpCode::reduce_sum ||
         node.code == OpCode::reduce_max || node.code == OpCode::reduce_min;
}

class Statistics {
 public:
  Statistics(Graph& graph, const std::vector<int>& time_axes, int hop, bool so_far)
      : graph_(graph), time_axes_(time_axes), hop_(hop), so_far_(so_far), editor_(graph) {}

  WindowedGraph run() {
    for (std::size_t i = 0; i < editor_.old().size(); ++i) {
      const Node node = editor_.old()[i];
      if (done_.contains(i)) continue;
      const int time = node.inputs.empty() ? -1 : time_axis(node.inputs[0]);
      if (time < 0) {
        editor_.add(node);
        continue;
      }
      const bool rewritten = is_statistic(node) ? reduce(node, time) : pool_or_flatten(node, i, time);
      if (!rewritten)
        editor_.add(node);
      else
        out_.notes.push_back(node.name + ": over windows of " + window_text(frames_of(node.inputs[0])));
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] int time_axis(TensorId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < time_axes_.size()
               ? time_axes_[static_cast<std::size_t>(id)]
               : -1;
  }
  [[nodiscard]] int frames_of(TensorId id) {
    return editor_.shape(id)[static_cast<std::size_t>(time_axis(id))];
  }
  [[nodiscard]] std::string window_text(int frames) const {
    return so_far_ ? "all frames so far" : std::to_string(frames) + " frames, every " + std::to_string(hop_);
  }
  [[nodiscard]] std::vector<std::size_t> readers(TensorId id) const {
    std::vector<std::size_t> out;
    for (std::size_t k = 0; k < editor_.old().size(); ++k) {
      const auto& inputs = editor_.old()[k].inputs;
      if (std::find(inputs.begin(), inputs.end(), id) != inputs.end()) out.push_back(k);
    }
    return out;
  }
  [[nodiscard]] bool is_output(TensorId id) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
  }

  // Does x, one value for all time with kept axes, meet a stream of `frames` frames along `time`? Collects
  // the tensors on the way.
  bool meets_stream(TensorId x, int time, int frames, std::vector<TensorId>& way) {
    if (is_output(x)) return false;
    const auto list = readers(x);
    way.push_back(x);
    for (const std::size_t k : list) {
      const Node& node = editor_.old()[k];
      if (is_pair(node.code)) {
        const TensorId other = node.inputs[0] == x ? node.inputs[1] : node.inputs[0];
        const auto& shape = editor_.shape(other);
        if (other != x && time_axis(other) == time && shape.size() > static_cast<std::size_t>(time) &&
            shape[static_cast<std::size_t>(time)] == frames)
          continue;
        if (other != x && !editor_.tensor(other).data) return false;
      } else if (!is_elementwise(node.code)) {
        return false;
      }
      if (!meets_stream(node.outputs[0], time, frames, way)) return false;
    }
    return !list.empty();
  }

  bool reduce(const Node& node, int time) {
    const auto& old = std::get<ReduceOptions>(node.options);
    if (node.arithmetic != Arithmetic::espdl && node.arithmetic != Arithmetic::tflite) return false;
    if (std::find(old.axes.begin(), old.axes.end(), time) == old.axes.end()) return false;
    if (node.arithmetic == Arithmetic::tflite && node.code != OpCode::reduce_mean) return false;
    const TensorId x = node.inputs[0], y = node.outputs[0];
    const int frames = frames_of(x);
    Node windowed = node;
    windowed.arithmetic =
        node.arithmetic == Arithmetic::espdl ? Arithmetic::windows : Arithmetic::tflite_windows;
    ReduceOptions options = old;
    options.window = frames;
    options.hop = hop_;
    options.time_axis = time;
    std::vector<std::int32_t> kept = editor_.shape(x);
    for (const std::uint8_t axis : options.axes) kept[axis] = 1;
    // Readers that put it beside its stream need a value for each frame.
    std::vector<TensorId> way;
    const bool joined = editor_.shape(y) == kept && frames > 1 && meets_stream(y, time, frames, way);
    if (joined) {
      options.window = so_far_ ? -1 : frames;
      options.hop = 1;
      options.before = so_far_ ? 0 : frames - 1;
      for (const TensorId id : way) editor_.tensor(id).shape[static_cast<std::size_t>(time)] = frames;
      windowed.options = options;
      editor_.add(windowed);
      out_.same_clip = false;
      return true;
    }
    if (so_far_) return false;
    windowed.options = options;
    if (editor_.shape(y) == kept) {
      editor_.add(windowed);
      return true;
    }
    windowed.outputs = {editor_.like(y, kept, "/windows")};
    editor_.add(windowed);
    editor_.reshape(windowed.outputs[0], editor_.shape(y), node, y);
    return true;
  }

  bool pool_or_flatten(const Node& node, std::size_t index, int time) {
    if (so_far_) return false;
    if (std::holds_alternative<PoolOptions>(node.options)) return pool(node, time);
    if (node.code == OpCode::reshape) return flatten(node, index, time);
    return false;
  }

  // Over the whole clip along time: the same kernel, every hop frames.
  bool pool(Node node, int time) {
    auto& options = std::get<PoolOptions>(node.options);
    const std::vector<std::int32_t>& shape = editor_.shape(node.inputs[0]);
    const int rank = static_cast<int>(shape.size()), frames = frames_of(node.inputs[0]);
    const bool width = time == rank - 2;
    if (!width && !(rank > 3 && time == rank - 3)) return false;
    if (options.global) {
      options = {};
      options.kernel_width = shape[static_cast<std::size_t>(rank - 2)];
      options.kernel_height = rank > 3 ? shape[static_cast<std::size_t>(rank - 3)] : 1;
    } else {
      const bool whole = width ? options.kernel_width == frames && options.dilation_width == 1 &&
                                     options.pad_left == 0 && options.pad_right == 0
                               : options.kernel_height == frames && options.dilation_height == 1 &&
                                     options.pad_top == 0 && options.pad_bottom == 0;
      if (!whole || frames == 1) return false;
    }
    (width ? options.stride_width : options.stride_height) = hop_;
    if (!pool_as_reduction(node, options, time)) editor_.add(node);
    return true;
  }

  // Integers over all of both axes: a reduction gives the same numbers and does not read the whole window for
  // each.
  bool pool_as_reduction(const Node& node, const PoolOptions& options, int time) {
    const std::vector<std::int32_t>& shape = editor_.shape(node.inputs[0]);
    const std::size_t rank = shape.size();
    const bool max = node.code == OpCode::max_pool;
    if (editor_.tensor(node.inputs[0]).dtype == DType::float32 ||
        (max && node.arithmetic != Arithmetic::espdl) || time < 1)
      return false;
    const bool all = options.kernel_width == shape[rank - 2] && options.pad_left + options.pad_right == 0 &&
                     (options.kernel_width == 1 || options.dilation_width == 1) &&
                     (rank == 3 || (options.kernel_height == shape[rank - 3] &&
                                    options.pad_top + options.pad_bottom == 0 &&
                                    (options.kernel_height == 1 || options.dilation_height == 1)));
    if (!all || shape[0] != 1 || (rank > 3 && time == 2 && shape[1] != 1)) return false;
    Node reduction = node;
    reduction.code = max ? OpCode::reduce_max : OpCode::reduce_mean;
    reduction.arithmetic = max                                    ? Arithmetic::windows
                           : node.arithmetic == Arithmetic::espdl ? Arithmetic::pool_windows
                                                                  : Arithmetic::tflite_pool_windows;
    ReduceOptions over;
    for (std::size_t axis = 1; axis + 1 < rank; ++axis) over.axes.push_back(static_cast<std::uint8_t>(axis));
    over.window = shape[static_cast<std::size_t>(time)];
    over.hop = hop_;
    over.time_axis = time;
    reduction.options = over;
    editor_.add(reduction);
    return true;
  }

  // x [1, .., T, ..] laid out as one row before a dense layer: a convolution over T frames, its weights
  // with time as the first axis.
  bool flatten(const Node& node, std::size_t index, int time) {
    const TensorId x = node.inputs[0], flat = node.outputs[0];
    const std::vector<std::int32_t> from = editor_.shape(x), to = editor_.shape(flat);
    if (from.size() < 2 || from[0] != 1 || time < 1 || to.empty() || frames_of(x) == 1) return false;
    std::int64_t all = 1;
    for (const std::int32_t dim : from) all *= dim;
    const auto list = readers(flat);
    if (to.back() != all || list.size() != 1 || is_output(flat)) return false;
    const Node& dense = editor_.old()[list[0]];
    if (dense.code != OpCode::fully_connected || dense.arithmetic != Arithmetic::espdl ||
        dense.inputs[0] != flat || list[0] != index + 1)
      return false;
    const Tensor& weights = editor_.tensor(dense.inputs[1]);
    if (!weights.data || editor_.tensor(x).exponents != editor_.tensor(flat).exponents) return false;
    // Time after the batch.
    std::vector<std::uint8_t> perm = {0, static_cast<std::uint8_t>(time)};
    for (std::size_t axis = 1; axis < from.size(); ++axis) {
      if (static_cast<int>(axis) != time) perm.push_back(static_cast<std::uint8_t>(axis));
    }
    Tensor turned = weights;
    turned.shape.insert(turned.shape.begin() + 1, from.begin() + 1, from.end());
    turned.shape.pop_back();
    turned = transposed_constant(turned, perm);
    const std::int32_t frames = frames_of(x), values = static_cast<std::int32_t>(all / frames);
    turned.shape = {weights.shape[0], 1, frames, values};
    if (turned.channel_axis > 0) return false;
    graph_.tensors.push_back(std::move(turned));
    const auto kernel = static_cast<TensorId>(graph_.tensors.size()) - 1;
    const TensorId frame_major = editor_.reshape(editor_.transpose(x, perm, node), {1, frames, values}, node);
    Node conv = dense;
    conv.code = OpCode::conv;
    conv.inputs[0] = frame_major;
    conv.inputs[1] = kernel;
    ConvOptions options;
    options.stride_width = hop_;
    options.activation = std::get<FullyConnectedOptions>(dense.options).activation;
    conv.options = options;
    const std::vector<std::int32_t> result = {1, 1, editor_.shape(dense.outputs[0]).back()};
    conv.outputs = {editor_.like(dense.outputs[0], result, "/windows")};
    editor_.add(conv);
    editor_.reshape(conv.outputs[0], editor_.shape(dense.outputs[0]), dense, dense.outputs[0]);
    done_.insert(list[0]);
    return true;
  }

  Graph& graph_;
  const std::vector<int>& time_axes_;
  int hop_;
  bool so_far_;
  GraphEditor editor_;
  std::set<std::size_t> done_;
  WindowedGraph out_;
};

}  // namespace

WindowedGraph window_statistics(Graph& graph, const std::vector<int>& time_axes, int hop, bool so_far) {
  return Statistics(graph, time_axes, hop, so_far).run();
}

}  // namespace runnel::compiler
