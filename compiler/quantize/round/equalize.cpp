#include "compiler/quantize/round/equalize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "compiler/quantize/calibrate/clip_runner.h"
#include "compiler/quantize/calibrate/extract_subgraph.h"
#include "compiler/quantize/round/gram_matrix.h"
#include "compiler/quantize/round/quantization_grid.h"

namespace runnel::compiler::quantizer {
namespace {

constexpr double kMaxFactor = 16;

void store_floats(Tensor& tensor, const std::vector<float>& values) {
  std::memcpy(tensor.data->data(), values.data(), values.size() * sizeof(float));
}

bool is_weighted(const Graph& graph, const Node& node) {
  if (node.code != OpCode::conv && node.code != OpCode::fully_connected) return false;
  return node.inputs.size() > 1 && graph.tensors[static_cast<std::size_t>(node.inputs[1])].data &&
         graph.tensors[static_cast<std::size_t>(node.inputs[1])].dtype == DType::float32;
}

// Operators that treat every channel alike and do not mind a positive factor.
bool passes(const Graph& graph, const Node& node, int opt_level) {
  const auto& y = graph.tensors[static_cast<std::size_t>(node.outputs[0])].shape;
  switch (node.code) {
    case OpCode::relu:
    case OpCode::max_pool:
    case OpCode::average_pool:
      return true;
    case OpCode::add:
    case OpCode::sub: {
      if (opt_level < 2) return false;
      const auto same = [&](TensorId id) {
        return id >= 0 && !graph.tensors[static_cast<std::size_t>(id)].data &&
               graph.tensors[static_cast<std::size_t>(id)].shape == y;
      };
      return node.arithmetic == Arithmetic::espdl && same(node.inputs[0]) && same(node.inputs[1]);
    }
    default:
      return false;
  }
}

// Tensors whose channels must have one factor, with the weighted operators that make and read them.
struct Family {
  std::vector<TensorId> tensors;
  std::vector<std::size_t> makers, readers;
  bool free = true;  // nothing else makes or reads them
};

std::vector<Family> families_of(const Graph& graph, const EqualizationSettings& settings) {
  std::vector<TensorId> root(graph.tensors.size());
  for (std::size_t i = 0; i < root.size(); ++i) root[i] = static_cast<TensorId>(i);
  const auto find = [&](TensorId id) {
    while (root[static_cast<std::size_t>(id)] != id) id = root[static_cast<std::size_t>(id)];
    return id;
  };
  std::vector<int> uses(graph.tensors.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) {
      if (id >= 0) ++uses[static_cast<std::size_t>(id)];
    }
    if (!passes(graph, node, settings.opt_level)) continue;
    for (const TensorId id : node.inputs) {
      if (id >= 0) root[static_cast<std::size_t>(find(id))] = find(node.outputs[0]);
    }
  }
  std::map<TensorId, Family> families;
  const auto spoil = [&](TensorId id) {
    if (id >= 0 && !graph.tensors[static_cast<std::size_t>(id)].data) families[find(id)].free = false;
  };
  for (const TensorId id : graph.inputs) spoil(id);
  for (const TensorId id : graph.outputs) spoil(id);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    // Weights that several operators share stay as they are.
    bool own = is_weighted(graph, node);
    for (std::size_t i = 1; own && i < node.inputs.size(); ++i)
      own = node.inputs[i] < 0 || uses[static_cast<std::size_t>(node.inputs[i])] == 1;
    if (own) {
      families[find(node.inputs[0])].readers.push_back(n);
      families[find(node.outputs[0])].makers.push_back(n);
    } else if (!passes(graph, node, settings.opt_level)) {
      for (const TensorId id : node.inputs) spoil(id);
      for (const TensorId id : node.outputs) spoil(id);
    }
    for (const TensorId id : node.outputs) families[find(id)].tensors.push_back(id);
  }
  const auto of_interest = [&](const std::vector<std::size_t>& nodes) {
    const auto& names = settings.interested_layers;
    return names.empty() || std::any_of(nodes.begin(), nodes.end(), [&](std::size_t n) {
             return std::find(names.begin(), names.end(), graph.nodes[n].name) != names.end();
           });
  };
  std::vector<Family> free;
  for (auto& entry : families) {
    Family& family = entry.second;
    if (family.free && !family.makers.empty() && !family.readers.empty() &&
        (of_interest(family.makers) || of_interest(family.readers)))
      free.push_back(std::move(family));
  }
  return free;
}

// Largest magnitude of what multiplies each input channel of a weighted operator.
std::vector<double> reach_of(const Graph& graph, const Node& node, std::size_t channels) {
  const Tensor& w = graph.tensors[static_cast<std::size_t>(node.inputs[1])];
  const std::vector<float> values = floats_of(w);
  const LayerShape shape = LayerShape::of(graph, node);
  const std::size_t depth = static_cast<std::size_t>(w.shape.back()),
                    per_group = shape.channels / shape.groups;
  std::vector<double> reach(channels, 0);
  for (std::size_t n = 0; n < shape.channels; ++n) {
    for (std::size_t k = 0; k < shape.row; ++k) {
      double& most = reach[n / per_group * depth + k % depth];
      most = std::max(most, std::abs(static_cast<double>(values[n * shape.row + k])));
    }
  }
  return reach;
}

// Largest magnitude of the weights that make each channel.
std::vector<double> made_by(const Graph& graph, const Node& node, std::size_t channels) {
  const std::vector<float> values = floats_of(graph.tensors[static_cast<std::size_t>(node.inputs[1])]);
  std::vector<double> most(channels, 0);
  const std::size_t row = values.size() / channels;
  for (std::size_t k = 0; k < values.size(); ++k)
    most[k / row] = std::max(most[k / row], std::abs(static_cast<double>(values[k])));
  return most;
}

// Channels whose weights before and after are so small that a factor would only be noise.
std::vector<bool> too_small(const Graph& graph, const Family& family, std::size_t channels,
                            double threshold) {
  std::vector<double> before(channels, 0), after(channels, 0);
  const auto largest = [&](const std::vector<double>& from, std::vector<double>& to) {
    for (std::size_t c = 0; c < channels && c < from.size(); ++c) to[c] = std::max(to[c], from[c]);
  };
  for (const std::size_t n : family.makers) largest(made_by(graph, graph.nodes[n], channels), before);
  for (const std::size_t n : family.readers) largest(reach_of(graph, graph.nodes[n], channels), after);
  std::vector<bool> small(channels, false);
  for (std::size_t c = 0; c < channels; ++c) small[c] = before[c] + after[c] < threshold;
  return small;
}

// y = factors * y for the operators before, x = x / factors for those after.
void scale_maker(const std::vector<double>& factors, const Node& node, Graph& graph) {
  for (const std::size_t i : {1u, 2u}) {
    if (i >= node.inputs.size() || node.inputs[i] < 0) continue;
    Tensor& constant = graph.tensors[static_cast<std::size_t>(node.inputs[i])];
    std::vector<float> values = floats_of(constant);
    const std::size_t row = values.size() / factors.size();
    for (std::size_t k = 0; k < values.size(); ++k)
      values[k] = static_cast<float>(static_cast<double>(values[k]) * factors[k / row]);
    store_floats(constant, values);
  }
}
void scale_reader(const std::vector<double>& factors, const Node& node, Graph& graph) {
  Tensor& weights = graph.tensors[static_cast<std::size_t>(node.inputs[1])];
  std::vector<float> values = floats_of(weights);
  const LayerShape shape = LayerShape::of(graph, node);
  const std::size_t depth = static_cast<std::size_t>(weights.shape.back()),
                    per_group = shape.channels / shape.groups;
  for (std::size_t n = 0; n < shape.channels; ++n) {
    for (std::size_t k = 0; k < shape.row; ++k) {
      float& value = values[n * shape.row + k];
      value = static_cast<float>(static_cast<double>(value) / factors[n / per_group * depth + k % depth]);
    }
  }
  store_floats(weights, values);
}

// Largest magnitude of every channel of these tensors.
using Peaks = std::map<TensorId, std::vector<double>>;
Result<Peaks> peaks_of(const Graph& graph, const std::vector<TensorId>& ids, const Clips& clips,
                       std::span<const std::size_t> which, int threads) {
  const Graph form = extract_subgraph(graph, ids);
  const Graph* const forms[] = {&form};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, threads));
  std::array<std::vector<std::vector<double>>, ClipRunner::kSlices> seen;
  for (auto& slice : seen) {
    for (const TensorId id : ids)
      slice.emplace_back(static_cast<std::size_t>(graph.tensors[static_cast<std::size_t>(id)].shape.back()),
                         0.0);
  }
  RUNNEL_TRY(
      runner.run(clips, which, [&](std::size_t, std::size_t slice, const ClipRunner::Outputs& outputs) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
          std::vector<double>& most = seen[slice][i];
          for (std::size_t k = 0; k < outputs[0][i].size(); ++k)
            most[k % most.size()] =
                std::max(most[k % most.size()], std::abs(static_cast<double>(outputs[0][i][k])));
        }
      }));
  Peaks peaks;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::vector<double>& values = peaks[ids[i]] = seen[0][i];
    for (const auto& slice : seen) {
      for (std::size_t c = 0; c < values.size(); ++c) values[c] = std::max(values[c], slice[i][c]);
    }
  }
  return peaks;
}

// How a channel's factor follows from how large its values get (v) and from the weights after it (w):
// w^reach / v^peak.
struct Strength {
  double peak = 0.5, reach = 0.5;
};
constexpr Strength kStrengths[] = {{0.5, 0.5}, {1, 0}, {0.5, 0}, {0.25, 0.25}};

std::vector<double> factors_of(const Graph& graph, const Family& family, const Peaks& peaks,
                               const Strength& strength, double value_threshold) {
  const std::size_t channels =
      static_cast<std::size_t>(graph.tensors[static_cast<std::size_t>(family.tensors[0])].shape.back());
  // Each tensor and each operator counts by its own largest channel.
  std::vector<double> values(channels, 0), reach(channels, 0), factors(channels, 1);
  const auto gather = [&](const std::vector<double>& from, std::vector<double>& to) {
    const double most = *std::max_element(from.begin(), from.end());
    for (std::size_t c = 0; c < channels && c < from.size() && most > 0; ++c)
      to[c] = std::max(to[c], from[c] / most);
  };
  for (const TensorId id : family.tensors) gather(peaks.at(id), values);
  for (const std::size_t n : family.readers) gather(reach_of(graph, graph.nodes[n], channels), reach);
  double largest = 0;
  for (std::size_t c = 0; c < channels; ++c) {
    if (values[c] > 0 && reach[c] > 0)
      factors[c] = std::pow(reach[c], strength.reach) / std::pow(values[c], strength.peak);
    largest = std::max(largest, factors[c] * values[c]);
  }
  for (double& factor : factors)
    factor = std::clamp(factor / std::max(largest, 1e-30), 1 / kMaxFactor, kMaxFactor);
  if (value_threshold > 0) {
    const std::vector<bool> small = too_small(graph, family, channels, value_threshold);
    for (std::size_t c = 0; c < channels; ++c) {
      if (small[c]) factors[c] = 1;
    }
  }
  return factors;
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<std::size_t>& nodes) {
  std::vector<std::string> names;
  for (const std::size_t n : nodes) names.push_back(graph.nodes[n].name);
  return names;
}

// The channels that a weighted operator makes, or those that it reads.
std::size_t channels_of(const Graph& graph, const Node& node, bool made) {
  const Tensor& weights = graph.tensors[static_cast<std::size_t>(node.inputs[1])];
  return static_cast<std::size_t>(
      made ? weights.shape.front() : graph.tensors[static_cast<std::size_t>(node.inputs[0])].shape.back());
}

}  // namespace

Status apply(const Scaling& scaling, Graph& graph) {
  for (const double factor : scaling.factors) {
    if (!(factor > 1e-9 && factor < 1e9))
      return Status(Code::invalid_data) << "a factor of " << factor << ", expected one between 1e-9 and 1e9";
  }
  for (const bool made : {true, false}) {
    for (const std::string& name : made ? scaling.makers : scaling.readers) {
      const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& candidate) {
        return candidate.name == name && is_weighted(graph, candidate);
      });
      if (node == graph.nodes.end())
        return Status(Code::mismatch) << "no operator \"" << name << "\" with weights";
      const std::size_t channels = channels_of(graph, *node, made);
      if (channels != scaling.factors.size())
        return Status(Code::mismatch) << scaling.factors.size() << " factors for the " << channels
                                      << " channels of \"" << name << "\"";
      made ? scale_maker(scaling.factors, *node, graph) : scale_reader(scaling.factors, *node, graph);
    }
  }
  return {};
}

Result<std::vector<Scaling>> equalize(const Clips& clips, std::span<const std::size_t> which,
                                      const Options& options,
                                      const std::function<Result<double>(const Graph&)>& error_of,
                                      Graph& graph) {
  std::vector<Scaling> changes;
  const EqualizationSettings& settings = options.equalization;
  const std::vector<Family> families = families_of(graph, settings);
  if (families.empty()) return changes;
  std::vector<TensorId> ids;
  for (const Family& family : families) ids.insert(ids.end(), family.tensors.begin(), family.tensors.end());
  RUNNEL_ASSIGN(double best, error_of(graph));
  std::size_t changed_before = 0;
  Peaks peaks;
  for (std::size_t visit = 0; visit < families.size() * static_cast<std::size_t>(settings.iterations);
       ++visit) {
    const std::size_t f = visit % families.size();
    if (f == 0) {
      if (visit > 0 && changes.size() == changed_before) break;  // nothing left to gain
      changed_before = changes.size();
      RUNNEL_ASSIGN(peaks, peaks_of(graph, ids, clips, which, options.threads));
    }
    if (options.progress)
      options.progress("equalization", static_cast<double>(f) / static_cast<double>(families.size()));
    // The best of several candidates that all start from the same graph; none, if nothing gets better.
    const auto keep_best = [&](const std::vector<std::vector<double>>& candidates) -> Status {
      const Graph before = graph;
      const Scaling* kept = nullptr;
      std::vector<Scaling> tried;
      tried.reserve(candidates.size());
      for (const std::vector<double>& factors : candidates) {
        tried.push_back(
            {names_of(before, families[f].makers), names_of(before, families[f].readers), factors});
        Graph candidate = before;
        RUNNEL_TRY(apply(tried.back(), candidate));
        const auto error = error_of(candidate);
        if (!error.ok() && error.status().code() != Code::unsupported) return error.status();
        if (!error.ok() || *error >= best) continue;
        best = *error;
        graph = std::move(candidate);
        kept = &tried.back();
      }
      if (kept != nullptr) changes.push_back(*kept);
      return {};
    };
    std::vector<std::vector<double>> candidates;
    for (const Strength& strength : kStrengths)
      candidates.push_back(factors_of(graph, families[f], peaks, strength, settings.value_threshold));
    RUNNEL_TRY(keep_best(candidates));
    if (options.scheme != Scheme::pow2) continue;
    // All channels alike, so that the largest value comes close to what a power of two can hold.
    candidates.clear();
    const auto channels = static_cast<std::size_t>(
        graph.tensors[static_cast<std::size_t>(families[f].tensors[0])].shape.back());
    for (const double quarter : {0.25, 0.5, 0.75}) candidates.emplace_back(channels, std::exp2(quarter));
    RUNNEL_TRY(keep_best(candidates));
  }
  return changes;
}

}  // namespace runnel::compiler::quantizer
