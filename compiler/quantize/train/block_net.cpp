#include "compiler/quantize/train/block_net.h"

#include <algorithm>
#include <cmath>

#include "compiler/quantize/round/function_table.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::quantizer {
namespace {

// Adam moves a parameter by about its rate per step: logarithms of scales by `lr`, weights and biases by this
// many times that share of an integer step.
constexpr double kWeightRate = 2;

// log2 of the largest magnitude on a grid of this exponent, from values up to `largest`: in (bits - 1 +
// exponent - 1, bits - 1 + exponent].
double reach_of(int exponent, int bits, double largest) {
  const double high = exponent + bits - 1;
  return largest > 0 ? std::clamp(std::log2(largest), high - 0.95, high - 0.05) : high - 0.5;
}
int exponent_of(double reach, int bits) { return static_cast<int>(std::ceil(reach)) - (bits - 1); }
int bits_of(DType type) { return type == DType::int8 ? 8 : 16; }

bool has_windows(const Graph& graph, const Node& node) {
  const auto& x = graph.tensors[static_cast<std::size_t>(node.inputs[0])].shape;
  if (node.code == OpCode::average_pool || node.code == OpCode::max_pool)
    return x.size() == 3 || x.size() == 4;
  return node.code == OpCode::reshape || node.code == OpCode::transpose ||
         (node.code == OpCode::reduce_mean && node.arithmetic == Arithmetic::espdl);
}

}  // namespace

bool BlockNet::supports(const Graph& graph, const Plan& plan, std::size_t node) {
  const Node& op = graph.nodes[node];
  if (plan.types[node] == DType::float32 || op.outputs.size() != 1) return false;
  const auto computed = [&](std::size_t i) {
    return op.inputs[i] >= 0 && !graph.tensors[static_cast<std::size_t>(op.inputs[i])].data;
  };
  switch (op.code) {
    case OpCode::conv:
    case OpCode::fully_connected:
      return plan.roles[node] == Role::weighted;
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul: {
      const auto& y = graph.tensors[static_cast<std::size_t>(op.outputs[0])].shape;
      const auto like = [&](std::size_t i) {
        return computed(i) && graph.tensors[static_cast<std::size_t>(op.inputs[i])].shape == y;
      };
      return plan.roles[node] == Role::pair && like(0) && like(1);
    }
    case OpCode::relu:
    case OpCode::clip:
      return plan.roles[node] == Role::value && computed(0);
    default:
      return computed(0) &&
             ((plan.roles[node] == Role::function && function_of(op).has_value()) || has_windows(graph, op));
  }
}

BlockNet::BlockNet(const Graph& graph, const Plan& plan, const Block& block, bool free_scales,
                   const TrainingSettings& settings)
    : graph_(graph),
      plan_(plan),
      settings_(settings),
      block_(block),
      free_scales_(free_scales && settings.is_scale_trainable && plan.scheme == Scheme::pow2) {
  tensor(block.input);
  for (std::size_t n = block.first; n < block.end; ++n) add_step(n);
  for (GridPlace& grid : grids_) {
    if (grid.place >= 0) grid.place = static_cast<std::ptrdiff_t>(count_++);
  }
  for (const TensorId id : block.outputs) outputs_.push_back(tensor(id));
}

int BlockNet::tensor(TensorId id) {
  const auto [found, fresh] = numbers_.emplace(id, static_cast<int>(sizes_.size()));
  if (fresh) sizes_.push_back(element_count(shape(id)));
  return found->second;
}

int BlockNet::grid_for(TensorId id, DType type) {
  const TensorId group = plan_.groups[static_cast<std::size_t>(id)];
  for (std::size_t g = 0; g < grids_.size(); ++g) {
    if (grids_[g].group == group) return static_cast<int>(g);
  }
  // Free is what nothing before the block has, and no output of the graph: those are never cut.
  bool free = free_scales_ && !plan_.stated.contains(group);
  const auto in_group = [&](TensorId other) {
    return other >= 0 && plan_.groups[static_cast<std::size_t>(other)] == group;
  };
  free = free && std::none_of(graph_.outputs.begin(), graph_.outputs.end(), in_group) &&
         std::none_of(graph_.inputs.begin(), graph_.inputs.end(), in_group);
  for (std::size_t n = 0; n < block_.first; ++n)
    free = free && std::none_of(graph_.nodes[n].outputs.begin(), graph_.nodes[n].outputs.end(), in_group);
  grids_.push_back({group, plan_.grid(id, type), free ? 0 : -1});
  return static_cast<int>(grids_.size()) - 1;
}

void BlockNet::add_step(std::size_t n) {
  const Node& node = graph_.nodes[n];
  const DType type = plan_.types[n];
  Step step;
  step.node = n;
  step.a = tensor(node.inputs[0]);
  if (plan_.roles[n] == Role::pair) step.b = tensor(node.inputs[1]);
  step.y = tensor(node.outputs[0]);
  if (plan_.roles[n] != Role::passive || node.code == OpCode::average_pool)
    step.grid = grid_for(node.outputs[0], type);
  switch (node.code) {
    case OpCode::conv:
    case OpCode::fully_connected: {
      step.kind = Kind::layer;
      step.layer = static_cast<int>(layers_.size());
      if (const auto* conv = std::get_if<ConvOptions>(&node.options)) step.activation = conv->activation;
      if (const auto* dense = std::get_if<FullyConnectedOptions>(&node.options))
        step.activation = dense->activation;
      LayerPlace place;
      place.node = n;
      const auto decided = plan_.layers.find(static_cast<int>(n));
      place.start = decided != plan_.layers.end()
                        ? *decided->second
                        : nearest_layer(graph_, node, plan_, plan_.grid(node.inputs[0], type));
      place.count = place.start.integers.size();
      place.entries = place.start.steps.size();
      place.channels = static_cast<std::size_t>(shape(node.inputs[1])[0]);
      place.result_step = plan_.grid(node.outputs[0], type).step;
      place.weights = count_;
      place.steps = place.weights + place.count;
      place.bias = place.steps + place.entries;
      count_ = place.bias + place.channels;
      layers_.push_back(std::move(place));
      break;
    }
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
      step.kind = Kind::binary;
      if (const auto* binary = std::get_if<BinaryOptions>(&node.options))
        step.activation = binary->activation;
      break;
    case OpCode::relu:
      step.kind = Kind::relu;
      break;
    case OpCode::clip:
      step.kind = Kind::clip;
      break;
    default:
      if (plan_.roles[n] == Role::function) {
        step.kind = Kind::function;
      } else {
        step.kind = node.code == OpCode::max_pool ? Kind::most : Kind::mean;
        windows(node, step);
      }
  }
  steps_.push_back(std::move(step));
}

// Which values of x every value of y is made of.
void BlockNet::windows(const Node& node, Step& step) const {
  const auto &x = shape(node.inputs[0]), &y = shape(node.outputs[0]);
  const auto number = [](std::size_t i) { return static_cast<std::uint32_t>(i); };
  step.first.push_back(0);
  const auto finish = [&](double share) {
    step.first.push_back(number(step.from.size()));
    step.share.push_back(static_cast<float>(share));
  };
  if (node.code == OpCode::reshape) {
    for (std::size_t i = 0; i < element_count(y); ++i) {
      step.from.push_back(number(i));
      finish(1);
    }
    return;
  }
  std::vector<std::size_t> stride(x.size(), 1);
  for (std::size_t i = x.size(); i-- > 1;) stride[i - 1] = stride[i] * static_cast<std::size_t>(x[i]);
  if (node.code == OpCode::transpose) {
    const auto& perm = std::get<TransposeOptions>(node.options).perm;
    for (std::size_t i = 0; i < element_count(y); ++i) {
      std::size_t rest = i, at = 0;
      for (std::size_t axis = y.size(); axis-- > 0; rest /= static_cast<std::size_t>(y[axis]))
        at += rest % static_cast<std::size_t>(y[axis]) * stride[perm[axis]];
      step.from.push_back(number(at));
      finish(1);
    }
    return;
  }
  if (node.code == OpCode::reduce_mean) {
    const auto& axes = std::get<ReduceOptions>(node.options).axes;
    const auto reduced = [&](std::size_t axis) {
      return std::find(axes.begin(), axes.end(), axis) != axes.end();
    };
    std::vector<std::vector<std::uint32_t>> members(element_count(y));
    for (std::size_t i = 0; i < element_count(x); ++i) {
      std::size_t to = 0;
      for (std::size_t axis = 0; axis < x.size(); ++axis) {
        if (!reduced(axis))
          to = to * static_cast<std::size_t>(x[axis]) + i / stride[axis] % static_cast<std::size_t>(x[axis]);
      }
      members[to].push_back(number(i));
    }
    for (const auto& list : members) {
      step.from.insert(step.from.end(), list.begin(), list.end());
      finish(1.0 / static_cast<double>(list.size()));
    }
    return;
  }
  const auto& o = std::get<PoolOptions>(node.options);
  const bool flat = x.size() == 3;
  const int height = flat ? 1 : x[1], width = flat ? x[1] : x[2], channels = x.back(),
            out_height = flat ? 1 : y[1], out_width = flat ? y[1] : y[2];
  const int kernel_height = o.global ? height
                            : flat   ? 1
                                     : o.kernel_height,
            kernel_width = o.global ? width : o.kernel_width;
  for (int b = 0; b < x[0]; ++b) {
    for (int oy = 0; oy < out_height; ++oy) {
      for (int ox = 0; ox < out_width; ++ox) {
        for (int c = 0; c < channels; ++c) {
          std::size_t found = 0;
          for (int ky = 0; ky < kernel_height; ++ky) {
            for (int kx = 0; kx < kernel_width; ++kx) {
              const int iy = oy * o.stride_height + ky * o.dilation_height - (flat ? 0 : o.pad_top),
                        ix = ox * o.stride_width + kx * o.dilation_width - o.pad_left;
              if (iy < 0 || ix < 0 || iy >= height || ix >= width) continue;
              step.from.push_back(
                  static_cast<std::uint32_t>(((b * height + iy) * width + ix) * channels + c));
              ++found;
            }
          }
          finish(1.0 / static_cast<double>(o.count_padding
                                               ? static_cast<std::size_t>(kernel_height * kernel_width)
                                               : std::max<std::size_t>(found, 1)));
        }
      }
    }
  }
}

std::vector<float> BlockNet::parameters() const {
  std::vector<float> all(count_, 0.0f);
  for (const LayerPlace& place : layers_) {
    const int bits = bits_of(plan_.types[place.node]);
    std::vector<double> largest(place.entries, 0);
    for (std::size_t i = 0; i < place.count; ++i) {
      const std::size_t entry = i / (place.count / place.entries);
      const double value = place.start.integers[i] * place.start.steps[entry];
      largest[entry] = std::max(largest[entry], std::abs(value));
      all[place.weights + i] = static_cast<float>(value);
    }
    for (std::size_t e = 0; e < place.entries && !place.start.exponents.empty(); ++e)
      all[place.steps + e] = static_cast<float>(reach_of(place.start.exponents[e], bits, largest[e]));
    for (std::size_t c = 0; c < place.start.bias.size(); ++c)
      all[place.bias + c] = static_cast<float>(place.start.bias[c]);
  }
  for (const GridPlace& grid : grids_) {
    const Range& range = plan_.ranges[static_cast<std::size_t>(grid.group)];
    if (grid.place >= 0)
      all[static_cast<std::size_t>(grid.place)] = static_cast<float>(
          reach_of(grid.start.exponent, bits_of(grid.start.dtype), std::max(-range.low, range.high)));
  }
  return all;
}

std::vector<float> BlockNet::rates() const {
  std::vector<float> all(count_, static_cast<float>(settings_.lr));
  const auto& named = settings_.interested_layers;
  for (const LayerPlace& place : layers_) {
    const bool trained =
        named.empty() || std::find(named.begin(), named.end(), graph_.nodes[place.node].name) != named.end();
    const double rate = trained ? kWeightRate * settings_.lr : 0;
    for (std::size_t i = 0; i < place.count; ++i)
      all[place.weights + i] =
          static_cast<float>(rate * place.start.steps[i / (place.count / place.entries)]);
    for (std::size_t e = 0; e < place.entries && !(free_scales_ && trained); ++e) all[place.steps + e] = 0;
    for (std::size_t c = 0; c < place.channels; ++c)
      all[place.bias + c] = static_cast<float>(rate * place.result_step);
  }
  return all;
}

BlockNet::Ready BlockNet::ready(std::span<const float> parameters) const {
  Ready made;
  for (const LayerPlace& place : layers_) {
    const DType type = plan_.target.weight_type(plan_.types[place.node]);
    const double low = kernels::lowest(type), high = kernels::highest(type);
    Ready::Weights weights;
    weights.steps = place.start.steps;
    for (std::size_t e = 0; e < place.entries && free_scales_; ++e)
      weights.steps[e] =
          std::ldexp(1.0, exponent_of(static_cast<double>(parameters[place.steps + e]), bits_of(type)));
    const std::size_t row = place.count / place.channels;
    weights.rows.resize(place.count);
    weights.columns.resize(place.count);
    for (std::size_t i = 0; i < place.count; ++i) {
      const double step = weights.steps[i / (place.count / place.entries)];
      weights.rows[i] = static_cast<float>(
          std::clamp(std::nearbyint(static_cast<double>(parameters[place.weights + i]) / step), low, high) *
          step);
      weights.columns[i % row * place.channels + i / row] = weights.rows[i];
    }
    made.layers.push_back(std::move(weights));
  }
  for (const GridPlace& grid : grids_) {
    made.grids.push_back(
        grid.place < 0
            ? grid.start
            : grid_of_exponent(
                  exponent_of(static_cast<double>(parameters[static_cast<std::size_t>(grid.place)]),
                              bits_of(grid.start.dtype)),
                  grid.start.dtype));
  }
  return made;
}

double BlockNet::restrain(const Ready& ready, std::span<const float> parameters, double values,
                          std::vector<float>* gradient) const {
  double loss = 0;
  if (settings_.gamma > 0) {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const LayerPlace& place = layers_[l];
      const std::vector<float> given =
          floats_of(graph_.tensors[static_cast<std::size_t>(graph_.nodes[place.node].inputs[1])]);
      const double weight = settings_.gamma * values / static_cast<double>(place.count);
      for (std::size_t i = 0; i < place.count; ++i) {
        const double away = static_cast<double>(ready.layers[l].rows[i]) - static_cast<double>(given[i]);
        loss += weight * away * away;
        if (gradient != nullptr) (*gradient)[place.weights + i] += static_cast<float>(2 * weight * away);
      }
    }
  }
  if (settings_.int_lambda > 0 && free_scales_) {
    std::vector<std::size_t> scales;
    for (const LayerPlace& place : layers_) {
      for (std::size_t e = 0; e < place.entries; ++e) scales.push_back(place.steps + e);
    }
    for (const GridPlace& grid : grids_) {
      if (grid.place >= 0) scales.push_back(static_cast<std::size_t>(grid.place));
    }
    const double weight = settings_.int_lambda * values / std::max(1.0, static_cast<double>(scales.size()));
    for (const std::size_t at : scales) {
      // Exponents follow by rounding up: the middle between two is half below an integer.
      const double reach = static_cast<double>(parameters[at]), away = reach - (std::ceil(reach) - 0.5);
      loss += weight * away * away;
      if (gradient != nullptr) (*gradient)[at] += static_cast<float>(2 * weight * away);
    }
  }
  return loss;
}

void BlockNet::pass_rounding(const Ready& ready, std::span<const float> parameters,
                             std::vector<float>& gradient) const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const LayerPlace& place = layers_[l];
    const DType type = plan_.target.weight_type(plan_.types[place.node]);
    const double low = kernels::lowest(type), high = kernels::highest(type);
    for (std::size_t i = 0; i < place.count; ++i) {
      const std::size_t entry = i / (place.count / place.entries);
      const double step = ready.layers[l].steps[entry],
                   scaled = static_cast<double>(parameters[place.weights + i]) / step;
      float& own = gradient[place.weights + i];
      const bool cut = scaled < low - 0.5 || scaled > high + 0.5;
      // d(step * integer) / d log2(step): the rounding error of what is not cut, the integer itself of what
      // is.
      const double integer = std::clamp(std::nearbyint(scaled), low, high);
      if (free_scales_)
        gradient[place.steps + entry] +=
            own * static_cast<float>(std::log(2.0) * step * (cut ? integer : integer - scaled));
      if (cut) own = 0;
    }
  }
}

void BlockNet::store(std::span<const float> parameters, Plan& plan) const {
  const Ready now = ready(parameters);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const LayerPlace& place = layers_[l];
    Layer layer = place.start;
    layer.steps = now.layers[l].steps;
    for (std::size_t e = 0; e < layer.exponents.size() && free_scales_; ++e) {
      layer.exponents[e] =
          exponent_of(static_cast<double>(parameters[place.steps + e]), bits_of(plan_.types[place.node]));
    }
    for (std::size_t i = 0; i < place.count; ++i)
      layer.integers[i] = static_cast<std::int32_t>(std::lround(
          static_cast<double>(now.layers[l].rows[i]) / layer.steps[i / (place.count / place.entries)]));
    layer.bias.assign(parameters.begin() + static_cast<std::ptrdiff_t>(place.bias),
                      parameters.begin() + static_cast<std::ptrdiff_t>(place.bias + place.channels));
    plan.layers[static_cast<int>(place.node)] = std::make_shared<const Layer>(std::move(layer));
  }
  for (std::size_t g = 0; g < grids_.size(); ++g) {
    if (grids_[g].place < 0) continue;
    const double factor = std::ldexp(1.0, now.grids[g].exponent - grids_[g].start.exponent);
    Range& range = plan.ranges[static_cast<std::size_t>(grids_[g].group)];
    range = {range.low * factor, range.high * factor};
  }
}

}  // namespace runnel::compiler::quantizer
