// A block of a graph as a network that can be trained: its weights and activations are rounded as in the
// integer model, and gradients pass through the rounding (straight-through estimator).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/quantize/plan.h"
#include "compiler/quantize/train/blocks.h"

namespace runnel::compiler::quantizer {

// Parameters are one list of numbers: for each layer its weights, the logarithms (base 2) of the largest
// magnitudes that its integers reach (one, or one per channel) and its biases; then the same logarithms of
// the activations whose scale is free. An exponent follows from such a logarithm by rounding up, as in TQT
// (Jain et al., 2020): rounding passes gradients on as if it were not there (where nothing is cut), also to
// the logarithm itself.
class BlockNet {
 public:
  // Whether this operator can be part of a block: layers with weights, sums and products of two tensors of
  // one shape, functions, pools, means, what only moves values without padding; quantized.
  static bool supports(const Graph& graph, const Plan& plan, std::size_t node);

  // `free_scales`: logarithms are parameters; else they stay as the plan has them (also in the affine
  // scheme). Graph and plan must stay.
  BlockNet(const Graph& graph, const Plan& plan, const Block& block, bool free_scales,
           const TrainingSettings& settings = {});

  // The parameters of the plan, and how large a step of each is.
  [[nodiscard]] std::vector<float> parameters() const;
  [[nodiscard]] std::vector<float> rates() const;

  // Weights and scales of one set of parameters, ready for any number of clips.
  struct Ready {
    struct Weights {
      std::vector<float> rows, columns;  // rounded, [channel][row] and [row][channel]
      std::vector<double> steps;
    };
    std::vector<Weights> layers;
    std::vector<Grid> grids;  // of the activations
  };
  [[nodiscard]] Ready ready(std::span<const float> parameters) const;

  // Memory for one thread.
  struct Work {
    std::vector<std::vector<float>> exact, value,
        slope;  // per tensor of the block: before rounding, after, and d loss / d value
  };
  // The squared error of the outputs for one clip, where `wanted` has the outputs of the float model one
  // after the other. With `gradient` its derivatives are added there, those of weights in terms of the
  // rounded ones. Threads: any number at a time, each with its work.
  double run(const Ready& ready, std::span<const float> parameters, std::span<const float> x,
             std::span<const float> wanted, Work& work, std::vector<float>* gradient) const;
  // What the settings add to the squared error over `values` results: int_lambda and gamma, which weigh mean
  // squares; their derivatives are added to `gradient`, those of weights in terms of the rounded ones.
  double restrain(const Ready& ready, std::span<const float> parameters, double values,
                  std::vector<float>* gradient) const;
  // Derivatives of rounded weights become those of the parameters.
  void pass_rounding(const Ready& ready, std::span<const float> parameters,
                     std::vector<float>& gradient) const;

  // What the parameters say, as integers and ranges of the plan.
  void store(std::span<const float> parameters, Plan& plan) const;

 private:
  enum class Kind : std::uint8_t { layer, binary, function, relu, clip, mean, most };
  struct Step {
    Kind kind = Kind::mean;
    std::size_t node = 0;
    int a = -1, b = -1, y = -1;  // tensors of the block
    int layer = -1, grid = -1;   // -1: the result is on its input's grid
    Activation activation = Activation::none;
    std::vector<std::uint32_t> first,
        from;  // mean, most: which values of a give value i of y: from[first[i]] to from[first[i + 1] - 1]
    std::vector<float> share;  // mean: factor of each value of y
  };
  struct LayerPlace {
    std::size_t node = 0, weights = 0, steps = 0, bias = 0;  // places among the parameters
    std::size_t count = 0, entries = 0, channels = 0;
    Layer start;
    double result_step = 1;
  };
  struct GridPlace {
    TensorId group = kAbsent;
    Grid start;
    std::ptrdiff_t place = -1;  // among the parameters; -1: fixed
  };

  void add_step(std::size_t node);
  int tensor(TensorId id);
  int grid_for(TensorId id, DType type);
  void windows(const Node& node, Step& step) const;
  void forward_layer(const Step& step, const Ready& ready, std::span<const float> parameters,
                     Work& work) const;
  void backward_layer(const Step& step, const Ready& ready, Work& work, std::vector<float>& gradient) const;
  void forward(const Step& step, const Ready& ready, std::span<const float> parameters, Work& work) const;
  void backward(const Step& step, const Ready& ready, Work& work, std::vector<float>& gradient) const;
  [[nodiscard]] const std::vector<std::int32_t>& shape(TensorId id) const {
    return graph_.tensors[static_cast<std::size_t>(id)].shape;
  }

  const Graph& graph_;
  const Plan& plan_;
  const TrainingSettings settings_;
  Block block_;
  bool free_scales_;
  std::map<TensorId, int> numbers_;
  std::vector<std::size_t> sizes_;
  std::vector<Step> steps_;
  std::vector<LayerPlace> layers_;
  std::vector<GridPlace> grids_;
  std::vector<int> outputs_;
  std::size_t count_ = 0;
};

}  // namespace runnel::compiler::quantizer
