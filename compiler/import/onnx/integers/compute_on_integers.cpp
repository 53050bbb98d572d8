// The integer operators of the plans: which scales meet decides between shifts and multipliers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "compiler/import/onnx/integers/integer_plan.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler {
namespace {

using kernels::Rounding;

bool is_quantized(const Tensor& tensor) {
  return (tensor.dtype == DType::int8 || tensor.dtype == DType::int16) && tensor.scales.size() == 1 &&
         tensor.zero_points.size() == 1;
}

// Tensors that operators bring together: shifts for all of them, or multipliers for all.
class Groups {
 public:
  explicit Groups(const Graph& graph)
      : parent_(graph.tensors.size()), multipliers_(graph.tensors.size(), false) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const Tensor& tensor = graph.tensors[i];
      multipliers_[i] =
          is_quantized(tensor) && (tensor.zero_points[0] != 0 || !exponent_of(tensor.scales[0]));
    }
  }
  void join(TensorId a, TensorId b) {
    const std::size_t from = root(a), to = root(b);
    multipliers_[to] = multipliers_[to] || multipliers_[from];
    parent_[from] = to;
  }
  void need_multipliers(TensorId id) { multipliers_[root(id)] = true; }
  bool multipliers(TensorId id) { return multipliers_[root(id)]; }

 private:
  std::size_t root(TensorId id) {
    auto at = static_cast<std::size_t>(id);
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  std::vector<std::size_t> parent_;
  std::vector<bool> multipliers_;
};

Groups groups_of(const Graph& graph, const std::vector<Plan>& plans) {
  Groups groups(graph);
  for (const Node& node : graph.nodes) {
    if (!moves_data(node) || !is_quantized(graph.tensors[static_cast<std::size_t>(node.outputs[0])]))
      continue;
    for (std::size_t i = 0; i < moved_inputs(node); ++i) groups.join(node.inputs[i], node.outputs[0]);
    for (const TensorId id : node.outputs) groups.join(id, node.outputs[0]);
  }
  for (const Plan& plan : plans) {
    if (plan.kind == Plan::Kind::table) continue;
    for (const TensorId id : plan.inputs) groups.join(id, plan.output);
    if (!std::all_of(plan.weights.scales.begin(), plan.weights.scales.end(),
                     [](float scale) { return exponent_of(scale).has_value(); }))
      groups.need_multipliers(plan.output);
  }
  return groups;
}

class Writer {
 public:
  Writer(Graph& graph, Groups groups) : graph_(graph), groups_(std::move(groups)) {}

  Status run(const std::vector<Plan>& plans) {
    const std::vector<Node> old = graph_.nodes;
    std::vector<Node> nodes;
    std::size_t next = 0;
    for (std::size_t i = 0; i < old.size(); ++i) {
      made_.clear();
      if (next < plans.size() && plans[next].quantize == i) {
        RUNNEL_TRY(emit(plans[next++], old));
      } else {
        keep(old[i]);
      }
      for (Node& node : made_) nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
    for (const auto& [id, like] : twins_) set_numbers(id, groups_.multipliers(like));
    for (std::size_t i = 0; i < known_; ++i) {
      const auto id = static_cast<TensorId>(i);
      if (is_quantized(tensor(id))) set_numbers(id, groups_.multipliers(id));
    }
    return {};
  }

 private:
  Tensor& tensor(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }
  bool multipliers(TensorId id) { return groups_.multipliers(id); }

  // Powers of two lose their scale for an exponent.
  void set_numbers(TensorId id, bool multipliers) {
    Tensor& numbers = tensor(id);
    if (multipliers) return;
    numbers.exponents.clear();
    for (const float scale : numbers.scales)
      numbers.exponents.push_back(static_cast<std::int8_t>(*exponent_of(scale)));
    numbers.scales.clear();
    numbers.zero_points.clear();
  }

  // A new tensor with the scale of `like`, in its group.
  TensorId twin(TensorId like, DType dtype, std::int32_t zero_point) {
    Tensor made = tensor(like);
    made.name += "/" + std::to_string(graph_.tensors.size());
    made.dtype = dtype;
    made.zero_points = {zero_point};
    made.data.reset();
    const auto id = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(made));
    const auto known =
        std::find_if(twins_.begin(), twins_.end(), [like](const auto& entry) { return entry.first == like; });
    twins_.emplace_back(id, known == twins_.end() ? like : known->second);
    return id;
  }
  TensorId twin(TensorId like) { return twin(like, tensor(like).dtype, tensor(like).zero_points[0]); }

  Node& add(const Node& from, OpCode code, Arithmetic arithmetic, std::vector<TensorId> inputs,
            TensorId output) {
    Node node;
    node.name = from.name;
    node.code = code;
    node.arithmetic = arithmetic;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.rounding = multipliers_now_ ? Rounding::tflite_double : Rounding::half_even;
    made_.push_back(std::move(node));
    return made_.back();
  }

  // Nodes that stay: their versions follow from what their tensors became.
  void keep(const Node& from) {
    Node node = from;
    const auto shifts = [&](TensorId id) { return is_quantized(tensor(id)) && !multipliers(id); };
    if (node.code == OpCode::quantize || node.code == OpCode::dequantize) {
      node.arithmetic = shifts(node.code == OpCode::quantize ? node.outputs[0] : node.inputs[0])
                            ? Arithmetic::espdl
                            : Arithmetic::tflite;
      node.rounding = Rounding::half_even;
    } else if (node.code == OpCode::requantize) {
      const bool in = shifts(node.inputs[0]), out = shifts(node.outputs[0]);
      if (in || out) return through_floats(node, in, out);
    } else if (node.code == OpCode::max_pool && is_quantized(tensor(node.outputs[0]))) {
      node.arithmetic = shifts(node.outputs[0]) ? Arithmetic::espdl : Arithmetic::tflite;
    }
    made_.push_back(std::move(node));
  }

  // From uint8 to an int8 that has lost its scale, or back: exact in float32.
  void through_floats(const Node& node, bool in, bool out) {
    Tensor floats = tensor(node.inputs[0]);
    floats.name += ".floats";
    floats.dtype = DType::float32;
    floats.scales.clear();
    floats.zero_points.clear();
    const auto id = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(floats));
    Node first = node, second = node;
    first.code = OpCode::dequantize;
    first.arithmetic = in ? Arithmetic::espdl : Arithmetic::tflite;
    first.outputs = {id};
    second.code = OpCode::quantize;
    second.arithmetic = out ? Arithmetic::espdl : Arithmetic::tflite;
    second.rounding = Rounding::half_even;
    second.inputs = {id};
    made_.push_back(std::move(first));
    made_.push_back(std::move(second));
  }

  TensorId table(const Node& node, std::vector<std::byte> values) {
    Tensor made;
    made.name = node.name + ".table";
    made.dtype = DType::int8;
    made.shape = {256};
    made.data = std::move(values);
    graph_.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }

  bool same_numbers(TensorId a, TensorId b) {
    return tensor(a).scales == tensor(b).scales && tensor(a).zero_points == tensor(b).zero_points;
  }

  // From one scale of int8 to another: what dequantize and quantize make of each integer.
  std::vector<std::byte> change_of_scale(TensorId x, TensorId y) {
    std::array<std::int8_t, 256> every;
    std::iota(every.begin(), every.end(), std::int8_t{-128});
    std::array<float, 256> values;
    std::vector<std::byte> results(256);
    kernels::affine_dequantize({DType::int8, tensor(x).scales[0], tensor(x).zero_points[0]}, 256,
                               every.data(), values.data());
    kernels::affine_quantize({DType::int8, tensor(y).scales[0], tensor(y).zero_points[0]},
                             Rounding::half_even, 256, values.data(), results.data());
    return results;
  }
  void rescale(const Node& node, TensorId x, TensorId y) {
    add(node, OpCode::lut, Arithmetic::espdl, {x, table(node, change_of_scale(x, y))}, y).options =
        LutOptions{};
  }
  // The same values with the scale of `like`.
  TensorId rescaled(const Node& node, TensorId x, TensorId like) {
    if (same_numbers(x, like)) return x;
    const TensorId y = twin(like);
    tensor(y).shape = tensor(x).shape;
    if (!tensor(x).data) {
      rescale(node, x, y);
      return y;
    }
    const std::vector<std::byte> results = change_of_scale(x, like);
    tensor(y).data.emplace();
    for (const std::byte value : *tensor(x).data)
      tensor(y).data->push_back(results[static_cast<std::uint8_t>(value ^ std::byte{0x80})]);
    return y;
  }

  Status emit(const Plan& plan, const std::vector<Node>& old) {
    multipliers_now_ = multipliers(plan.output);
    const Node& quantize = old[plan.quantize];
    if (plan.kind == Plan::Kind::table) return emit_table(plan, quantize);
    const Node& op = old[plan.op];
    // A clip works on the integers, before or after the rounding is the same.
    const TensorId y = plan.clip ? twin(plan.output) : plan.output;
    switch (plan.kind) {
      case Plan::Kind::weighted:
        emit_weighted(plan, op, y);
        break;
      case Plan::Kind::concat:
      case Plan::Kind::pair:
        emit_pair(plan, op, y);
        break;
      default:
        emit_single(plan, op, y);
        break;
    }
    if (!plan.clip) return {};
    const Node& clip = old[*plan.clip];
    const auto& limits = std::get<ClipOptions>(clip.options);
    const Tensor& numbers = tensor(plan.output);
    const auto integer = [&](float value) {
      const std::int64_t nearest =
          kernels::to_integer(value, numbers.scales[0], numbers.zero_points[0], Rounding::half_even);
      return static_cast<int>(
          std::clamp<std::int64_t>(nearest, kernels::lowest(numbers.dtype), kernels::highest(numbers.dtype)));
    };
    ClipOptions options = limits;
    options.low = integer(limits.low_value);
    options.high = std::max(options.low, integer(limits.high_value));
    add(clip, OpCode::clip, multipliers_now_ ? Arithmetic::tflite : Arithmetic::espdl, {y}, plan.output)
        .options = options;
    return {};
  }

  Status emit_table(const Plan& plan, const Node& quantize) {
    const TensorId x = plan.inputs[0];
    if (plan.piece.nodes.empty() && same_numbers(x, plan.output) &&
        multipliers(x) == multipliers(plan.output)) {
      add(quantize, OpCode::reshape, Arithmetic::espdl, {x}, plan.output);
      return {};
    }
    RUNNEL_ASSIGN(std::vector<std::byte> values,
                  table_of(graph_, plan.piece, x, plan.output, quantize.inputs[0]));
    Node& node =
        add(quantize, OpCode::lut, Arithmetic::espdl, {x, table(quantize, std::move(values))}, plan.output);
    node.options = LutOptions{};
    if (!plan.piece.nodes.empty()) node.name = graph_.nodes[plan.piece.nodes.back()].name;
    return {};
  }

  void emit_pair(const Plan& plan, const Node& op, TensorId y) {
    std::vector<TensorId> inputs = plan.inputs;
    const bool alike = op.code == OpCode::max || op.code == OpCode::min || op.code == OpCode::concat;
    for (TensorId& id : inputs) {
      if (alike && multipliers_now_) id = rescaled(op, id, y);
    }
    const Arithmetic with_shifts = alike ? Arithmetic::espdl : Arithmetic::exact;
    add(op, op.code,
        op.code == OpCode::concat ? Arithmetic::espdl
        : multipliers_now_        ? Arithmetic::tflite
                                  : with_shifts,
        std::move(inputs), y)
        .options = op.options;
  }

  void emit_single(const Plan& plan, const Node& op, TensorId y) {
    const bool pool = op.code == OpCode::average_pool && multipliers_now_ && !same_numbers(plan.inputs[0], y);
    const TensorId result = pool ? twin(plan.inputs[0]) : y;
    if (pool) tensor(result).shape = tensor(y).shape;
    add(op, op.code, multipliers_now_ ? Arithmetic::tflite : Arithmetic::espdl, plan.inputs, result).options =
        op.options;
    if (pool) rescale(op, result, y);
  }

  TensorId add_constant(const Node& op, const char* what, DType dtype, std::vector<std::int32_t> shape,
                        const std::vector<std::int64_t>& values) {
    Tensor made;
    made.name = op.name + what;
    made.dtype = dtype;
    made.shape = std::move(shape);
    const std::size_t size = size_of(dtype);
    made.data.emplace(values.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i)
      std::memcpy(made.data->data() + i * size, &values[i], size);
    graph_.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }

  void emit_weighted(const Plan& plan, const Node& op, TensorId y) {
    TensorId x = plan.inputs[0];
    const bool widened = plan.weights.wide && tensor(x).dtype == DType::int8;
    TensorId sum = y;
    if (widened) {  // the same integers, 16 bits wide, without zero points
      const TensorId narrow = x;
      x = twin(narrow, DType::int16, 0);
      sum = twin(y, DType::int16, 0);
      add(op, OpCode::requantize, multipliers_now_ ? Arithmetic::tflite : Arithmetic::espdl, {narrow}, x);
    }
    const DType dtype = tensor(x).dtype;
    const TensorId weights = add_constant(op, ".weights", dtype, tensor(op.inputs[1]).shape,
                                          {plan.weights.values.begin(), plan.weights.values.end()});
    Tensor& made = tensor(weights);
    made.scales = plan.weights.scales;
    made.zero_points.assign(made.scales.size(), 0);
    if (made.scales.size() > 1) made.channel_axis = 0;
    set_numbers(weights, multipliers_now_);
    std::vector<TensorId> inputs = {x, weights};
    if (op.inputs.size() > 2 && op.inputs[2] >= 0) inputs.push_back(bias(plan, op, dtype, x));
    add(op, op.code, Arithmetic::espdl, std::move(inputs), sum).options = op.options;
    if (widened)
      add(op, OpCode::requantize, multipliers_now_ ? Arithmetic::tflite : Arithmetic::espdl, {sum}, y);
  }

  TensorId bias(const Plan& plan, const Node& op, DType dtype, TensorId x) {
    const std::vector<std::byte>& data = *tensor(op.inputs[2]).data;
    std::vector<std::int64_t> values(data.size() / sizeof(float));
    for (std::size_t i = 0; i < values.size(); ++i) {
      float value = 0;
      std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
      const double unit = static_cast<double>(tensor(x).scales[0]) *
                          static_cast<double>(plan.weights.scales[plan.weights.scales.size() == 1 ? 0 : i]);
      values[i] = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(value) / unit));
    }
    return add_constant(op, ".bias", dtype == DType::int8 ? DType::int32 : DType::int64,
                        {static_cast<std::int32_t>(values.size())}, values);
  }

  Graph& graph_;
  Groups groups_;
  std::size_t known_ = graph_.tensors.size();
  std::vector<std::pair<TensorId, TensorId>> twins_;  // new tensors, and one of their group
  std::vector<Node> made_;
  bool multipliers_now_ = false;
};

}  // namespace

Status compute_on_integers(Graph& graph, const Grids& grids) {
  std::vector<Plan> plans = find_plans(graph, grids);
  for (;;) {
    Groups groups = groups_of(graph, plans);
    const std::size_t removed = std::erase_if(
        plans, [&](const Plan& plan) { return plan.powers_only && groups.multipliers(plan.output); });
    if (removed == 0) return Writer(graph, std::move(groups)).run(plans);
  }
}

}  // namespace runnel::compiler
