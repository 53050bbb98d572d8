// Random graphs of one to six stages over time: convolutions, pools, joins, cuts, rates up and down, memories
// and attention, all with awkward windows and padding.
#pragma once

#include <algorithm>
#include <random>
#include <sstream>
#include <string>

#include "tests/inference/stream_stages.h"

namespace runnel::test {

class RandomGraph {
 public:
  // `plain`: only stages that have always the same reach, no memories.
  RandomGraph(std::uint32_t seed, DType dtype, bool plain = false)
      : random_(seed), builder_(seed * 7 + 1, dtype), stages_(builder_), plain_(plain) {
    if (uniform(0, 1) != 0) builder_.rounding(kernels::Rounding::half_even);
    auto x = builder_.input({1, kReference, uniform(1, 5)});
    for (int stages = uniform(1, 6); stages-- > 0;) x = stage(x);
    if (builder_.graph().nodes.empty()) x = builder_.relu(x);
    builder_.output(x);
  }
  GraphBuilder& builder() { return builder_; }
  std::string story() const { return story_.str(); }
  // Every tensor has at least one frame at the reference length.
  bool legal() const { return legal_; }

 private:
  static constexpr int kReference = 240;
  using Id = GraphBuilder::Id;
  using Window = GraphBuilder::Window;

  int uniform(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  Window window(int most_kernel, int most_stride, int most_dilation) {
    Window w;
    w.kernel = uniform(1, most_kernel);
    w.stride = uniform(1, most_stride);
    w.dilation = uniform(1, most_dilation);
    w.left = uniform(0, w.extent() - 1);
    w.right = uniform(0, w.extent() - 1);
    return w;
  }
  void tell(const char* what, const Window& w = {}) {
    story_ << ' ' << what << "(k" << w.kernel << " s" << w.stride << " d" << w.dilation << " P" << w.left
           << " Q" << w.right << ')';
  }
  Id check(Id x) {
    legal_ = legal_ &&
             std::all_of(builder_.shape(x).begin(), builder_.shape(x).end(), [](int dim) { return dim > 0; });
    return x;
  }

  Id stage(Id x) {
    if (!legal_) return x;
    const int channels = builder_.shape(x)[2], frames = builder_.shape(x)[1];
    if (frames < 20) return x;
    switch (uniform(0, plain_ ? 15 : 20)) {
      case 0: {
        const Window w = window(5, 3, 3);
        tell("conv", w);
        return check(builder_.conv(x, uniform(1, 6), w, 1, uniform(0, 1) != 0, uniform(0, 1) != 0));
      }
      case 1: {
        const Window w = window(5, 2, 3);
        tell("depthwise", w);
        return check(builder_.conv(x, channels, w, channels, uniform(0, 1) != 0));
      }
      case 2: {
        Window w = window(4, 3, 2);
        const bool max = uniform(0, 1) != 0, count = uniform(0, 1) != 0;
        tell(max ? "max_pool" : count ? "average_pool" : "average_pool_uncounted", w);
        return check(builder_.pool(x, max, w, count));
      }
      case 3:
        if (builder_.dtype() == DType::float32) return builder_.relu(x);
        tell("lut");
        return builder_.lut(x);
      case 4:
        tell("relu");
        return builder_.relu(x);
      case 5:
        if (builder_.dtype() == DType::float32) return x;
        tell("requantize");
        return builder_.requantize(x, uniform(-6, -3));
      case 6: {  // residual over one or two centred or causal convolutions
        Id y = x;
        for (int i = uniform(1, 2); i-- > 0;) {
          Window w = window(5, 1, 2);
          w.right = w.extent() - 1 - w.left;
          tell("res", w);
          y = check(builder_.conv(y, channels, w));
        }
        const bool swap = uniform(0, 1) != 0;
        return builder_.binary(uniform(0, 1) != 0 ? OpCode::add : OpCode::mul, swap ? y : x, swap ? x : y,
                               uniform(1, 2) == 1 ? Arithmetic::espdl : Arithmetic::exact,
                               uniform(0, 1) != 0);
      }
      case 7: {  // two strided branches of equal length, concatenated
        const Window w = window(4, 3, 1);
        Window v = w;
        v.kernel = uniform(1, 4);
        v.left = uniform(0, v.kernel - 1);
        v.right = w.left + w.right - w.kernel + v.kernel - v.left;
        if (v.right < 0 || v.right > v.kernel - 1) v = w;
        tell("branch", w);
        tell("branch", v);
        const Id a = check(builder_.conv(x, uniform(1, 4), w));
        const Id b = check(uniform(0, 1) != 0 ? builder_.conv(x, uniform(1, 4), v)
                                              : builder_.pool(x, uniform(0, 1) != 0, v));
        return builder_.concat({a, b}, 2);
      }
      case 8: {
        const int begin = uniform(0, 4), cut = uniform(0, 3);
        if (frames - begin - cut < 1) return x;
        story_ << " slice(" << begin << ',' << cut << ')';
        return builder_.slice(x, 1, begin, frames - begin - cut);
      }
      case 9: {
        const int before = uniform(0, 4), after = uniform(0, 3);
        story_ << " pad(" << before << ',' << after << ')';
        return builder_.pad(x, 1, before, after, uniform(-20, 20));
      }
      case 10: {  // the same tensor read by windows of different padding values
        const Window w = window(4, 1, 1);
        Window v = w;
        tell("fan", w);
        const Id a = check(builder_.conv(x, channels, w)), b = check(builder_.pool(x, true, v));
        return builder_.binary(OpCode::add, a, b);
      }
      case 11: {  // two-dimensional, time as height or as width
        Window w = window(4, 2, 2), f = window(3, 1, 1);
        const bool width = uniform(0, 1) != 0;
        tell(width ? "conv2d, time as width," : "conv2d", w);
        Id wide = builder_.reshape(x, {1, frames, channels, 1});
        if (width) wide = builder_.transpose(wide, {0, 2, 1, 3});
        Id y = check(width ? builder_.conv2d(wide, uniform(1, 3), f, w)
                           : builder_.conv2d(wide, uniform(1, 3), w, f));
        if (!legal_) return y;
        if (width) {
          if (uniform(0, 1) != 0) y = builder_.relu(y);
          y = builder_.transpose(y, {0, 2, 1, 3});
        }
        const auto shape = builder_.shape(y);
        return builder_.reshape(y, {1, shape[1], shape[2] * shape[3]});
      }
      case 12: {  // frames stacked
        const int k = uniform(2, 3);
        if (frames % k != 0 || channels * k > 24) return x;
        story_ << " stack(" << k << ')';
        return builder_.reshape(x, {1, frames / k, channels * k});
      }
      case 13: {  // and taken apart
        const int k = uniform(2, 3);
        if (channels % k != 0 || channels == k || frames * k > 600) return x;
        story_ << " unstack(" << k << ')';
        return builder_.reshape(x, {1, frames * k, channels / k});
      }
      case 14:
        tell("delta");
        return stages_.delta(x);
      case 15: {  // channel-first for a while
        story_ << " channel-first";
        const Id y = builder_.transpose(x, {0, 2, 1}), z = builder_.relu(y);
        return builder_.transpose(builder_.binary(OpCode::add, y, z), {0, 2, 1});
      }
      case 16: {
        static constexpr OpCode kCodes[] = {OpCode::reduce_mean, OpCode::reduce_sum, OpCode::reduce_max,
                                            OpCode::reduce_min};
        const OpCode code = kCodes[uniform(0, 3)];
        const int window = uniform(0, 4) == 0 ? -1 : uniform(1, 12), hop = window < 0 ? 1 : uniform(1, 3);
        const int before = window < 0 ? 0 : uniform(0, 1) != 0 ? window - 1 : uniform(0, window - 1);
        story_ << ' ' << name_of(code) << "(window " << window << " hop " << hop << " before " << before
               << ')';
        return check(stages_.statistic(code, x, window, hop, before));
      }
      case 17: {
        const int left = uniform(0, 6), right = uniform(0, 3), chunk = uniform(0, 1) != 0 ? 1 : uniform(2, 4);
        story_ << " attention(" << left << ',' << right << ',' << chunk << ')';
        return stages_.attention(x, left, right, chunk);
      }
      case 18: {
        const bool lstm = uniform(0, 1) != 0;
        tell(lstm ? "lstm" : "gru");
        return stages_.recurrent(x, lstm, uniform(1, 5));
      }
      case 19: {
        if (frames > 300) return x;
        Window w = window(5, 3, 2);
        w.left = uniform(0, w.extent() - 1);
        w.right = uniform(0, w.extent() - 1);
        tell("transposed_conv", w);
        return check(builder_.dtype() == DType::float32 ? stages_.nearest(x, w.stride)
                                                        : stages_.transposed_conv(x, uniform(1, 4), w));
      }
      default: {  // down and up again, beside what stayed
        const int factor = uniform(2, 3);
        Window down;
        down.kernel = down.stride = factor;
        story_ << " down and up by " << factor;
        const Id low =
            check(uniform(0, 1) != 0 ? builder_.pool(x, true, down) : builder_.conv(x, channels, down));
        if (!legal_) return low;
        const Id high = stages_.nearest(low, factor);
        // The rest of the last window is missing above: cut it off below, by the same way down and up.
        Window pick;
        pick.kernel = pick.stride = factor;
        const Id same = stages_.nearest(builder_.pool(x, false, pick), factor);
        return builder_.binary(OpCode::add, high, same);
      }
    }
  }

  std::mt19937 random_;
  GraphBuilder builder_;
  StreamStages stages_;
  bool plain_ = false;
  std::ostringstream story_;
  bool legal_ = true;
};

}  // namespace runnel::test
