#include "compiler/quantize/integer_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

#include "compiler/passes/non_negative.h"
#include "compiler/quantize/round/fixed_constants.h"
#include "compiler/quantize/round/function_table.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::quantizer {
namespace {

template <class T>
void store_as(const std::vector<std::int32_t>& integers, std::vector<std::byte>& bytes) {
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const auto integer = kernels::saturate<T>(integers[i]);
    std::memcpy(bytes.data() + i * sizeof integer, &integer, sizeof integer);
  }
}
void store_all(const std::vector<std::int32_t>& integers, DType type, Tensor& tensor) {
  tensor.data.emplace(integers.size() * size_of(type));
  if (type == DType::int16)
    store_as<std::int16_t>(integers, *tensor.data);
  else
    store_as<std::int8_t>(integers, *tensor.data);
}

class Emission {
 public:
  Emission(const Graph& graph, const Plan& plan)
      : from_(graph), plan_(plan), types_(tensor_types(graph, plan)) {
    graph_.name = graph.name;
    graph_.inputs = graph.inputs;
    graph_.outputs = graph.outputs;
    graph_.time_axes = graph.time_axes;
    graph_.time_axis_reason = graph.time_axis_reason;
    graph_.metadata = graph.metadata;
    graph_.pipeline = graph.pipeline;
    for (const Tensor& tensor : graph.tensors) graph_.tensors.push_back(without_data(tensor));
  }

  Result<Graph> run() {
    for (const TensorId id : graph_.inputs) quantize_tensor(id);
    for (std::size_t n = 0; n < from_.nodes.size(); ++n) {
      number_ = static_cast<int>(n);
      RUNNEL_TRY(emit(from_.nodes[n]));
    }
    keep_constants();
    mark_non_negative(graph_);
    return std::move(graph_);
  }

 private:
  Tensor& at(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }
  const Tensor& before(TensorId id) const { return from_.tensors[static_cast<std::size_t>(id)]; }
  bool affine() const { return plan_.scheme == Scheme::affine; }
  Grid grid(TensorId id, DType type) const { return plan_.grid(id, type); }
  static Status fail(const Node& node) {
    return Status(Code::unsupported) << "node \"" << node.name << "\": ";
  }

  void quantize_tensor(TensorId id) {
    const DType type = types_[static_cast<std::size_t>(id)];
    if (before(id).dtype == DType::float32 && type != DType::float32) set_grid(at(id), grid(id, type));
  }

  // Those that stay as they were: most do not.
  void keep_constants() {
    std::vector<TensorId> used = graph_.outputs;
    for (const Node& node : graph_.nodes) used.insert(used.end(), node.inputs.begin(), node.inputs.end());
    for (const TensorId id : used) {
      if (id < 0 || static_cast<std::size_t>(id) >= from_.tensors.size() || at(id).data) continue;
      at(id).data = before(id).data;
    }
  }

  TensorId add(Tensor tensor) {
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }

  Node node_like(const Node& node, OpCode code, Arithmetic arithmetic) const {
    Node made;
    made.name = node.name;
    made.code = code;
    made.arithmetic = arithmetic;
    made.rounding = plan_.target.rounding;
    return made;
  }

  // An operand as this type on this grid: constants are quantized, computed values change their type or scale
  // once for all who ask.
  TensorId operand(const Node& node, TensorId id, DType type, const Grid& wanted) {
    if (id < 0 || before(id).dtype != DType::float32) return id;
    const Tensor& now = at(id);
    if (before(id).data) return type == DType::float32 ? id : constant(id, wanted);
    const DType has = types_[static_cast<std::size_t>(id)];
    if (has == type && (type == DType::float32 || same(now, wanted))) return id;
    const auto key = std::tuple(id, type, wanted.exponent, wanted.step, wanted.zero);
    if (const auto found = changed_.find(key); found != changed_.end()) return found->second;
    Tensor made;
    made.name = now.name + (type == DType::float32 ? ".real" : type == DType::int8 ? ".s8" : ".s16");
    made.shape = now.shape;
    made.dtype = DType::float32;
    if (type != DType::float32) set_grid(made, wanted);
    const TensorId to = add(std::move(made));
    const OpCode code = type == DType::float32  ? OpCode::dequantize
                        : has == DType::float32 ? OpCode::quantize
                                                : OpCode::requantize;
    Node change = node_like(node, code, affine() ? Arithmetic::tflite : Arithmetic::espdl);
    change.name = before(id).name + (code == OpCode::dequantize ? "/dequantize"
                                     : code == OpCode::quantize ? "/quantize"
                                                                : "/requantize");
    change.inputs = {id};
    change.outputs = {to};
    graph_.nodes.push_back(std::move(change));
    changed_.emplace(key, to);
    return to;
  }
  static bool same(const Tensor& tensor, const Grid& grid) {
    if (grid.affine)
      return tensor.scales.size() == 1 && tensor.scales[0] == static_cast<float>(grid.step) &&
             tensor.zero_points[0] == grid.zero;
    return tensor.exponents.size() == 1 && tensor.exponents[0] == grid.exponent;
  }
  // The grid that the tensor has, or would have as this type.
  Grid own_grid(TensorId id, DType type) const {
    if (!before(id).data) return grid(id, type);
    Range range;
    for (const float value : floats_of(before(id))) {
      range.low = std::min(range.low, static_cast<double>(value));
      range.high = std::max(range.high, static_cast<double>(value));
    }
    return grid_of(range, type, plan_.scheme);
  }
  TensorId own(const Node& node, TensorId id, DType type) {
    return operand(node, id, type, id < 0 ? Grid{} : own_grid(id, type));
  }

  TensorId constant(TensorId id, const Grid& wanted) {
    Tensor made = before(id);
    const std::vector<float> values = floats_of(made);
    set_grid(made, wanted);
    made.data.emplace(values.size() * size_of(wanted.dtype));
    to_integers(made, plan_.target.rounding, values, *made.data);
    return add(std::move(made));
  }

  Status emit(const Node& node) {
    const auto n = static_cast<std::size_t>(number_);
    const DType type = plan_.types[n];
    for (const TensorId id : node.outputs) {
      if (id >= 0) quantize_tensor(id);
    }
    if (type == DType::float32) return emit_real(node);
    switch (plan_.roles[n]) {
      case Role::weighted:
        return emit_weighted(node, type);
      case Role::passive:
        return emit_passive(node, type);
      case Role::concat:
        return emit_concat(node, type);
      case Role::recurrent:
        return emit_recurrent(node, type);
      case Role::function:
        return emit_function(node, type);
      case Role::attention:
        return emit_attention(node, type);
      case Role::norm:
        return emit_norm(node, type);
      default:
        return emit_plain(node, type);
    }
  }

  Status emit_real(Node node) {
    for (TensorId& id : node.inputs) id = operand(node, id, DType::float32, Grid{});
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Status emit_passive(Node node, DType type) {
    // Operands after the first one are indices and lengths.
    node.inputs[0] = own(node, node.inputs[0], type);
    node.rounding = plan_.target.rounding;
    if (affine() && (node.code == OpCode::max_pool || node.code == OpCode::average_pool))
      node.arithmetic = Arithmetic::tflite;
    if (auto* pad = std::get_if<PadOptions>(&node.options)) pad->value = grid(node.outputs[0], type).zero;
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Status emit_concat(Node node, DType type) {
    const Grid wanted = grid(node.outputs[0], type);
    for (TensorId& id : node.inputs) id = operand(node, id, type, wanted);
    node.rounding = plan_.target.rounding;
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  // Operators whose operands and result have scales of their own.
  Status emit_plain(Node node, DType type) {
    for (TensorId& id : node.inputs) id = own(node, id, type);
    node.rounding = plan_.target.rounding;
    const bool arithmetic = node.code == OpCode::add || node.code == OpCode::sub || node.code == OpCode::mul;
    if (affine())
      node.arithmetic = Arithmetic::tflite;
    else if (arithmetic && !plan_.target.esp_dl)
      node.arithmetic = Arithmetic::exact;
    if (auto* clip = std::get_if<ClipOptions>(&node.options)) {
      const Grid y = grid(node.outputs[0], type);
      const auto bound = [&](float value) {
        return static_cast<int>(std::lround(
                   std::clamp(rounded(y, plan_.target.rounding, static_cast<double>(value)) / y.step,
                              -65536.0, 65536.0))) +
               y.zero;
      };
      clip->low = bound(clip->low_value);
      clip->high = std::max(clip->low, bound(clip->high_value));
    }
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Status emit_function(Node node, DType type) {
    // Of an NPU, which interpolates in 512 segments, half up.
    const bool segments = plan_.target.int8_weights && type == DType::int16;
    if (!affine() && !plan_.target.esp_dl && !segments) return emit_plain(std::move(node), type);
    constexpr int kEntries = 257, kEnds = 513;
    node.inputs[0] = own(node, node.inputs[0], type);
    RUNNEL_ASSIGN(Tensor table, make_function_table(node, at(node.inputs[0]), at(node.outputs[0]),
                                                    plan_.target.rounding, segments ? kEnds : kEntries));
    Node lut = node_like(node, OpCode::lut, Arithmetic::espdl);
    lut.inputs = {node.inputs[0], add(std::move(table))};
    lut.outputs = node.outputs;
    lut.options = LutOptions{!plan_.target.esp_dl};
    if (segments) lut.rounding = kernels::Rounding::half_up;
    graph_.nodes.push_back(std::move(lut));
    return {};
  }

  Status emit_attention(Node node, DType type) {
    for (std::size_t i = 0; i < 3; ++i) node.inputs[i] = own(node, node.inputs[i], type);
    if (node.inputs.size() > 3 && node.inputs[3] >= 0)
      node.inputs[3] = add(fixed_bias(before(node.inputs[3])));
    if (node.inputs.size() > 4 && node.inputs[4] >= 0)
      node.inputs[4] = constant(node.inputs[4], symmetric_grid(node.inputs[4], type));
    return emit_fixed(std::move(node));
  }
  Status emit_norm(Node node, DType type) {
    node.inputs[0] = own(node, node.inputs[0], type);
    const bool has_offset = node.inputs.size() > 2 && node.inputs[2] >= 0;
    FixedNormConstants made = fixed_norm_constants(
        before(node.inputs[1]), has_offset ? &before(node.inputs[2]) : nullptr, plan_.scheme);
    node.inputs[1] = add(std::move(made.gain));
    if (has_offset) node.inputs[2] = add(std::move(made.offset));
    return emit_fixed(std::move(node));
  }
  Status emit_fixed(Node node) {
    node.arithmetic = Arithmetic::fixed_point;
    node.rounding = plan_.target.rounding;
    graph_.nodes.push_back(std::move(node));
    return {};
  }
  // Of a constant, without a zero point.
  Grid symmetric_grid(TensorId id, DType type) const {
    Range range;
    for (const float value : floats_of(before(id))) {
      range.high = std::max(range.high, std::abs(static_cast<double>(value)));
      range.low = -range.high;
    }
    Grid made = grid_of(range, type, plan_.scheme);
    if (made.affine) {
      made.zero = 0;
      made.step = static_cast<double>(static_cast<float>(range.high / kernels::highest(type)));
    }
    return made;
  }

  Status emit_weighted(Node node, DType type) {
    const TensorId x = node.inputs[0];
    const Grid in = grid(x, type), out = grid(node.outputs[0], type);
    const auto decided = plan_.layers.find(number_);
    const std::shared_ptr<const Layer> kept =
        decided != plan_.layers.end()
            ? decided->second
            : std::make_shared<const Layer>(
                  nearest_layer(from_, from_.nodes[static_cast<std::size_t>(number_)], plan_, in));
    const Layer& layer = *kept;
    Tensor weights = without_data(before(node.inputs[1]));
    weights.dtype = type;
    weights.channel_axis = layer.steps.size() > 1 ? 0 : -1;
    if (affine()) {
      for (const double step : layer.steps) weights.scales.push_back(static_cast<float>(step));
      weights.zero_points.assign(layer.steps.size(), 0);
    } else {
      for (const int exponent : layer.exponents) {
        const int shift = out.exponent - in.exponent - exponent;
        if (exponent < kLowestExponent || exponent > kHighestExponent)
          return fail(node) << "weights at 2^" << exponent << ", expected 2^" << kLowestExponent << " to 2^"
                            << kHighestExponent;
        if (plan_.target.esp_dl && shift < 0)
          return fail(node) << "a shift of " << shift << " from the accumulator (2^" << in.exponent + exponent
                            << ") to the output (2^" << out.exponent << "), expected 0 or more";
        weights.exponents.push_back(static_cast<std::int8_t>(exponent));
      }
    }
    store_all(layer.integers, type, weights);
    node.inputs[0] = own(node, x, type);
    node.inputs[1] = add(std::move(weights));
    node.inputs.resize(layer.bias.empty() ? 2 : 3);
    if (!layer.bias.empty()) {
      RUNNEL_ASSIGN(node.inputs[2], bias_of(node, layer, in, type));
    }
    node.rounding = affine() && type == DType::int16 && plan_.target.int8_weights ? kernels::Rounding::single
                                                                                  : plan_.target.rounding;
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Result<TensorId> bias_of(const Node& node, const Layer& layer, const Grid& in, DType type) {
    Tensor bias;
    const Node& old = from_.nodes[static_cast<std::size_t>(number_)];
    bias.name =
        old.inputs.size() > 2 && old.inputs[2] >= 0 ? before(old.inputs[2]).name : node.name + ".bias";
    bias.dtype = type == DType::int8 ? DType::int32 : DType::int64;
    bias.shape = {static_cast<std::int32_t>(layer.bias.size())};
    bias.data.emplace(layer.bias.size() * size_of(bias.dtype));
    const int bits = type == DType::int8 ? plan_.target.bias_bits_int8 : plan_.target.bias_bits_int16;
    const double most = std::ldexp(1.0, std::min(bits, 62) - 1);
    if (!affine()) {
      for (const int exponent : layer.exponents)
        bias.exponents.push_back(static_cast<std::int8_t>(exponent + in.exponent));
      if (bias.exponents.size() > 1) bias.channel_axis = 0;
    }
    for (std::size_t c = 0; c < layer.bias.size(); ++c) {
      const double value =
          std::nearbyint(layer.bias[c] / (layer.steps[layer.steps.size() == 1 ? 0 : c] * in.step));
      if (!(value < most && value >= -most))
        return fail(node) << "the bias of channel " << c << " does not fit into " << bits
                          << " bits at the product of the scales of input and weights";
      const auto integer = static_cast<std::int64_t>(value);
      std::memcpy(bias.data->data() + c * size_of(bias.dtype), &integer, size_of(bias.dtype));
    }
    return add(std::move(bias));
  }

  // GRU, LSTM: one scale for each matrix, biases and cells int16 at the gates' exponent.
  Status emit_recurrent(Node node, DType type) {
    const auto found = plan_.gate_exponents.find(number_);
    const int gates = found == plan_.gate_exponents.end() ? kGateExponent : found->second;
    const TensorId h = node.outputs[0];
    node.inputs[0] = own(node, node.inputs[0], type);
    for (const std::size_t i : {1u, 2u}) {
      const auto decided = plan_.matrices.find({number_, static_cast<int>(i)});
      node.inputs[i] = decided == plan_.matrices.end() ? own(node, node.inputs[i], type)
                                                       : matrix(node.inputs[i], decided->second, type);
    }
    if (node.inputs.size() > 3 && node.inputs[3] >= 0)
      node.inputs[3] = constant(node.inputs[3], grid_of_exponent(gates, DType::int16));
    if (node.inputs.size() > 4 && node.inputs[4] >= 0)
      node.inputs[4] = operand(node, node.inputs[4], type, grid(h, type));
    const int outputs = std::get<RecurrentOptions>(node.options).outputs;
    if (node.inputs.size() > 5 && node.inputs[5] >= 0)
      node.inputs[5] = operand(node, node.inputs[5], DType::int16, grid_of_exponent(gates, DType::int16));
    if ((outputs & 4) != 0) set_grid(at(node.outputs.back()), grid_of_exponent(gates, DType::int16));
    std::get<RecurrentOptions>(node.options).gate_exponent = gates;
    node.rounding = plan_.target.rounding;
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  TensorId matrix(TensorId id, const Layer& layer, DType type) {
    Tensor made = before(id);
    set_grid(made, grid_of_exponent(layer.exponents[0], type));
    store_all(layer.integers, type, made);
    return add(std::move(made));
  }

  static constexpr int kGateExponent = -11;
  const Graph& from_;
  const Plan& plan_;
  std::vector<DType> types_;
  Graph graph_;
  std::map<std::tuple<TensorId, DType, int, double, std::int32_t>, TensorId> changed_;
  int number_ = 0;
};

}  // namespace

Result<Graph> emit_integer_graph(const Graph& graph, const Plan& plan) { return Emission(graph, plan).run(); }

}  // namespace runnel::compiler::quantizer
