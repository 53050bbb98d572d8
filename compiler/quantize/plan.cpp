#include "compiler/quantize/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "inference/host/operator_traits.h"
#include "kernels/elementwise/affine.h"
#include "kernels/transformer/fixed_attention.h"
#include "kernels/transformer/fixed_layer_norm.h"

namespace runnel::compiler::quantizer {
namespace {

const Tensor& at(const Graph& graph, TensorId id) { return graph.tensors[static_cast<std::size_t>(id)]; }

TensorId root(std::vector<TensorId>& groups, TensorId id) {
  while (groups[static_cast<std::size_t>(id)] != id)
    id = groups[static_cast<std::size_t>(id)] =
        groups[static_cast<std::size_t>(groups[static_cast<std::size_t>(id)])];
  return id;
}
void join(std::vector<TensorId>& groups, TensorId a, TensorId b) {
  groups[static_cast<std::size_t>(root(groups, b))] = root(groups, a);
}

Status check_weights(const Graph& graph) {
  Status failure;
  int found = 0;
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) {
      if (id < 0 || !at(graph, id).data || at(graph, id).dtype != DType::float32) continue;
      const std::vector<float> values = floats_of(at(graph, id));
      const auto bad =
          std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
      if (bad == values.end()) continue;
      if (found++ == 0) failure = Status(Code::invalid_data, "constants that are not finite numbers: ");
      failure << (found > 1 ? ", " : "") << "element " << (bad - values.begin()) << " of \""
              << at(graph, id).name << "\" (node \"" << node.name << "\")";
    }
  }
  return failure;
}

// ESP-DL has no such operators; runnel's own are in fixed point.
bool has_fixed_point_attention(const Graph& graph, const Node& node) {
  const auto& options = std::get<AttentionOptions>(node.options);
  return std::all_of(node.inputs.begin(), node.inputs.begin() + 3,
                     [&](TensorId id) { return !at(graph, id).data; }) &&
         options.real_scale > 0 &&
         std::int64_t{options.left} + options.chunk + options.right <= kernels::kMaxFixedKeys;
}
bool has_fixed_point_norm(const Graph& graph, const Node& node) {
  const auto& shape = at(graph, node.inputs[0]).shape;
  const auto axis = static_cast<std::ptrdiff_t>(std::get<NormOptions>(node.options).axis);
  std::int64_t count = 1;
  for (auto dim = shape.begin() + axis; dim != shape.end(); ++dim) count *= *dim;
  return node.inputs.size() > 1 && node.inputs[1] >= 0 && at(graph, node.inputs[1]).data &&
         count <= kernels::kMaxFixedNorm;
}

}  // namespace

Role role_of(const Graph& graph, const Node& node, Scheme scheme, bool esp_dl) {
  const OperatorTraits& traits = traits_of(node.code);
  const Role role = scheme == Scheme::pow2 ? traits.role : traits.affine_role;
  if (role == Role::real || node.inputs.empty() || node.inputs[0] < 0) return Role::real;
  const auto is_float = [&](TensorId id) { return id >= 0 && at(graph, id).dtype == DType::float32; };
  if (!is_float(node.inputs[0]) || !is_float(node.outputs[0])) return Role::real;
  if (role != Role::pair && role != Role::concat && at(graph, node.inputs[0]).data) return Role::real;
  if (role == Role::weighted && (node.inputs.size() < 2 || !at(graph, node.inputs[1]).data))
    return Role::real;
  if (node.arithmetic != Arithmetic::espdl && role != Role::passive) return Role::real;
  if (role == Role::pair && (node.inputs.size() != 2 || !is_float(node.inputs[1]))) return Role::real;
  if (node.code == OpCode::prelu && !at(graph, node.inputs[1]).data) return Role::real;
  if (role == Role::shares && std::get<AxisOptions>(node.options).axis !=
                                  static_cast<int>(at(graph, node.inputs[0]).shape.size()) - 1)
    return Role::real;
  if (role == Role::attention && (esp_dl || !has_fixed_point_attention(graph, node))) return Role::real;
  if (role == Role::norm && (esp_dl || !has_fixed_point_norm(graph, node))) return Role::real;
  if (node.code == OpCode::matmul && at(graph, node.inputs[0]).data) return Role::real;
  // Groups that are neither one nor one per channel are unknown to ESP-DL.
  if (const auto* conv = std::get_if<ConvOptions>(&node.options);
      conv != nullptr && esp_dl && conv->groups != 1 &&
      conv->groups != at(graph, node.outputs[0]).shape.back()) {
    return Role::real;
  }
  if (const auto* pad = std::get_if<PadOptions>(&node.options);
      pad != nullptr && pad->mode == PadMode::zero && pad->real_value != 0)
    return Role::real;
  return role;
}

std::vector<DType> tensor_types(const Graph& graph, const Plan& plan) {
  std::vector<DType> types(graph.tensors.size(), DType::none);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) types[i] = graph.tensors[i].dtype;
  for (const TensorId id : graph.inputs) {
    if (at(graph, id).dtype != DType::float32) continue;
    // The widest that reads it.
    DType widest = DType::float32;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (std::find(graph.nodes[n].inputs.begin(), graph.nodes[n].inputs.end(), id) ==
          graph.nodes[n].inputs.end())
        continue;
      const DType reader = plan.types[n];
      if (reader == DType::int16 || (reader == DType::int8 && widest == DType::float32)) widest = reader;
    }
    types[static_cast<std::size_t>(id)] = widest;
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (std::size_t o = 0; o < graph.nodes[n].outputs.size(); ++o) {
      const auto id = static_cast<std::size_t>(graph.nodes[n].outputs[o]);
      if (graph.tensors[id].dtype == DType::float32)
        types[id] = plan.roles[n] == Role::softmax ? DType::float32 : plan.types[n];
    }
  }
  // State goes from run to run as it is.
  for (const auto& state : graph.pipeline.states)
    types[static_cast<std::size_t>(state.second)] = types[static_cast<std::size_t>(state.first)];
  return types;
}

namespace {

// Of two types that a tensor is read as: the wider one of integers; float only where no reader wants
// integers.
DType joined(DType a, DType b) {
  if (a == DType::none) return b;
  if (b == DType::none) return a;
  if (a == DType::int16 || b == DType::int16) return DType::int16;
  return a == DType::float32 ? b : a;
}

// What each tensor is read as, also through what only moves values.
std::vector<DType> wanted_types(const Graph& graph, const Plan& plan) {
  std::vector<DType> wanted(graph.tensors.size(), DType::none);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    DType type = plan.types[n];
    if (plan.roles[n] == Role::passive) {
      DType readers = DType::none;
      for (const TensorId id : node.outputs) {
        if (id >= 0) readers = joined(readers, wanted[static_cast<std::size_t>(id)]);
      }
      if (readers != DType::none) type = readers;
    }
    for (const TensorId id : node.inputs) {
      if (id >= 0) wanted[static_cast<std::size_t>(id)] = joined(wanted[static_cast<std::size_t>(id)], type);
    }
  }
  return wanted;
}

}  // namespace

void propagate_types(const Graph& graph, Plan& plan) {
  const std::vector<DType> wanted = wanted_types(graph, plan);
  std::vector<DType> made(graph.tensors.size(), DType::none);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (plan.roles[n] == Role::passive) {
      const DType from = made[static_cast<std::size_t>(node.inputs[0])];
      if (from != DType::none) {
        plan.types[n] = from;
      } else {
        // An input of the graph: as what reads the result.
        DType reader = DType::none;
        for (const TensorId id : node.outputs) {
          if (id >= 0) reader = joined(reader, wanted[static_cast<std::size_t>(id)]);
        }
        if (reader != DType::none) plan.types[n] = reader;
      }
    }
    for (const TensorId id : node.outputs) {
      if (id >= 0)
        made[static_cast<std::size_t>(id)] = plan.roles[n] == Role::softmax ? DType::float32 : plan.types[n];
    }
  }
}

namespace {

Status check_layers(const Graph& graph, const Plan& plan, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    bool found = false;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      found = found || (graph.nodes[n].name == name && plan.roles[n] == Role::weighted);
    if (!found)
      return Status(Code::invalid_argument)
             << "there is no layer with weights \"" << name << "\"; their names are in the report";
  }
  return {};
}

// Groups of the results of operators whose scale was stated.
Status state_scales(const Graph& graph, const Options& options, Plan& plan) {
  for (const auto& [name, exponent] : options.exponents) {
    if (plan.scheme != Scheme::pow2)
      return Status(Code::invalid_argument)
             << "a scale for \"" << name << "\" in the affine scheme, expected scales of powers of two";
    if (exponent < kLowestExponent || exponent > kHighestExponent)
      return Status(Code::invalid_argument)
             << "a scale of 2^" << exponent << " for \"" << name << "\", expected 2^" << kLowestExponent
             << " to 2^" << kHighestExponent;
    // An operator of the file may have become several: the last one computes its result.
    std::size_t at = graph.nodes.size();
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].name == name) at = n;
    }
    if (at == graph.nodes.size())
      return Status(Code::invalid_argument)
             << "there is no operator \"" << name << "\"; their names are in the report";
    const TensorId group = plan.groups[static_cast<std::size_t>(graph.nodes[at].outputs[0])];
    if (plan.types[at] == DType::float32 || plan.roles[at] == Role::softmax ||
        plan.shares[static_cast<std::size_t>(group)])
      return Status(Code::invalid_argument)
             << "operator \"" << name << "\" has no scale that could be stated for this target";
    const auto [known, fresh] = plan.stated.emplace(group, exponent);
    if (!fresh && known->second != exponent)
      return Status(Code::invalid_argument) << "scales of 2^" << known->second << " and 2^" << exponent
                                            << " for results that share one, that of \"" << name << "\"";
  }
  return {};
}

}  // namespace

Result<Plan> make_plan(const Graph& graph, const Options& options) {
  RUNNEL_TRY(check_weights(graph));
  Plan plan;
  plan.target = options.target;
  plan.scheme = options.scheme;
  if (plan.scheme == Scheme::affine) plan.target.rounding = kernels::Rounding::tflite_double;
  plan.ranges.resize(graph.tensors.size());
  plan.groups.resize(graph.tensors.size());
  std::iota(plan.groups.begin(), plan.groups.end(), 0);
  std::map<std::string, DType> asked = options.types;
  for (const Node& node : graph.nodes) {
    const Role role = role_of(graph, node, options.scheme, options.target.esp_dl);
    DType type = role == Role::real ? DType::float32 : options.type;
    if (const auto found = asked.find(node.name); found != asked.end()) {
      if (role == Role::real && found->second != DType::float32) {
        return Status(Code::invalid_argument) << "operator \"" << node.name << "\" has no "
                                              << runnel::name_of(found->second) << " form for this target";
      }
      if (role != Role::real) type = found->second;
    }
    plan.roles.push_back(role);
    plan.types.push_back(type);
  }
  for (const auto& entry : asked) {
    if (std::none_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return node.name == entry.first; })) {
      return Status(Code::invalid_argument)
             << "there is no operator \"" << entry.first << "\"; their names are in the report";
    }
  }
  propagate_types(graph, plan);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (plan.roles[n] == Role::passive) {
      for (const TensorId y : node.outputs) join(plan.groups, node.inputs[0], y);
    } else if (plan.roles[n] == Role::recurrent) {
      // h of every frame, the last one and the first one.
      const int outputs = std::get<RecurrentOptions>(node.options).outputs;
      if ((outputs & 3) == 3) join(plan.groups, node.outputs[0], node.outputs[1]);
      if (node.inputs.size() > 4 && node.inputs[4] >= 0 && !at(graph, node.inputs[4]).data)
        join(plan.groups, node.outputs[0], node.inputs[4]);
    }
  }
  for (const auto& state : graph.pipeline.states) join(plan.groups, state.first, state.second);
  for (std::size_t i = 0; i < plan.groups.size(); ++i)
    plan.groups[i] = root(plan.groups, static_cast<TensorId>(i));
  plan.shares.assign(graph.tensors.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (plan.roles[n] == Role::shares)
      plan.shares[static_cast<std::size_t>(
          plan.groups[static_cast<std::size_t>(graph.nodes[n].outputs[0])])] = true;
  }
  RUNNEL_TRY(state_scales(graph, options, plan));
  for (const auto* layers : {&options.training.interested_layers, &options.equalization.interested_layers})
    RUNNEL_TRY(check_layers(graph, plan, *layers));
  return plan;
}

std::int64_t products_of(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || node.inputs[1] < 0) return 0;
  const auto elements = [&](TensorId id) {
    return static_cast<std::int64_t>(element_count(at(graph, id).shape));
  };
  const auto& shape = at(graph, node.outputs[0]).shape;
  if (shape.empty()) return 0;
  if (node.code == OpCode::gru || node.code == OpCode::lstm)
    return at(graph, node.inputs[0]).shape[0] * (elements(node.inputs[1]) + elements(node.inputs[2]));
  if (node.code != OpCode::conv && node.code != OpCode::fully_connected &&
      node.code != OpCode::transposed_conv)
    return 0;
  return elements(node.outputs[0]) / shape.back() * elements(node.inputs[1]);
}

}  // namespace runnel::compiler::quantizer
