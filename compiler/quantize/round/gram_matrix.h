// What a weighted operator sees of its input, as sums of products: all that choosing its weights takes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace runnel::compiler::quantizer {

// Sizes of a convolution or a fully connected layer, as a product of matrices per group.
struct LayerShape {
  std::size_t groups = 1, channels = 1;  // output channels of all groups
  std::size_t row = 1;                   // weights of one output channel
  std::size_t positions = 1;             // results of one channel in a clip
  static LayerShape of(const Graph& graph, const Node& node);
};

// Sums over positions: of v v', of v, of y v per output channel, of y, of positions. v is what a result of
// the group is made of.
class GramMatrix {
 public:
  GramMatrix() = default;
  explicit GramMatrix(const LayerShape& shape);
  // One clip: the operator's input and the results that it should have, both as the graph stores them.
  // Positions are skipped where a clip has more of them than `most`.
  void add(const Graph& graph, const Node& node, std::span<const float> x, std::span<const float> y,
           std::size_t most);
  // Consecutive rows of v and of results.
  void add_rows(std::span<const float> v, std::span<const float> y);
  void add(const GramMatrix& other);

  [[nodiscard]] double count() const { return count_; }
  [[nodiscard]] std::span<const double> products(std::size_t group) const {
    return {products_.data() + group * shape_.row * shape_.row, shape_.row * shape_.row};
  }
  [[nodiscard]] std::span<const double> sums(std::size_t group) const {
    return {sums_.data() + group * shape_.row, shape_.row};
  }
  [[nodiscard]] std::span<const double> cross(std::size_t channel) const {
    return {cross_.data() + channel * shape_.row, shape_.row};
  }
  [[nodiscard]] double result_sum(std::size_t channel) const { return results_[channel]; }
  [[nodiscard]] const LayerShape& shape() const { return shape_; }

 private:
  LayerShape shape_;
  double count_ = 0;
  std::vector<double> products_;  // per group: lower triangle is filled
  std::vector<double> sums_, cross_, results_;
  // Some positions of a clip, in order, for one group.
  struct Block;
  void add_block(std::size_t group, const Block& block);
};

}  // namespace runnel::compiler::quantizer
