#include "compiler/quantize/round/gram_matrix.h"

#include <algorithm>

#include "compiler/quantize/round/product_sums.h"

namespace runnel::compiler::quantizer {
namespace {

const std::vector<std::int32_t>& shape_of(const Graph& graph, TensorId id) {
  return graph.tensors[static_cast<std::size_t>(id)].shape;
}

std::size_t from_end(const std::vector<std::int32_t>& shape, std::size_t back) {
  return shape.size() > back ? static_cast<std::size_t>(shape[shape.size() - 1 - back]) : 1;
}

// Where the inputs of a result begin, one place for each tap of the kernel; kPadding: nowhere, they are 0.
constexpr std::ptrdiff_t kPadding = -1;
void find_taps(const ConvOptions& o, const std::vector<std::int32_t>& w, std::size_t height,
               std::size_t width, std::size_t channels, std::size_t oy, std::size_t ox,
               std::ptrdiff_t* places) {
  for (std::int32_t ky = 0; ky < w[1]; ++ky) {
    const std::int64_t iy =
        static_cast<std::int64_t>(oy) * o.stride_height + std::int64_t{ky} * o.dilation_height - o.pad_top;
    for (std::int32_t kx = 0; kx < w[2]; ++kx) {
      const std::int64_t ix =
          static_cast<std::int64_t>(ox) * o.stride_width + std::int64_t{kx} * o.dilation_width - o.pad_left;
      const bool inside = iy >= 0 && ix >= 0 && iy < static_cast<std::int64_t>(height) &&
                          ix < static_cast<std::int64_t>(width);
      *places++ = inside ? (iy * static_cast<std::int64_t>(width) + ix) * static_cast<std::int64_t>(channels)
                         : kPadding;
    }
  }
}

}  // namespace

LayerShape LayerShape::of(const Graph& graph, const Node& node) {
  LayerShape shape;
  const auto &w = shape_of(graph, node.inputs[1]), &y = shape_of(graph, node.outputs[0]);
  shape.channels = static_cast<std::size_t>(w[0]);
  for (std::size_t i = 1; i < w.size(); ++i) shape.row *= static_cast<std::size_t>(w[i]);
  for (std::size_t i = 0; i + 1 < y.size(); ++i) shape.positions *= static_cast<std::size_t>(y[i]);
  if (const auto* conv = std::get_if<ConvOptions>(&node.options))
    shape.groups = static_cast<std::size_t>(conv->groups);
  return shape;
}

GramMatrix::GramMatrix(const LayerShape& shape)
    : shape_(shape),
      products_(shape.groups * shape.row * shape.row),
      sums_(shape.groups * shape.row),
      cross_(shape.channels * shape.row),
      results_(shape.channels) {}

// What results are made of, and the results: rows of doubles, one for each position.
struct GramMatrix::Block {
  static constexpr std::size_t kPositions = 32;

  explicit Block(const LayerShape& shape)
      : v_stride(shape.row + ProductSums::kColumnPadding),
        y_stride(shape.channels + ProductSums::kRowPadding),
        v(kPositions * v_stride),
        y(kPositions * y_stride) {}
  void set_results(std::size_t position, std::span<const float> values) {
    std::copy(values.begin(), values.end(), y.begin() + static_cast<std::ptrdiff_t>(position * y_stride));
  }

  std::size_t positions = 0;
  std::size_t v_stride, y_stride;
  std::vector<double> v, y;
};

void GramMatrix::add(const Graph& graph, const Node& node, std::span<const float> x, std::span<const float> y,
                     std::size_t most) {
  const std::size_t row = shape_.row;
  const std::size_t step = std::max<std::size_t>(1, shape_.positions / std::max<std::size_t>(most, 1));
  const auto* conv = std::get_if<ConvOptions>(&node.options);
  const auto &in = shape_of(graph, node.inputs[0]), &out = shape_of(graph, node.outputs[0]),
             &w = shape_of(graph, node.inputs[1]);
  const std::size_t height = from_end(in, 2), width = from_end(in, 1), channels = from_end(in, 0),
                    out_height = from_end(out, 2), out_width = from_end(out, 1);
  // A fully connected layer has one tap.
  const std::size_t depth = conv == nullptr ? row : static_cast<std::size_t>(w[3]), taps = row / depth;
  Block block(shape_);
  std::vector<std::ptrdiff_t> places(Block::kPositions * taps);
  for (std::size_t first = 0; first < shape_.positions; first += block.positions * step) {
    block.positions = std::min(Block::kPositions, (shape_.positions - first + step - 1) / step);
    for (std::size_t i = 0; i < block.positions; ++i) {
      const std::size_t p = first + i * step;
      block.set_results(i, y.subspan(p * shape_.channels, shape_.channels));
      std::ptrdiff_t* const here = &places[i * taps];
      if (conv == nullptr) {
        *here = static_cast<std::ptrdiff_t>(p * row);
        continue;
      }
      const std::size_t batch = p / (out_height * out_width), place = p % (out_height * out_width);
      find_taps(*conv, w, height, width, channels, place / out_width, place % out_width, here);
      for (std::size_t t = 0; t < taps; ++t) {
        if (here[t] != kPadding) here[t] += static_cast<std::ptrdiff_t>(batch * height * width * channels);
      }
    }
    for (std::size_t g = 0; g < shape_.groups; ++g) {
      for (std::size_t i = 0; i < block.positions; ++i) {
        double* v = &block.v[i * block.v_stride];
        for (std::size_t t = 0; t < taps; ++t, v += depth) {
          const std::ptrdiff_t place = places[i * taps + t];
          if (place == kPadding) {
            std::fill_n(v, depth, 0.0);
            continue;
          }
          const float* const from = x.data() + place + g * depth;
          for (std::size_t c = 0; c < depth; ++c) v[c] = static_cast<double>(from[c]);
        }
      }
      add_block(g, block);
    }
    count_ += static_cast<double>(block.positions);
  }
}

void GramMatrix::add_rows(std::span<const float> v, std::span<const float> y) {
  const std::size_t all = v.size() / shape_.row;
  Block block(shape_);
  for (std::size_t first = 0; first < all; first += block.positions) {
    block.positions = std::min(Block::kPositions, all - first);
    for (std::size_t i = 0; i < block.positions; ++i) {
      block.set_results(i, y.subspan((first + i) * shape_.channels, shape_.channels));
      std::copy_n(v.begin() + static_cast<std::ptrdiff_t>((first + i) * shape_.row), shape_.row,
                  &block.v[i * block.v_stride]);
    }
    add_block(0, block);
    count_ += static_cast<double>(block.positions);
  }
}

void GramMatrix::add_block(std::size_t group, const Block& block) {
  const std::size_t row = shape_.row, per_group = shape_.channels / shape_.groups;
  ProductSums products;
  products.positions = block.positions;
  products.a = products.b = block.v.data();
  products.a_stride = products.b_stride = block.v_stride;
  products.rows = products.columns = products.sums_stride = row;
  products.sums = products_.data() + group * row * row;
  products.lower = true;
  add_products(products);
  products.a = block.y.data() + group * per_group;
  products.a_stride = block.y_stride;
  products.rows = per_group;
  products.sums = cross_.data() + group * per_group * row;
  products.lower = false;
  add_products(products);
  double* const sums = sums_.data() + group * row;
  for (std::size_t p = 0; p < block.positions; ++p) {
    for (std::size_t i = 0; i < row; ++i) sums[i] += block.v[p * block.v_stride + i];
    for (std::size_t n = group * per_group; n < (group + 1) * per_group; ++n)
      results_[n] += block.y[p * block.y_stride + n];
  }
}

void GramMatrix::add(const GramMatrix& other) {
  count_ += other.count_;
  const auto sum = [](std::vector<double>& to, const std::vector<double>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  // Lower triangles.
  for (std::size_t at = 0, r = 0; r < shape_.groups * shape_.row; ++r, at += shape_.row) {
    for (std::size_t i = 0; i <= r % shape_.row; ++i) products_[at + i] += other.products_[at + i];
  }
  sum(sums_, other.sums_);
  sum(cross_, other.cross_);
  sum(results_, other.results_);
}

}  // namespace runnel::compiler::quantizer
