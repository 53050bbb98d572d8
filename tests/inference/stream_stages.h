// Further operators for test graphs: what changes rates, remembers, or looks around.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "tests/inference/graph_builder.h"

namespace runnel::test {

// After x [1, T, C], unless it says otherwise.
class StreamStages {
 public:
  using Id = GraphBuilder::Id;
  using Window = GraphBuilder::Window;
  explicit StreamStages(GraphBuilder& builder) : b(builder) {}

  Id like(Id x, std::vector<std::int32_t> shape) { return b.tensor(std::move(shape), b.exponent(x)); }

  // `left` and `right` are crops.
  Id transposed_conv(Id x, int channels, const Window& w) {
    const auto shape = b.shape(x);
    const int length = (shape[1] - 1) * w.stride + w.extent() - w.left - w.right;
    compiler::TransposedConvOptions options;
    options.stride_width = w.stride;
    options.dilation_width = w.dilation;
    options.crop_left = w.left;
    options.crop_right = w.right;
    const bool wide = b.dtype() == DType::int16;
    const Id weights = b.constant({channels, 1, w.kernel, shape[2]}, b.dtype(), {-7}, -1, wide ? 2000 : 60);
    const Id bias = b.constant({channels}, b.wide(), {static_cast<std::int8_t>(b.exponent(x) - 7)}, -1, 900);
    const Id y = like(x, {1, length, channels});
    b.node(OpCode::transposed_conv, {x, weights, bias}, {y}, options);
    return y;
  }

  Id recurrent(Id x, bool lstm, int hidden) {
    const auto shape = b.shape(x);
    const int rows = (lstm ? 4 : 3) * hidden, state = b.dtype() == DType::int16 ? -14 : -7,
              weight = b.dtype() == DType::int16 ? -14 : -6;
    const int largest = b.dtype() == DType::int16 ? 20000 : 127;
    compiler::RecurrentOptions options;
    options.gate_exponent = b.dtype() == DType::float32 ? 0 : -9;
    const Id frames = b.reshape(x, {shape[1], 1, shape[2]});
    std::vector<Id> inputs = {
        frames, b.constant({1, rows, shape[2]}, b.dtype(), {static_cast<std::int8_t>(weight)}, -1, largest),
        b.constant({1, rows, hidden}, b.dtype(), {static_cast<std::int8_t>(weight)}, -1, largest),
        b.constant({1, 2 * rows}, b.dtype() == DType::float32 ? DType::float32 : DType::int16, {-9}, -1, 700),
        compiler::kAbsent};
    if (lstm) inputs.push_back(compiler::kAbsent);
    const Id y = b.tensor({shape[1], 1, 1, hidden}, state);
    b.node(lstm ? OpCode::lstm : OpCode::gru, std::move(inputs), {y}, options);
    return b.reshape(y, {1, shape[1], hidden});
  }

  // `before` < window; window -1: all frames so far.
  Id statistic(OpCode code, Id x, int window, int hop, int before) {
    const auto shape = b.shape(x);
    compiler::ReduceOptions options;
    options.axes = {1};
    options.window = window;
    options.hop = hop;
    options.before = before;
    options.time_axis = 1;
    const int room = shape[1] + before - window;
    const Id y = b.tensor({1,
                           window < 0 ? shape[1]
                           : room < 0 ? 0
                                      : room / hop + 1,
                           shape[2]},
                          code == OpCode::reduce_sum ? b.exponent(x) + 3 : b.exponent(x));
    b.node(code, {x}, {y}, options, Arithmetic::windows);
    return y;
  }

  // Self-attention of one head over projections of x; of integers also in fixed point, normalized.
  Id attention(Id x, int left, int right, int chunk) {
    const auto shape = b.shape(x);
    const auto projected = [&] { return b.reshape(b.conv(x, shape[2], {}), {1, shape[1], 1, shape[2]}); };
    const Id q = projected(), k = projected(), v = projected(), y = like(x, {1, shape[1], 1, shape[2]});
    compiler::AttentionOptions options;
    options.left = left;
    options.right = right;
    options.chunk = chunk;
    options.score_exponent = -4;
    options.weight_exponent = b.dtype() == DType::int16 ? -15 : -7;
    options.real_scale = 0.5f;
    if (b.dtype() == DType::float32 || (left + chunk) % 2 == 0) {
      b.node(OpCode::attention, {q, k, v}, {y}, options);
      return b.reshape(y, shape);
    }
    b.node(OpCode::attention, {q, k, v}, {y}, options, Arithmetic::fixed_point);
    compiler::NormOptions norm;
    norm.axis = 2;
    norm.epsilon = 1e-3f;
    const Id flat = b.reshape(y, shape), z = like(x, shape);
    b.node(OpCode::layer_norm,
           {flat, b.constant({shape[2]}, DType::int16, {-14}, -1, 20000),
            b.constant({shape[2]}, DType::int32, {}, -1, 5000)},
           {z}, norm, Arithmetic::fixed_point);
    return z;
  }

  Id nearest(Id x, int factor) {
    const auto shape = b.shape(x);
    const Id y = like(x, {1, shape[1] * factor, shape[2]});
    b.node(OpCode::resize, {x}, {y}, compiler::ResizeOptions{});
    return y;
  }

  Id softmax(Id x) {
    const Id y = b.tensor(b.shape(x), b.dtype() == DType::int16 ? -15 : -7);
    b.node(OpCode::softmax, {x}, {y}, compiler::AxisOptions{static_cast<int>(b.shape(x).size()) - 1});
    return y;
  }

  // x[t + 1] - x[t].
  Id delta(Id x) {
    const int frames = b.shape(x)[1];
    return b.binary(OpCode::sub, b.slice(x, 1, 1, frames - 1), b.slice(x, 1, 0, frames - 1));
  }

 private:
  GraphBuilder& b;
};

}  // namespace runnel::test
