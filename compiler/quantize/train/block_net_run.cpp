// Through a block and back.
#include <algorithm>
#include <cmath>

#include "compiler/quantize/round/function_table.h"
#include "compiler/quantize/round/gram_matrix.h"
#include "compiler/quantize/train/block_net.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::quantizer {
namespace {

std::size_t from_end(const std::vector<std::int32_t>& shape, std::size_t back) {
  return shape.size() > back ? static_cast<std::size_t>(shape[shape.size() - 1 - back]) : 1;
}

// Where a layer's results and what they are made of lie; a dense layer is a convolution of one tap over its
// rows.
struct Places {
  std::size_t batch = 1, height = 1, width = 1, channels = 1;  // of x
  std::size_t out_height = 1, out_width = 1;
  std::size_t groups = 1, depth = 1, results = 1;  // input channels of a group; output channels of all
  ConvOptions options;
  std::size_t kernel_height = 1, kernel_width = 1;

  static Places of(const Graph& graph, const Node& node) {
    const auto shape = [&](TensorId id) -> const std::vector<std::int32_t>& {
      return graph.tensors[static_cast<std::size_t>(id)].shape;
    };
    const auto &x = shape(node.inputs[0]), &w = shape(node.inputs[1]), &y = shape(node.outputs[0]);
    Places p;
    p.results = static_cast<std::size_t>(w[0]);
    const auto* conv = std::get_if<ConvOptions>(&node.options);
    if (conv == nullptr) {
      p.depth = p.channels = LayerShape::of(graph, node).row;
      p.width = p.out_width = LayerShape::of(graph, node).positions;
      return p;
    }
    p.options = *conv;
    p.channels = from_end(x, 0);
    p.width = from_end(x, 1);
    p.height = from_end(x, 2);
    p.out_width = from_end(y, 1);
    p.out_height = from_end(y, 2);
    if (x.size() == 3) {  // one-dimensional: [batch, width, channels]
      p.height = p.out_height = 1;
      p.batch = static_cast<std::size_t>(x[0]);
    } else if (x.size() == 4) {
      p.batch = static_cast<std::size_t>(x[0]);
    }
    p.groups = static_cast<std::size_t>(conv->groups);
    p.kernel_height = static_cast<std::size_t>(w[1]);
    p.kernel_width = static_cast<std::size_t>(w[2]);
    p.depth = static_cast<std::size_t>(w[3]);
    return p;
  }

  // Calls visit(result position, input position, tap) for everything that is no padding.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t oy = 0; oy < out_height; ++oy) {
        for (std::size_t ox = 0; ox < out_width; ++ox) {
          for (std::size_t ky = 0; ky < kernel_height; ++ky) {
            const auto iy = static_cast<std::ptrdiff_t>(oy) * options.stride_height +
                            static_cast<std::ptrdiff_t>(ky) * options.dilation_height - options.pad_top;
            if (iy < 0 || iy >= static_cast<std::ptrdiff_t>(height)) continue;
            for (std::size_t kx = 0; kx < kernel_width; ++kx) {
              const auto ix = static_cast<std::ptrdiff_t>(ox) * options.stride_width +
                              static_cast<std::ptrdiff_t>(kx) * options.dilation_width - options.pad_left;
              if (ix < 0 || ix >= static_cast<std::ptrdiff_t>(width)) continue;
              visit((b * out_height + oy) * out_width + ox,
                    (b * height + static_cast<std::size_t>(iy)) * width + static_cast<std::size_t>(ix),
                    ky * kernel_width + kx);
            }
          }
        }
      }
    }
  }
  [[nodiscard]] bool depthwise() const { return groups > 1 && depth == 1 && results == groups; }
};

void add_scaled(float factor, const float* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

}  // namespace

void BlockNet::forward_layer(const Step& step, const Ready& ready, std::span<const float> parameters,
                             Work& work) const {
  const Places p = Places::of(graph_, graph_.nodes[step.node]);
  const LayerPlace& place = layers_[static_cast<std::size_t>(step.layer)];
  const float* const columns = ready.layers[static_cast<std::size_t>(step.layer)].columns.data();
  const std::vector<float>& x = work.value[static_cast<std::size_t>(step.a)];
  std::vector<float>& y = work.exact[static_cast<std::size_t>(step.y)];
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = parameters[place.bias + i % p.results];
  const std::size_t per_group = p.results / p.groups;
  p.each([&](std::size_t to, std::size_t from, std::size_t tap) {
    float* const out = y.data() + to * p.results;
    const float* const in = x.data() + from * p.channels;
    if (p.depthwise()) {
      const float* const w = columns + tap * p.results;
      for (std::size_t n = 0; n < p.results; ++n) out[n] += w[n] * in[n];
      return;
    }
    for (std::size_t g = 0; g < p.groups; ++g) {
      for (std::size_t c = 0; c < p.depth; ++c) {
        const float value = in[g * p.depth + c];
        if (value != 0)
          add_scaled(value, columns + (tap * p.depth + c) * p.results + g * per_group, per_group,
                     out + g * per_group);
      }
    }
  });
}

void BlockNet::backward_layer(const Step& step, const Ready& ready, Work& work,
                              std::vector<float>& gradient) const {
  const Places p = Places::of(graph_, graph_.nodes[step.node]);
  const LayerPlace& place = layers_[static_cast<std::size_t>(step.layer)];
  const float* const rows = ready.layers[static_cast<std::size_t>(step.layer)].rows.data();
  const std::vector<float>&x = work.value[static_cast<std::size_t>(step.a)],
        &dy = work.slope[static_cast<std::size_t>(step.y)];
  std::vector<float>& dx = work.slope[static_cast<std::size_t>(step.a)];
  for (std::size_t i = 0; i < dy.size(); ++i) gradient[place.bias + i % p.results] += dy[i];
  const std::size_t row = place.count / p.results, per_group = p.results / p.groups;
  p.each([&](std::size_t to, std::size_t from, std::size_t tap) {
    for (std::size_t n = 0; n < p.results; ++n) {
      const float slope = dy[to * p.results + n];
      if (slope == 0) continue;
      const std::size_t at = from * p.channels + n / per_group * p.depth, w = n * row + tap * p.depth;
      add_scaled(slope, rows + w, p.depth, dx.data() + at);
      add_scaled(slope, x.data() + at, p.depth, gradient.data() + place.weights + w);
    }
  });
}

void BlockNet::forward(const Step& step, const Ready& ready, std::span<const float> parameters,
                       Work& work) const {
  const Node& node = graph_.nodes[step.node];
  const std::vector<float>& a = work.value[static_cast<std::size_t>(step.a)];
  std::vector<float>&y = work.exact[static_cast<std::size_t>(step.y)],
  &value = work.value[static_cast<std::size_t>(step.y)];
  switch (step.kind) {
    case Kind::layer:
      forward_layer(step, ready, parameters, work);
      break;
    case Kind::binary: {
      const std::vector<float>& b = work.value[static_cast<std::size_t>(step.b)];
      const Grid& grid = ready.grids[static_cast<std::size_t>(step.grid)];
      // ESP-DL converts operands of sums to the result's scale first.
      const bool first = plan_.target.esp_dl && node.code != OpCode::mul;
      const auto brought = [&](float x) {
        return first ? static_cast<float>(rounded(grid, plan_.target.rounding, static_cast<double>(x))) : x;
      };
      for (std::size_t i = 0; i < y.size(); ++i) {
        const float p = brought(a[i]), q = brought(b[i]);
        y[i] = node.code == OpCode::add ? p + q : node.code == OpCode::sub ? p - q : p * q;
      }
      break;
    }
    case Kind::function: {
      const kernels::FunctionSpec spec = *function_of(node);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = kernels::evaluate(spec, a[i]);
      break;
    }
    case Kind::relu:
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::max(a[i], 0.0f);
      break;
    case Kind::clip: {
      const auto& clip = std::get<ClipOptions>(node.options);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::clamp(a[i], clip.low_value, clip.high_value);
      break;
    }
    case Kind::mean:
      for (std::size_t i = 0; i < y.size(); ++i) {
        float sum = 0;
        for (std::uint32_t k = step.first[i]; k < step.first[i + 1]; ++k) sum += a[step.from[k]];
        y[i] = sum * step.share[i];
      }
      break;
    case Kind::most:
      for (std::size_t i = 0; i < y.size(); ++i) {
        float most = step.first[i] < step.first[i + 1] ? a[step.from[step.first[i]]] : 0.0f;
        for (std::uint32_t k = step.first[i]; k < step.first[i + 1]; ++k)
          most = std::max(most, a[step.from[k]]);
        y[i] = most;
      }
      break;
  }
  if (step.activation == Activation::relu) {
    for (float& one : y) one = std::max(one, 0.0f);
  }
  if (step.grid < 0) {
    value = y;
    return;
  }
  const Grid& grid = ready.grids[static_cast<std::size_t>(step.grid)];
  for (std::size_t i = 0; i < y.size(); ++i)
    value[i] = static_cast<float>(rounded(grid, plan_.target.rounding, static_cast<double>(y[i])));
}

void BlockNet::backward(const Step& step, const Ready& ready, Work& work,
                        std::vector<float>& gradient) const {
  const Node& node = graph_.nodes[step.node];
  const std::vector<float>&a = work.value[static_cast<std::size_t>(step.a)],
        &y = work.exact[static_cast<std::size_t>(step.y)],
        &value = work.value[static_cast<std::size_t>(step.y)];
  std::vector<float>&da = work.slope[static_cast<std::size_t>(step.a)],
  &dy = work.slope[static_cast<std::size_t>(step.y)];
  if (step.grid >= 0) {
    const Grid& grid = ready.grids[static_cast<std::size_t>(step.grid)];
    const std::ptrdiff_t place = grids_[static_cast<std::size_t>(step.grid)].place;
    const double low = (kernels::lowest(grid.dtype) - 0.5 - grid.zero) * grid.step,
                 high = (kernels::highest(grid.dtype) + 0.5 - grid.zero) * grid.step;
    double reach = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const bool cut = static_cast<double>(y[i]) < low || static_cast<double>(y[i]) > high;
      reach += static_cast<double>(dy[i]) * static_cast<double>(cut ? value[i] : value[i] - y[i]);
      if (cut) dy[i] = 0;
    }
    if (place >= 0) gradient[static_cast<std::size_t>(place)] += static_cast<float>(std::log(2.0) * reach);
  }
  if (step.activation == Activation::relu) {
    for (std::size_t i = 0; i < y.size(); ++i) dy[i] = y[i] > 0 ? dy[i] : 0.0f;
  }
  switch (step.kind) {
    case Kind::layer:
      backward_layer(step, ready, work, gradient);
      break;
    case Kind::binary: {
      const std::vector<float>& b = work.value[static_cast<std::size_t>(step.b)];
      std::vector<float>& db = work.slope[static_cast<std::size_t>(step.b)];
      for (std::size_t i = 0; i < y.size(); ++i) {
        da[i] += node.code == OpCode::mul ? dy[i] * b[i] : dy[i];
        db[i] += node.code == OpCode::mul ? dy[i] * a[i] : node.code == OpCode::sub ? -dy[i] : dy[i];
      }
      break;
    }
    case Kind::function: {
      const kernels::FunctionSpec spec = *function_of(node);
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (dy[i] == 0) continue;
        const float width = 1e-3f * std::max(1.0f, std::abs(a[i]));
        const float slope =
            (kernels::evaluate(spec, a[i] + width) - kernels::evaluate(spec, a[i] - width)) / (2 * width);
        if (std::isfinite(slope)) da[i] += dy[i] * slope;
      }
      break;
    }
    case Kind::relu:
      for (std::size_t i = 0; i < y.size(); ++i) da[i] += a[i] > 0 ? dy[i] : 0.0f;
      break;
    case Kind::clip: {
      const auto& clip = std::get<ClipOptions>(node.options);
      for (std::size_t i = 0; i < y.size(); ++i)
        da[i] += a[i] > clip.low_value && a[i] < clip.high_value ? dy[i] : 0.0f;
      break;
    }
    case Kind::mean:
      for (std::size_t i = 0; i < y.size(); ++i) {
        for (std::uint32_t k = step.first[i]; k < step.first[i + 1]; ++k)
          da[step.from[k]] += dy[i] * step.share[i];
      }
      break;
    case Kind::most:
      for (std::size_t i = 0; i < y.size(); ++i) {
        for (std::uint32_t k = step.first[i]; k < step.first[i + 1]; ++k) {
          if (a[step.from[k]] != y[i]) continue;
          da[step.from[k]] += dy[i];
          break;
        }
      }
      break;
  }
}

double BlockNet::run(const Ready& ready, std::span<const float> parameters, std::span<const float> x,
                     std::span<const float> wanted, Work& work, std::vector<float>* gradient) const {
  work.exact.resize(sizes_.size());
  work.value.resize(sizes_.size());
  work.slope.resize(sizes_.size());
  for (std::size_t t = 0; t < sizes_.size(); ++t) {
    work.exact[t].resize(sizes_[t]);
    work.value[t].resize(sizes_[t]);
    if (gradient != nullptr) work.slope[t].assign(sizes_[t], 0.0f);
  }
  std::copy(x.begin(), x.end(), work.value[0].begin());
  for (const Step& step : steps_) forward(step, ready, parameters, work);
  double loss = 0;
  std::size_t at = 0;
  for (const int output : outputs_) {
    const std::vector<float>& found = work.value[static_cast<std::size_t>(output)];
    for (std::size_t i = 0; i < found.size(); ++i, ++at) {
      const float difference = found[i] - wanted[at];
      loss += static_cast<double>(difference) * static_cast<double>(difference);
      if (gradient != nullptr) work.slope[static_cast<std::size_t>(output)][i] += 2 * difference;
    }
  }
  if (gradient != nullptr) {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) backward(*step, ready, work, *gradient);
  }
  return loss;
}

}  // namespace runnel::compiler::quantizer
