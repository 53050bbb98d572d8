#include "compiler/passes/time_first.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/ir/graph_editor.h"
#include "inference/host/operator_traits.h"

namespace runnel::compiler {
namespace {

using Perm = std::vector<std::uint8_t>;

template <class T>
void turn(T& options) {
  std::swap(options.stride_height, options.stride_width);
}
template <class T>
void turn_dilation(T& options) {
  std::swap(options.dilation_height, options.dilation_width);
}
void turn_options(Options& options) {
  if (auto* conv = std::get_if<ConvOptions>(&options)) {
    turn(*conv);
    turn_dilation(*conv);
    std::swap(conv->pad_top, conv->pad_left);
    std::swap(conv->pad_bottom, conv->pad_right);
  } else if (auto* pool = std::get_if<PoolOptions>(&options)) {
    turn(*pool);
    turn_dilation(*pool);
    std::swap(pool->kernel_height, pool->kernel_width);
    std::swap(pool->pad_top, pool->pad_left);
    std::swap(pool->pad_bottom, pool->pad_right);
  } else if (auto* transposed = std::get_if<TransposedConvOptions>(&options)) {
    turn(*transposed);
    turn_dilation(*transposed);
    std::swap(transposed->crop_top, transposed->crop_left);
    std::swap(transposed->crop_bottom, transposed->crop_right);
  } else if (auto* zeros = std::get_if<InsertZerosOptions>(&options)) {
    turn(*zeros);
    std::swap(zeros->after_height, zeros->after_width);
  }
}

template <class T>
std::vector<T> permuted(const std::vector<T>& values, const Perm& perm) {
  std::vector<T> out;
  for (const std::uint8_t axis : perm) out.push_back(values[axis]);
  return out;
}

Perm inverse(const Perm& perm) {
  Perm out(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) out[perm[i]] = static_cast<std::uint8_t>(i);
  return out;
}

class TimeFirst {
 public:
  TimeFirst(Graph& graph, const std::vector<int>& time_axes, const std::vector<int>& refused)
      : graph_(graph), time_axes_(time_axes), refused_(refused.begin(), refused.end()), editor_(graph) {}

  bool run() {
    for (std::size_t i = 0; i < editor_.old().size(); ++i) {
      const Node node = editor_.old()[i];
      if (split_padding(node, refused_.contains(static_cast<int>(i)))) continue;
      if (!convert(node, refused_.contains(static_cast<int>(i)))) {
        for (const TensorId input : node.inputs) original(input, node);
        editor_.add(node);
      }
    }
    // Outputs, and what test vectors speak of.
    std::vector<TensorId> wanted = graph_.outputs;
    for (const VectorCase& recorded : graph_.vectors) {
      for (const VectorTensor& value : recorded.outputs) wanted.push_back(value.tensor);
    }
    Node end;
    end.name = "output";
    for (const TensorId id : wanted) original(id, end);
    return changed_;
  }

 private:
  struct Front {
    TensorId id = kAbsent;
    Perm perm;
    bool has_original = true;
  };
  [[nodiscard]] int time_axis(TensorId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < time_axes_.size()
               ? time_axes_[static_cast<std::size_t>(id)]
               : -1;
  }
  [[nodiscard]] bool is_stream(TensorId id) const { return time_axis(id) >= 0; }

  // The order of axes with time before all that is more than 1.
  Perm perm_of(TensorId id) {
    const auto& shape = editor_.shape(id);
    const auto time = static_cast<std::size_t>(time_axis(id));
    std::size_t place = 0;
    while (place < time && shape[place] == 1) ++place;
    Perm perm;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (axis == place) perm.push_back(static_cast<std::uint8_t>(time));
      if (axis != time) perm.push_back(static_cast<std::uint8_t>(axis));
    }
    if (place == time) {
      perm.clear();
      for (std::size_t axis = 0; axis < shape.size(); ++axis) perm.push_back(static_cast<std::uint8_t>(axis));
    }
    return perm;
  }

  // x in the order `perm`.
  TensorId front(TensorId x, const Perm& perm, const Node& reader) {
    if (const auto known = fronts_.find(x); known != fronts_.end() && known->second.perm == perm)
      return known->second.id;
    original(x, reader);
    const TensorId turned = editor_.transpose(x, perm, reader);
    if (turned != x) {
      fronts_[x] = {turned, perm, true};
      changed_ = true;
    }
    return turned;
  }
  // Makes the tensor in the order of the graph, where only the other is there.
  void original(TensorId x, const Node& reader) {
    const auto known = fronts_.find(x);
    if (known == fronts_.end() || known->second.has_original) return;
    known->second.has_original = true;
    editor_.transpose(known->second.id, inverse(known->second.perm), reader, x);
  }
  void define(Node& node, const Perm& perm) {
    for (TensorId& output : node.outputs) {
      const TensorId turned = editor_.like(output, permuted(editor_.shape(output), perm), "/turned");
      fronts_[output] = {turned, perm, false};
      output = turned;
    }
    changed_ = true;
    editor_.add(node);
  }

  bool convert(Node node, bool refused) {
    Perm perm;
    for (const TensorId input : node.inputs) {
      if (const auto known = fronts_.find(input);
          known != fronts_.end() && (perm.empty() || perm.size() < known->second.perm.size()))
        perm = known->second.perm;
    }
    if (perm.empty() && !refused) return false;
    if (traits_of(node.code).spatial) return convert_spatial(node);
    for (const TensorId input : node.inputs) {
      if (perm.empty() && is_stream(input)) perm = perm_of(input);
    }
    if (perm.empty() || std::is_sorted(perm.begin(), perm.end())) return false;
    const auto fits = [&](TensorId id) { return is_stream(id) && editor_.shape(id).size() == perm.size(); };
    if (node.outputs.size() != 1 || !fits(node.outputs[0])) return false;
    if (is_pair(node.code)) return convert_binary(node, perm);
    if (!fits(node.inputs[0])) return false;
    if (is_elementwise(node.code)) {
      node.inputs[0] = front(node.inputs[0], perm, node);
      define(node, perm);
      return true;
    }
    if (node.code == OpCode::concat) {
      if (!std::all_of(node.inputs.begin(), node.inputs.end(), fits)) return false;
      for (TensorId& input : node.inputs) input = front(input, perm, node);
      auto& axis = std::get<AxisOptions>(node.options).axis;
      axis = inverse(perm)[static_cast<std::size_t>(axis)];
    } else if (auto* slice = std::get_if<SliceOptions>(&node.options)) {
      node.inputs[0] = front(node.inputs[0], perm, node);
      slice->begin = permuted(slice->begin, perm);
      slice->step = permuted(slice->step, perm);
    } else if (auto* pad = std::get_if<PadOptions>(&node.options)) {
      node.inputs[0] = front(node.inputs[0], perm, node);
      pad->before = permuted(pad->before, perm);
      pad->after = permuted(pad->after, perm);
    } else {
      return false;
    }
    define(node, perm);
    return true;
  }

  // [1, height, time, C] becomes [1, time, height, C].
  bool convert_spatial(Node& node) {
    const TensorId x = node.inputs[0];
    if (node.outputs.size() != 1 || time_axis(x) != 2 || editor_.shape(x).size() != 4 ||
        editor_.shape(x)[0] != 1)
      return false;
    const Perm swap = {0, 2, 1, 3};
    const bool has_weights = node.code == OpCode::conv || node.code == OpCode::transposed_conv;
    if (has_weights) {
      const Tensor& weights = editor_.tensor(node.inputs[1]);
      if (!weights.data || weights.shape.size() != 4) return false;
      Tensor turned = transposed_constant(weights, swap);
      graph_.tensors.push_back(std::move(turned));
      node.inputs[1] = static_cast<TensorId>(graph_.tensors.size()) - 1;
    }
    node.inputs[0] = front(x, swap, node);
    turn_options(node.options);
    define(node, swap);
    return true;
  }

  bool convert_binary(Node& node, const Perm& perm) {
    std::vector<TensorId> inputs;
    for (const TensorId input : node.inputs) {
      const Tensor& tensor = editor_.tensor(input);
      if (is_stream(input)) {
        if (tensor.shape.size() != perm.size()) return false;
        continue;
      }
      if (!tensor.data || tensor.shape.size() > perm.size()) return false;
    }
    for (const TensorId input : node.inputs) {
      if (is_stream(input)) {
        inputs.push_back(front(input, perm, node));
        continue;
      }
      Tensor wide = editor_.tensor(input);
      if (wide.channel_axis >= 0) wide.channel_axis += static_cast<int>(perm.size() - wide.shape.size());
      wide.shape.insert(wide.shape.begin(), perm.size() - wide.shape.size(), 1);
      graph_.tensors.push_back(transposed_constant(wide, perm));
      inputs.push_back(static_cast<TensorId>(graph_.tensors.size()) - 1);
    }
    node.inputs = std::move(inputs);
    define(node, perm);
    return true;
  }

  // Time by itself, then the other axes.
  bool split_padding(const Node& node, bool refused) {
    const auto* pad = std::get_if<PadOptions>(&node.options);
    if (!refused || pad == nullptr || pad->mode != PadMode::zero || !is_stream(node.inputs[0])) return false;
    const auto time = static_cast<std::size_t>(time_axis(node.inputs[0]));
    PadOptions over_time = *pad, others = *pad;
    bool any = false;
    for (std::size_t axis = 0; axis < pad->before.size(); ++axis) {
      PadOptions& other = axis == time ? others : over_time;
      any = any || (axis != time && (pad->before[axis] != 0 || pad->after[axis] != 0));
      other.before[axis] = other.after[axis] = 0;
    }
    if (!any) return false;
    original(node.inputs[0], node);
    std::vector<std::int32_t> shape = editor_.shape(node.inputs[0]);
    shape[time] += pad->before[time] + pad->after[time];
    Node first = node, second = node;
    first.name += "/time";
    first.options = over_time;
    first.outputs = {editor_.like(node.inputs[0], shape, "/padded")};
    // The value is one of the output's: it must mean the same in between.
    const Tensor &y = editor_.tensor(node.outputs[0]), &x = editor_.tensor(node.inputs[0]);
    if (y.exponents != x.exponents || y.scales != x.scales) return false;
    second.inputs = first.outputs;
    second.options = others;
    editor_.add(first);
    editor_.add(second);
    changed_ = true;
    return true;
  }

  Graph& graph_;
  const std::vector<int>& time_axes_;
  std::set<int> refused_;
  GraphEditor editor_;
  std::map<TensorId, Front> fronts_;
  bool changed_ = false;
};

}  // namespace

bool put_time_first(Graph& graph, const std::vector<int>& time_axes, const std::vector<int>& refused) {
  return TimeFirst(graph, time_axes, refused).run();
}

}  // namespace runnel::compiler
