// Operators that move data change places with dequantize before them and with quantize after them.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "compiler/import/onnx/integers/integer_form.h"
#include "compiler/passes/simplify/tidy.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler {
namespace {

class Movement {
 public:
  explicit Movement(Graph& graph) : graph_(graph) {}

  void run() {
    join_quantizes();
    quantize_in_front();
    dequantize_behind();
    drop_unread(graph_);
  }

 private:
  Tensor& tensor(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }
  bool same_scale(TensorId a, TensorId b) {
    return tensor(a).dtype == tensor(b).dtype && tensor(a).scales == tensor(b).scales &&
           tensor(a).zero_points == tensor(b).zero_points;
  }
  TensorId like(TensorId shape, TensorId numbers, const char* suffix) {
    Tensor made = tensor(numbers);
    made.name = tensor(shape).name + suffix;
    made.shape = tensor(shape).shape;
    made.data.reset();
    graph_.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }

  // What is quantized twice with the same scale is quantized once.
  void join_quantizes() {
    std::map<std::tuple<TensorId, DType, float, std::int32_t>, TensorId> known;
    std::map<TensorId, TensorId> instead;
    for (Node& node : graph_.nodes) {
      for (TensorId& id : node.inputs) {
        if (const auto found = instead.find(id); found != instead.end()) id = found->second;
      }
      if (node.code != OpCode::quantize) continue;
      const TensorId y = node.outputs[0];
      const auto [place, fresh] = known.emplace(
          std::tuple(node.inputs[0], tensor(y).dtype, tensor(y).scales[0], tensor(y).zero_points[0]), y);
      const bool is_output =
          std::find(graph_.outputs.begin(), graph_.outputs.end(), y) != graph_.outputs.end();
      if (!fresh && !is_output) instead[y] = place->second;
    }
  }

  // The integer that pads; nothing where the operator's zero is no integer of this scale (`exact`) or the pad
  // is none.
  bool set_padding(Node& node, TensorId integers, bool exact) {
    auto* const pad = std::get_if<PadOptions>(&node.options);
    if (pad == nullptr) return true;
    const Tensor& to = tensor(integers);
    const std::int64_t nearest =
        kernels::to_integer(pad->real_value, to.scales[0], to.zero_points[0], kernels::Rounding::half_even);
    const std::int64_t value =
        std::clamp<std::int64_t>(nearest, kernels::lowest(to.dtype), kernels::highest(to.dtype));
    if (exact && static_cast<float>(value - to.zero_points[0]) * to.scales[0] != pad->real_value)
      return false;
    pad->value = static_cast<int>(value);
    return true;
  }

  // x -> move -> quantize: x -> quantize -> move. From the end, so that it passes any number of them.
  void quantize_in_front() {
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const OpCode code = graph_.nodes[i].code;
      if (code != OpCode::reshape && code != OpCode::transpose && code != OpCode::expand &&
          code != OpCode::pad && code != OpCode::slice)
        continue;
      const Uses uses(graph_);
      const TensorId moved = graph_.nodes[i].outputs[0], x = graph_.nodes[i].inputs[0];
      if (uses.readers[static_cast<std::size_t>(moved)] != 1 || tensor(x).data ||
          tensor(x).dtype != DType::float32)
        continue;
      // Where others read x in float32, or it is dequantized already, nothing is gained.
      if (uses.readers[static_cast<std::size_t>(x)] != 1) continue;
      const auto next = std::find_if(
          graph_.nodes.begin() + static_cast<std::ptrdiff_t>(i), graph_.nodes.end(),
          [&](const Node& node) { return node.code == OpCode::quantize && node.inputs[0] == moved; });
      if (next == graph_.nodes.end()) continue;
      Node quantize = *next, move = graph_.nodes[i];
      const TensorId y = quantize.outputs[0];
      if (!set_padding(move, y, false)) continue;
      graph_.nodes.erase(next);
      const TensorId early = like(x, y, ".quantized");
      quantize.inputs = {x};
      quantize.outputs = {early};
      move.inputs[0] = early;
      move.outputs[0] = y;
      graph_.nodes[i] = std::move(move);
      graph_.nodes.insert(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(i), std::move(quantize));
    }
  }

  // dequantize -> move: move -> dequantize.
  void dequantize_behind() {
    std::map<TensorId, TensorId> integers;  // after floats
    std::vector<Node> nodes;
    for (Node& node : graph_.nodes) {
      if (node.code == OpCode::dequantize) integers[node.outputs[0]] = node.inputs[0];
      if (!take(node, integers)) {
        nodes.push_back(std::move(node));
        continue;
      }
      std::vector<Node> back;
      for (TensorId& y : node.outputs) {
        const TensorId floats = y;
        y = like(floats, node.inputs[0], ".integers");
        integers[floats] = y;
        Node dequantize;
        dequantize.name = node.name;
        dequantize.code = OpCode::dequantize;
        dequantize.arithmetic = Arithmetic::tflite;
        dequantize.rounding = kernels::Rounding::half_even;
        dequantize.inputs = {y};
        dequantize.outputs = {floats};
        back.push_back(std::move(dequantize));
      }
      nodes.push_back(std::move(node));
      nodes.insert(nodes.end(), back.begin(), back.end());
    }
    graph_.nodes = std::move(nodes);
  }

  // The operator on integers, its outputs still float32.
  bool take(Node& node, const std::map<TensorId, TensorId>& integers) {
    if (!moves_data(node) || tensor(node.outputs[0]).dtype != DType::float32) return false;
    Node moved = node;
    for (std::size_t i = 0; i < moved_inputs(node); ++i) {
      const auto found = integers.find(node.inputs[i]);
      if (found == integers.end() || tensor(found->second).dtype == DType::int32 ||
          !same_scale(found->second, integers.at(node.inputs[0])))
        return false;
      moved.inputs[i] = found->second;
    }
    if (!set_padding(moved, moved.inputs[0], true)) return false;
    node = std::move(moved);
    return true;
  }

  Graph& graph_;
};

}  // namespace

void move_integers(Graph& graph) { Movement(graph).run(); }

}  // namespace runnel::compiler
