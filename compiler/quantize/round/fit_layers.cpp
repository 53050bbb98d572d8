// All layers in order, on inputs as the integer model gives them.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>

#include "compiler/quantize/calibrate/clip_runner.h"
#include "compiler/quantize/calibrate/extract_subgraph.h"
#include "compiler/quantize/calibrate/repeated_runs.h"
#include "compiler/quantize/integer_forms.h"
#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/round/fit_layer.h"

namespace runnel::compiler::quantizer {
namespace {

// The sums of a layer with more weights per channel take too long and too much memory.
constexpr std::size_t kMaxRow = 1536;
constexpr double kMaxWork = 6e9;  // products of one layer's sums

void drop_activation(Node& node) {
  if (auto* conv = std::get_if<ConvOptions>(&node.options)) conv->activation = Activation::none;
  if (auto* dense = std::get_if<FullyConnectedOptions>(&node.options)) dense->activation = Activation::none;
}

// Runs of the float model and of integer forms, layer by layer: each begins as the one before did.
class LayerRuns {
 public:
  LayerRuns(const Graph& graph, const Clips& clips, std::span<const std::size_t> which,
            const Options& options)
      : graph_(graph), clips_(clips), which_(which), options_(options), forms_(graph) {
    constexpr auto kKeep = RepeatedRuns::Keep::following;
    if (!RepeatedRuns::can_keep(graph, 2 * which.size(), kKeep)) return;
    real_.emplace(clips, which, options.threads, kKeep);
    integer_.emplace(clips, which, options.threads, kKeep);
  }

  Result<GramMatrix> sums_of(int number, const Plan& plan);

 private:
  // The layer's results in floats and its inputs in integers, to `visit` as outputs[0][0] and outputs[1][0].
  Status run(Graph linear, TensorId y, Graph whole, TensorId x, const ClipRunner::Visit& visit);

  const Graph& graph_;
  const Clips& clips_;
  std::span<const std::size_t> which_;
  const Options& options_;
  IntegerForms forms_;
  std::optional<RepeatedRuns> real_, integer_;
};

Status LayerRuns::run(Graph linear, TensorId y, Graph whole, TensorId x, const ClipRunner::Visit& visit) {
  const TensorId results[] = {y}, inputs[] = {x};
  if (!real_) {
    const Graph real = extract_subgraph(linear, results), integer = extract_subgraph(whole, inputs);
    const Graph* const forms[] = {&real, &integer};
    RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, options_.threads));
    return runner.run(clips_, which_, visit);
  }
  std::map<std::size_t, std::vector<float>> found;
  for (const std::size_t clip : which_) found[clip];  // no other place changes while threads write
  RUNNEL_TRY(integer_->run(std::move(whole), inputs, true,
                           [&](std::size_t clip, std::size_t, const ClipRunner::Outputs& outputs) {
                             found.at(clip).assign(outputs[0][0].begin(), outputs[0][0].end());
                           }));
  return real_->run(std::move(linear), results, true,
                    [&](std::size_t clip, std::size_t slice, const ClipRunner::Outputs& outputs) {
                      const std::span<const float> inputs_of_layer = found.at(clip);
                      visit(clip, slice,
                            {ClipRunner::Outputs::value_type{outputs[0][0]},
                             ClipRunner::Outputs::value_type{inputs_of_layer}});
                    });
}

Result<GramMatrix> LayerRuns::sums_of(int number, const Plan& plan) {
  const Node& node = graph_.nodes[static_cast<std::size_t>(number)];
  const DType type = plan.types[static_cast<std::size_t>(number)];
  Graph linear = graph_;
  drop_activation(linear.nodes[static_cast<std::size_t>(number)]);
  RUNNEL_ASSIGN(Graph whole, forms_.of(plan));
  const LayerShape shape = LayerShape::of(graph_, node);
  const double work = static_cast<double>(shape.groups * shape.row * shape.row) +
                      static_cast<double>(shape.channels * shape.row);
  const double positions = std::max(4.0, kMaxWork / work / static_cast<double>(which_.size()));
  std::array<GramMatrix, ClipRunner::kSlices> slices;
  slices.fill(GramMatrix(shape));
  const DType has = tensor_types(graph_, plan)[static_cast<std::size_t>(node.inputs[0])];
  const Grid grid = plan.grid(node.inputs[0], type);
  RUNNEL_TRY(run(std::move(linear), node.outputs[0], std::move(whole), node.inputs[0],
                 [&](std::size_t, std::size_t slice, const ClipRunner::Outputs& outputs) {
                   std::vector<float> changed;
                   std::span<const float> x = outputs[1][0];
                   if (has != type) {
                     for (const float value : x)
                       changed.push_back(static_cast<float>(
                           rounded(grid, plan.target.rounding, static_cast<double>(value))));
                     x = changed;
                   }
                   slices[slice].add(graph_, node, x, outputs[0][0], static_cast<std::size_t>(positions));
                 }));
  for (std::size_t s = 1; s < slices.size(); ++s) slices[0].add(slices[s]);
  return std::move(slices[0]);
}

// Products of one matrix with what is multiplied with it, for the float values and for those of the integer
// model.
void add_products(const std::vector<float>& weights, std::span<const float> real,
                  std::span<const float> integer, GramMatrix& gram) {
  const std::size_t row = gram.shape().row, channels = gram.shape().channels, count = real.size() / row;
  std::vector<float> results(count * channels);
  for (std::size_t t = 0; t < count; ++t) {
    for (std::size_t n = 0; n < channels; ++n) {
      double sum = 0;
      for (std::size_t i = 0; i < row; ++i)
        sum += static_cast<double>(weights[n * row + i]) * static_cast<double>(real[t * row + i]);
      results[t * channels + n] = static_cast<float>(sum);
    }
  }
  gram.add_rows(integer, results);
}

// The state before every frame: the first one (or zeros), then those of the frames before.
std::vector<float> states_before(std::span<const float> first, std::span<const float> all, std::size_t hidden,
                                 std::size_t frames) {
  std::vector<float> states(first.begin(), first.end());
  states.resize(hidden, 0.0f);
  if (frames > 1)
    states.insert(states.end(), all.begin(),
                  all.begin() + static_cast<std::ptrdiff_t>((frames - 1) * hidden));
  return states;
}

// The two matrices of a GRU or LSTM of one direction.
Status fit_recurrent(const Graph& graph, int number, const Clips& clips, std::span<const std::size_t> which,
                     const Methods& methods, const Options& options, Plan& plan) {
  const Node& node = graph.nodes[static_cast<std::size_t>(number)];
  const DType type = plan.types[static_cast<std::size_t>(number)];
  const auto shape_of = [&](TensorId id) -> const std::vector<std::int32_t>& {
    return graph.tensors[static_cast<std::size_t>(id)].shape;
  };
  const auto &w = shape_of(node.inputs[1]), &x = shape_of(node.inputs[0]);
  const auto& settings = std::get<RecurrentOptions>(node.options);
  if (w.size() != 3 || w[0] != 1 || x.size() != 3 || x[1] != 1 || settings.direction != Direction::forward)
    return {};
  for (const int i : {1, 2}) plan.matrices.erase({number, i});
  const auto frames = static_cast<std::size_t>(x[0]), rows = static_cast<std::size_t>(w[1]),
             inputs = static_cast<std::size_t>(w[2]),
             hidden = static_cast<std::size_t>(shape_of(node.inputs[2])[2]);
  if (std::max(inputs, hidden) > kMaxRow) return {};
  const bool starts = node.inputs.size() > 4 && node.inputs[4] >= 0 &&
                      !graph.tensors[static_cast<std::size_t>(node.inputs[4])].data;
  // Where only the last state comes out, those between are not known.
  const bool knows_states = frames == 1 || (settings.outputs & 1) != 0;
  std::vector<TensorId> looked = {node.inputs[0]};
  if (starts) looked.push_back(node.inputs[4]);
  if (frames > 1 && knows_states) looked.push_back(node.outputs[0]);
  const Graph real = extract_subgraph(graph, looked);
  RUNNEL_ASSIGN(const Graph whole, emit_integer_graph(graph, plan));
  const Graph integer = extract_subgraph(whole, looked);
  const Graph* const forms[] = {&real, &integer};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, options.threads));
  const std::vector<float> input_weights = floats_of(graph.tensors[static_cast<std::size_t>(node.inputs[1])]),
                           hidden_weights =
                               floats_of(graph.tensors[static_cast<std::size_t>(node.inputs[2])]);
  if (input_weights.size() != rows * inputs || hidden_weights.size() != rows * hidden) return {};
  LayerShape of_inputs, of_states;
  of_inputs.channels = of_states.channels = rows;
  of_inputs.row = inputs;
  of_states.row = hidden;
  std::array<GramMatrix, ClipRunner::kSlices> input_slices, state_slices;
  input_slices.fill(GramMatrix(of_inputs));
  state_slices.fill(GramMatrix(of_states));
  RUNNEL_TRY(
      runner.run(clips, which, [&](std::size_t, std::size_t slice, const ClipRunner::Outputs& outputs) {
        add_products(input_weights, outputs[0][0], outputs[1][0], input_slices[slice]);
        if (!knows_states) return;
        const auto states = [&](std::size_t form) {
          return states_before(starts ? outputs[form][1] : std::span<const float>(),
                               frames > 1 ? outputs[form].back() : std::span<const float>(), hidden, frames);
        };
        add_products(hidden_weights, states(0), states(1), state_slices[slice]);
      }));
  for (std::size_t s = 1; s < ClipRunner::kSlices; ++s) {
    input_slices[0].add(input_slices[s]);
    state_slices[0].add(state_slices[s]);
  }
  plan.matrices[{number, 1}] = fit_matrix(graph.tensors[static_cast<std::size_t>(node.inputs[1])], type,
                                          input_slices[0], methods.hold);
  if (knows_states)
    plan.matrices[{number, 2}] = fit_matrix(graph.tensors[static_cast<std::size_t>(node.inputs[2])], type,
                                            state_slices[0], methods.hold);
  return {};
}

}  // namespace

Status fit_layers(const Graph& graph, const Clips& clips, std::span<const std::size_t> which,
                  const Methods& methods, const Options& options, Plan& plan) {
  if (!methods.round && !methods.correct_bias) return {};
  LayerRuns runs(graph, clips, which, options);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (options.progress)
      options.progress("rounding", static_cast<double>(n) / static_cast<double>(graph.nodes.size()));
    if (plan.roles[n] == Role::recurrent && plan.types[n] != DType::float32 && methods.round)
      RUNNEL_TRY(fit_recurrent(graph, static_cast<int>(n), clips, which, methods, options, plan));
    const bool fits = plan.roles[n] == Role::weighted && plan.types[n] != DType::float32 &&
                      node.code != OpCode::transposed_conv;
    if (!fits || LayerShape::of(graph, node).row > kMaxRow) continue;
    plan.layers.erase(static_cast<int>(n));
    RUNNEL_ASSIGN(const GramMatrix gram, runs.sums_of(static_cast<int>(n), plan));
    plan.layers[static_cast<int>(n)] =
        std::make_shared<const Layer>(fit_layer(graph, node, plan, gram, methods));
  }
  return {};
}

}  // namespace runnel::compiler::quantizer
