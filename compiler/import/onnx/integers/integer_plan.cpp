#include "compiler/import/onnx/integers/integer_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "inference/host/operator_traits.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler {
namespace {

std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> values(tensor.data->size() / sizeof(float));
  std::memcpy(values.data(), tensor.data->data(), values.size() * sizeof(float));
  return values;
}

// Forms for integers with power-of-two scales only.
bool has_power_form(const Node& node) {
  switch (node.code) {
    case OpCode::log_softmax:
    case OpCode::div:
    case OpCode::resize:
    case OpCode::reduce_sum:
    case OpCode::reduce_max:
    case OpCode::reduce_min:
      return true;
    // int16, which no table does; int8 functions are tables.
    case OpCode::relu:
      return true;
    default:
      return is_function(node.code);
  }
}

class Planner {
 public:
  Planner(Graph& graph, const Grids& grids) : graph_(graph), grids_(grids), uses_(graph) {}

  std::vector<Plan> run() {
    std::vector<Plan> plans;
    const std::size_t count = graph_.nodes.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Node& node = graph_.nodes[i];
      if (node.code != OpCode::quantize || tensor(node.outputs[0]).dtype == DType::int32) continue;
      if (auto plan = plan_for(i)) plans.push_back(std::move(*plan));
    }
    return plans;
  }

 private:
  Tensor& tensor(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }

  Node* maker(TensorId id) {
    const int made =
        id < static_cast<TensorId>(uses_.maker.size()) ? uses_.maker[static_cast<std::size_t>(id)] : -1;
    return made < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(made)];
  }
  // The integers after a dequantized tensor of this type.
  TensorId integers(TensorId floats, DType dtype) {
    const Node* const made = maker(floats);
    if (made == nullptr || made->code != OpCode::dequantize || tensor(made->inputs[0]).dtype != dtype)
      return kAbsent;
    return made->inputs[0];
  }

  std::optional<Plan> plan_for(std::size_t quantize) {
    Plan plan;
    plan.quantize = quantize;
    const TensorId floats = graph_.nodes[quantize].inputs[0];
    plan.output = graph_.nodes[quantize].outputs[0];
    const DType dtype = tensor(plan.output).dtype;
    if (dtype == DType::int8) {
      if (auto piece = find_pointwise(graph_, uses_.maker, floats);
          piece && integers(piece->x, dtype) != kAbsent) {
        plan.inputs = {integers(piece->x, dtype)};
        plan.piece = std::move(*piece);
        return plan;
      }
    }
    const Node* op = maker(floats);
    if (op == nullptr || uses_.readers[static_cast<std::size_t>(floats)] != 1) return std::nullopt;
    if (op->code == OpCode::clip) {
      const TensorId between = op->inputs[0];
      if (maker(between) == nullptr || uses_.readers[static_cast<std::size_t>(between)] != 1)
        return std::nullopt;
      plan.clip = static_cast<std::size_t>(op - graph_.nodes.data());
      op = maker(between);
    }
    plan.op = static_cast<std::size_t>(op - graph_.nodes.data());
    switch (op->code) {
      case OpCode::conv:
      case OpCode::fully_connected:
        return weighted(std::move(plan), *op, dtype);
      case OpCode::add:
      case OpCode::sub:
      case OpCode::mul:
        plan.kind = Plan::Kind::pair;
        return operands(std::move(plan), *op, dtype);
      case OpCode::max:
      case OpCode::min:
        plan.kind = Plan::Kind::pair;
        // Rounding to the result's scale first is a table, and tables are for int8.
        plan.powers_only = dtype != DType::int8;
        return operands(std::move(plan), *op, dtype);
      case OpCode::concat:
        plan.kind = Plan::Kind::concat;
        plan.powers_only = dtype != DType::int8;
        return operands(std::move(plan), *op, dtype);
      case OpCode::average_pool: {
        plan.kind = Plan::Kind::single;
        auto pool = operands(std::move(plan), *op, dtype);
        if (!pool) return std::nullopt;
        // With multipliers the pool rounds to the input's scale first: no coarser than the result's.
        const auto* const options = std::get_if<PoolOptions>(&op->options);
        const bool padded =
            options != nullptr && options->count_padding &&
            (options->pad_top | options->pad_left | options->pad_bottom | options->pad_right) != 0;
        const Tensor &x = tensor(pool->inputs[0]), &y = tensor(pool->output);
        pool->powers_only =
            padded || x.scales[0] > y.scales[0] ||
            (dtype != DType::int8 && (x.scales != y.scales || x.zero_points != y.zero_points));
        return pool;
      }
      case OpCode::reduce_mean:
        plan.kind = Plan::Kind::single;
        return operands(std::move(plan), *op, dtype);
      case OpCode::matmul:
        plan.kind = Plan::Kind::single;
        return operands(std::move(plan), *op, dtype);
      case OpCode::softmax: {
        plan.kind = Plan::Kind::single;
        auto softmax = operands(std::move(plan), *op, dtype);
        if (softmax) softmax->powers_only = !gives_fractions(*op, *softmax);
        return softmax;
      }
      default:
        if (!has_power_form(*op)) return std::nullopt;
        plan.kind = Plan::Kind::single;
        plan.powers_only = true;
        return operands(std::move(plan), *op, dtype);
    }
  }

  // With multipliers a softmax goes along the last axis, and gives fractions of 256, or of 32768 from int16
  // with zero point 0.
  bool gives_fractions(const Node& op, const Plan& plan) {
    const Tensor &x = tensor(plan.inputs[0]), &y = tensor(plan.output);
    const auto* const axis = std::get_if<AxisOptions>(&op.options);
    if (axis == nullptr || axis->axis != static_cast<int>(x.shape.size()) - 1) return false;
    if (y.dtype == DType::int8) return y.scales[0] == 1.0f / 256 && y.zero_points[0] == -128;
    return x.zero_points[0] == 0 && y.scales[0] == 1.0f / 32768 && y.zero_points[0] == 0;
  }

  // All operands as integers of one type: dequantized ones, and constants with a grid.
  std::optional<Plan> operands(Plan plan, const Node& op, DType dtype) {
    for (const TensorId id : op.inputs) {
      TensorId found = id < 0 ? kAbsent : integers(id, dtype);
      if (found == kAbsent && id >= 0 && tensor(id).data) found = twin(id, dtype);
      if (found == kAbsent) return std::nullopt;
      plan.inputs.push_back(found);
    }
    return plan;
  }

  // A constant on a grid of one scale as integers.
  TensorId twin(TensorId id, DType dtype) {
    const auto grid = grids_.find(id);
    if (grid == grids_.end() || grid->second == nullptr || grid->second->scales.size() != 1 ||
        tensor(id).dtype != DType::float32)
      return kAbsent;
    std::int32_t zero = grid->second->zero_points.empty() ? 0 : grid->second->zero_points[0];
    if (grid->second->dtype == DType::uint8)
      zero -= 128;
    else if (grid->second->dtype != dtype)
      return kAbsent;
    if (zero < kernels::lowest(dtype) || zero > kernels::highest(dtype)) return kAbsent;
    const float scale = grid->second->scales[0];
    const std::vector<float> values = floats_of(tensor(id));
    Tensor made = tensor(id);
    made.name += ".integers";
    made.dtype = dtype;
    made.scales = {scale};
    made.zero_points = {zero};
    made.data.emplace(values.size() * size_of(dtype));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t value = kernels::to_integer(values[i], scale, zero);
      if (value < kernels::lowest(dtype) || value > kernels::highest(dtype) ||
          static_cast<float>(value - zero) * scale != values[i])
        return kAbsent;
      kernels::store(dtype, made.data->data(), i, value);
    }
    graph_.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }

  std::optional<Plan> weighted(Plan plan, const Node& op, DType dtype) {
    plan.kind = Plan::Kind::weighted;
    const TensorId x = integers(op.inputs[0], dtype), w = op.inputs[1];
    if (x == kAbsent || !tensor(w).data || tensor(w).dtype != DType::float32) return std::nullopt;
    plan.inputs = {x};
    const auto grid = grids_.find(w);
    if (grid == grids_.end() || grid->second == nullptr) return std::nullopt;
    const auto outputs = static_cast<std::size_t>(tensor(w).shape[0]);
    const std::vector<float>& scales = grid->second->scales;
    if (scales.size() != 1 && scales.size() != outputs) return std::nullopt;
    const std::vector<float> values = floats_of(tensor(w));
    const std::size_t row = values.size() / outputs;
    constexpr std::int64_t kMax = 32767;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scale = scales[scales.size() == 1 ? 0 : i / row];
      const std::int64_t value = kernels::to_integer(values[i], scale, 0);
      if (value < -kMax || value > kMax || static_cast<float>(value) * scale != values[i])
        return std::nullopt;
      plan.weights.wide = plan.weights.wide || value < -128 || value > 127;
      plan.weights.values.push_back(static_cast<std::int32_t>(value));
    }
    plan.weights.scales = scales;
    if (op.inputs.size() > 2 && op.inputs[2] >= 0 && !bias_fits(plan, tensor(op.inputs[2]), row))
      return std::nullopt;
    return plan;
  }

  // Sums of int8 products have 32 bits.
  bool bias_fits(const Plan& plan, const Tensor& bias, std::size_t row) {
    if (!bias.data || bias.dtype != DType::float32) return false;
    const std::vector<float> values = floats_of(bias);
    const Tensor& x = tensor(plan.inputs[0]);
    const double limit = x.dtype == DType::int8 && !plan.weights.wide
                             ? 2147483647.0 - 255.0 * 128.0 * static_cast<double>(row)
                             : 1e15;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double unit = static_cast<double>(x.scales[0]) *
                          static_cast<double>(plan.weights.scales[plan.weights.scales.size() == 1 ? 0 : i]);
      if (!(std::abs(static_cast<double>(values[i]) / unit) <= limit)) return false;
    }
    return true;
  }

  Graph& graph_;
  const Grids& grids_;
  Uses uses_;
};

}  // namespace

std::optional<int> exponent_of(float scale) {
  int exponent = 0;
  if (!(scale > 0) || std::frexp(scale, &exponent) != 0.5f || exponent - 1 < -100 || exponent - 1 > 100)
    return std::nullopt;
  return exponent - 1;
}

std::vector<Plan> find_plans(Graph& graph, const Grids& grids) { return Planner(graph, grids).run(); }

}  // namespace runnel::compiler
