// Convolution on microcontrollers, without the inner loops. Included once by each file compiled for such
// instructions; everything is in an unnamed namespace.
//
// A Machine has, for int8 and int16:
// * kBlock, how many output channels it computes side by side;
// * dot<N>(x, w, step, count, zero_point, sums): sums[i] += sum over k < count of
//   (x[k] - zero_point) * w[i * step + k], for N channels;
// * kOwnDense<T>, whether it has dense_channels(dense, requant, channel, last), which replaces dense() below;
// * finish<N>(sums, scale, channel, y): y[i] = requantized sums[i] of `channel` + i;
// * depthwise(window, scale, bias, channel, last, y): the channels [channel, last) of the position y.
#pragma once

#include "kernels/conv/conv_taps.h"
#include "kernels/conv/device/conv_device.h"
#include "kernels/conv/device/finish_device.h"
#include "kernels/rom_kernels.h"

namespace runnel::kernels {
namespace {

// Input of a depthwise kernel: the taps of one window that are inside the input.
template <class T>
struct TapWindow {
  const T* x;        // the first tap, channel 0
  const T* weights;  // the same, of channel 0
  std::int32_t rows, columns;
  std::int32_t row_step, column_step;  // elements from tap to tap, in x
  std::int32_t weight_row_step;        // in the weights; columns are contiguous
  std::int32_t channel_step;           // from channel to channel in the weights
  std::int32_t zero_point;
};

// The taps of one position.
struct TapsOfPosition {
  std::int32_t top, left;
  TapRange rows, columns;
};
[[gnu::always_inline]] inline TapsOfPosition taps_at(const ConvSpec& spec, std::int32_t position) noexcept {
  const std::int32_t row = spec.out_height == 1 ? 0 : position / spec.out_width,
                     column = position - row * spec.out_width;
  const std::int32_t top = row * spec.stride_height - spec.pad_top,
                     left = column * spec.stride_width - spec.pad_left;
  return {top, left, taps_inside(top, spec.dilation_height, spec.kernel_height, spec.in_height),
          taps_inside(left, spec.dilation_width, spec.kernel_width, spec.in_width)};
}

template <class Machine, class T, class Bias>
void run_depthwise(const ConvSpec& spec, const ConvPart& part, const T* x, T* y) noexcept {
  TapWindow<T> window;
  window.weight_row_step = spec.kernel_width;
  window.channel_step = spec.kernel_height * spec.kernel_width;
  window.column_step = spec.dilation_width * spec.in_channels;
  window.row_step = spec.dilation_height * spec.in_width * spec.in_channels;
  window.zero_point = spec.in_zero_point;
  const Scale how(spec.requant);
  for (auto at = static_cast<std::int32_t>(part.first); at < part.last; ++at) {
    const TapsOfPosition taps = taps_at(spec, at);
    const std::int32_t row = taps.top + taps.rows.first * spec.dilation_height,
                       column = taps.left + taps.columns.first * spec.dilation_width;
    window.rows = taps.rows.last - taps.rows.first;
    window.columns = taps.columns.last - taps.columns.first;
    window.x = x + (row * spec.in_width + column) * spec.in_channels;
    window.weights =
        static_cast<const T*>(spec.weights) + taps.rows.first * spec.kernel_width + taps.columns.first;
    Machine::depthwise(window, how, static_cast<const Bias*>(spec.bias), part.first_channel,
                       part.last_channel, y + at * spec.out_channels);
  }
}

// Output channels of one position whose inputs are contiguous. A separate function, so that its loops
// have all registers.
template <class T, class Bias>
struct DensePosition {
  const T *x, *weights;  // weights: of channel 0
  std::int32_t channel_step, count, zero_point;
  const Bias* bias;
  T* y;
};
template <class Machine, class T, class Bias>
[[gnu::noinline]] void dense(const DensePosition<T, Bias>& of, const Requant& requant, std::int32_t channel,
                             std::int32_t last) noexcept {
  if constexpr (Machine::template kOwnDense<T>) return Machine::dense_channels(of, requant, channel, last);
  const Scale how(requant);
  const T* weights = of.weights + channel * of.channel_step;
  for (; channel + Machine::kBlock <= last;
       channel += Machine::kBlock, weights += Machine::kBlock * of.channel_step) {
    Bias sums[Machine::kBlock] = {};
    // Unrolled: the compiler would turn a loop into a call of memcpy.
    if (of.bias != nullptr) {
      const Bias* const bias = of.bias + channel;
      sums[0] = bias[0];
      sums[1] = bias[1];
      if constexpr (Machine::kBlock == 4) {
        sums[2] = bias[2];
        sums[3] = bias[3];
      }
    }
    Machine::template dot<Machine::kBlock>(of.x, weights, of.channel_step, of.count, of.zero_point, sums);
    Machine::template finish<Machine::kBlock>(sums, how, channel, of.y + channel);
  }
  for (; channel < last; ++channel, weights += of.channel_step) {
    Bias sum = of.bias == nullptr ? 0 : of.bias[channel];
    Machine::template dot<1>(of.x, weights, of.channel_step, of.count, of.zero_point, &sum);
    Machine::template finish<1>(&sum, how, channel, of.y + channel);
  }
}
template <class Machine, int kCount, class T, class Sum>
[[gnu::noinline]] void add_products(const T* x, const T* w, std::int32_t step, std::int32_t count,
                                    std::int32_t zero_point, Sum* sums) noexcept {
  Machine::template dot<kCount>(x, w, step, count, zero_point, sums);
}

template <class Machine, class T, class Bias>
class DenseConv {
 public:
  DenseConv(const ConvSpec& spec, const T* x) noexcept
      : spec_(spec),
        x_(x),
        group_inputs_(spec.groups == 1 ? spec.in_channels : spec.in_channels / spec.groups),
        merge_(spec.dilation_width == 1 && spec.groups == 1),
        row_weights_(spec.kernel_width * group_inputs_),
        channel_weights_(spec.kernel_height * row_weights_) {}

  void run(const ConvPart& part, T* y) noexcept {
    const std::int32_t group_outputs =
        spec_.groups == 1 ? spec_.out_channels : spec_.out_channels / spec_.groups;
    for (auto at = static_cast<std::int32_t>(part.first); at < part.last; ++at) {
      taps_ = taps_at(spec_, at);
      T* const out = y + at * spec_.out_channels;
      // Adjacent taps are contiguous in x and in the weights: usually all of them.
      const bool one_run =
          taps_.rows.last - taps_.rows.first == 1 &&
          (merge_ ? taps_.columns.last > taps_.columns.first : taps_.columns.last - taps_.columns.first == 1);
      // Channels of a group read the same inputs.
      for (std::int32_t channel = part.first_channel; channel < part.last_channel;) {
        const std::int32_t group = spec_.groups == 1 ? 0 : channel / group_outputs;
        const std::int32_t end = (group + 1) * group_outputs,
                           last = end < part.last_channel ? end : part.last_channel;
        const T* const in = x_ + group * group_inputs_;
        if (one_run)
          run_channels(in, channel, last, out);
        else
          channels(in, channel, last, out);
        channel = last;
      }
    }
  }

 private:
  using Sum = Bias;
  struct Run {
    const T *x, *weights;
    std::int32_t count;
  };
  // The run of taps from (row, column) on, for channel 0.
  [[gnu::always_inline]] Run run_at(const T* in, std::int32_t row, std::int32_t column) const noexcept {
    const std::int32_t in_row = taps_.top + row * spec_.dilation_height,
                       in_column = taps_.left + column * spec_.dilation_width;
    const std::int32_t taps = merge_ ? taps_.columns.last - taps_.columns.first : 1;
    return {in + (in_row * spec_.in_width + in_column) * spec_.in_channels,
            static_cast<const T*>(spec_.weights) + row * row_weights_ + column * group_inputs_,
            taps * group_inputs_};
  }

  void run_channels(const T* in, std::int32_t channel, std::int32_t last, T* y) const noexcept {
    const Run run = run_at(in, taps_.rows.first, taps_.columns.first);
    dense<Machine>(DensePosition<T, Bias>{run.x, run.weights, channel_weights_, run.count,
                                          spec_.in_zero_point, static_cast<const Bias*>(spec_.bias), y},
                   spec_.requant, channel, last);
  }

  void channels(const T* in, std::int32_t channel, std::int32_t last, T* y) const noexcept {
    const auto* const bias = static_cast<const Bias*>(spec_.bias);
    const std::int32_t step = merge_ ? spec_.kernel_width : 1;
    while (channel < last) {
      const bool block = last - channel >= Machine::kBlock;
      Sum sums[Machine::kBlock] = {};
      for (int i = 0; i < (block ? Machine::kBlock : 1) && bias != nullptr; ++i) sums[i] = bias[channel + i];
      for (std::int32_t row = taps_.rows.first; row < taps_.rows.last; ++row) {
        for (std::int32_t column = taps_.columns.first; column < taps_.columns.last; column += step) {
          const Run run = run_at(in, row, column);
          const T* const weights = run.weights + channel * channel_weights_;
          if (block)
            add_products<Machine, Machine::kBlock>(run.x, weights, channel_weights_, run.count,
                                                   spec_.in_zero_point, sums);
          else
            add_products<Machine, 1>(run.x, weights, channel_weights_, run.count, spec_.in_zero_point, sums);
        }
      }
      const Scale how(spec_.requant);
      if (block)
        Machine::template finish<Machine::kBlock>(sums, how, channel, y + channel);
      else
        Machine::template finish<1>(sums, how, channel, y + channel);
      channel += block ? Machine::kBlock : 1;
    }
  }

  const ConvSpec& spec_;
  const T* x_;
  std::int32_t group_inputs_;
  bool merge_;
  std::int32_t row_weights_, channel_weights_;
  TapsOfPosition taps_{};
};

template <class Machine, class T, class Bias>
void run_device(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept {
  if (spec.groups > 1 && spec.groups == spec.in_channels && spec.groups == spec.out_channels) {
    run_depthwise<Machine, T, Bias>(spec, part, static_cast<const T*>(x), static_cast<T*>(y));
  } else {
    DenseConv<Machine, T, Bias>(spec, static_cast<const T*>(x)).run(part, static_cast<T*>(y));
  }
}

// One channel, without vectors.
template <class T, class Sum, bool kZero>
[[gnu::always_inline]] inline Sum depthwise_taps(const TapWindow<T>& window, Sum sum, const T* x, const T* w,
                                                 const T* end) noexcept {
  const std::int32_t step = window.column_step;
  for (; end - w >= 4; w += 4) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i, x += step)
      sum += static_cast<Sum>(*x - (kZero ? window.zero_point : 0)) * w[i];
  }
  for (; w != end; x += step) sum += static_cast<Sum>(*x - (kZero ? window.zero_point : 0)) * *w++;
  return sum;
}
template <class T, class Sum>
[[gnu::always_inline]] inline Sum depthwise_sum(const TapWindow<T>& window, Sum sum,
                                                std::int32_t channel) noexcept {
  const T *x = window.x + channel, *w = window.weights + channel * window.channel_step;
  for (std::int32_t row = 0; row < window.rows; ++row, x += window.row_step, w += window.weight_row_step) {
    sum = window.zero_point == 0 ? depthwise_taps<T, Sum, false>(window, sum, x, w, w + window.columns)
                                 : depthwise_taps<T, Sum, true>(window, sum, x, w, w + window.columns);
  }
  return sum;
}

// The part that every Machine computes channel by channel, without vectors. kAny: shifts may
// be unusual (finish_device.h).
template <bool kAny>
struct ChannelByChannel {
  template <int kCount>
  [[gnu::always_inline]] static void finish(const std::int64_t* sums, const Scale& how, std::int32_t channel,
                                            std::int16_t* y) noexcept {
    for (int i = 0; i < kCount; ++i) y[i] = requantize_wide(sums[i], how, channel + i);
  }
  [[gnu::always_inline]] static void depthwise(const TapWindow<std::int8_t>& window, const Scale& how,
                                               const std::int32_t* bias, std::int32_t channel,
                                               std::int32_t last, std::int8_t* y) noexcept {
    for (; channel < last; ++channel) {
      const std::int32_t sum = depthwise_sum(window, bias == nullptr ? 0 : bias[channel], channel);
      y[channel] = static_cast<std::int8_t>(requantize_device<kAny>(sum, how, channel));
    }
  }
  [[gnu::always_inline]] static void depthwise(const TapWindow<std::int16_t>& window, const Scale& how,
                                               const std::int64_t* bias, std::int32_t channel,
                                               std::int32_t last, std::int16_t* y) noexcept {
    for (; channel < last; ++channel)
      y[channel] =
          requantize_wide(depthwise_sum(window, bias == nullptr ? 0 : bias[channel], channel), how, channel);
  }
};

// kernels/rom_kernels.h: the inner loops alone.
template <class Machine>
[[gnu::always_inline]] inline void run_constant(const RomDense& of, const void* x, void* y) noexcept {
  dense<Machine>(DensePosition<std::int8_t, std::int32_t>{static_cast<const std::int8_t*>(x),
                                                          static_cast<const std::int8_t*>(of.weights),
                                                          of.inputs, of.inputs, of.in_zero_point,
                                                          static_cast<const std::int32_t*>(of.bias),
                                                          static_cast<std::int8_t*>(y)},
                 of.requant, 0, of.channels);
}
template <class Machine>
[[gnu::always_inline]] inline void run_constant(const RomDepthwise& of, const void* x, void* y) noexcept {
  TapWindow<std::int8_t> window{};
  window.x = static_cast<const std::int8_t*>(x);
  window.weights = static_cast<const std::int8_t*>(of.weights);
  window.rows = 1;
  window.columns = window.channel_step = of.taps;
  window.column_step = of.distance * of.channels;
  window.zero_point = of.in_zero_point;
  Machine::depthwise(window, Scale(of.requant), static_cast<const std::int32_t*>(of.bias), 0, of.channels,
                     static_cast<std::int8_t*>(y));
}

}  // namespace
}  // namespace runnel::kernels
