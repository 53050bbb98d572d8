// Convolutions: the window of each position becomes one row, multiplied by each channel's weights.
#include <algorithm>

#include "npu/host/simulator/convolution_sums.h"
#include "npu/host/simulator/feature_map.h"
#include "npu/host/simulator/output_stage.h"
#include "npu/host/simulator/simulator.h"
#include "npu/host/simulator/window.h"

namespace runnel::npu {
namespace {

// The number of products of a 16-bit and a 9-bit number, or of two 9-bit numbers, whose sum fits
// into 32 bits.
constexpr std::size_t kWideChunk = 128, kNarrowChunk = std::size_t{1} << 14;
constexpr std::int32_t kMaxWeight = 255;
constexpr std::size_t kRow = 16;  // rows of windows and weights are padded to a multiple

std::size_t round_up(std::size_t value) { return (value + kRow - 1) / kRow * kRow; }

// Plain C++ that compilers vectorise.
std::int64_t dot(const std::int16_t* x, const std::int16_t* w, std::size_t count, std::size_t chunk) {
  std::int64_t total = 0;
  for (std::size_t first = 0; first < count; first += chunk) {
    const std::size_t size = std::min(chunk, count - first);
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += std::int32_t{x[first + i]} * std::int32_t{w[first + i]};
    total += sum;
  }
  return total;
}
std::int64_t dot(const std::int32_t* x, const std::int16_t* w, std::size_t count, std::size_t) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < count; ++i) total += std::int64_t{x[i]} * w[i];
  return total;
}

// An input of type `X` less its zero point.
template <class X>
class Convolution {
 public:
  Convolution(const Operation& op, const std::vector<std::int32_t>& input,
              const std::vector<std::int16_t>& weights, std::size_t chunk)
      : op_(op),
        rows_(rows_of(op)),
        columns_(columns_of(op)),
        depth_(static_cast<std::size_t>(op.ifm.depth)),
        outs_(static_cast<std::size_t>(op.ofm.depth)),
        x_(input.begin(), input.end()),
        chunk_(chunk) {
    if (op.kind == OperationKind::depthwise)
      lay_out_depthwise(weights);
    else
      lay_out(weights);
  }

  // write(position, sums of all channels)
  template <class Write>
  void run(const Write& write) {
    std::vector<std::int64_t> sums(outs_);
    std::size_t position = 0;
    for (std::int32_t y = 0; y < op_.ofm.height; ++y) {
      for (std::int32_t x = 0; x < op_.ofm.width; ++x, ++position) {
        if (op_.kind == OperationKind::depthwise) {
          depthwise(y, x, sums);
        } else {
          gather(y, x);
          for (std::size_t out = 0; out < outs_; ++out)
            sums[out] = dot(window_.data(), weights_.data() + out * row_, row_, chunk_);
        }
        write(position, std::span<const std::int64_t>(sums));
      }
    }
  }

 private:
  [[nodiscard]] std::size_t taps() const {
    return static_cast<std::size_t>(rows_.taps) * static_cast<std::size_t>(columns_.taps);
  }
  [[nodiscard]] const X* at(std::int32_t y, std::int32_t x) const {
    return x_.data() + (static_cast<std::size_t>(y) * static_cast<std::size_t>(op_.ifm.width) +
                        static_cast<std::size_t>(x)) *
                           depth_;
  }

  // [out][ky][kx][in], rows padded with zeros.
  void lay_out(const std::vector<std::int16_t>& weights) {
    const std::size_t length = taps() * depth_;
    row_ = round_up(length);
    weights_.assign(outs_ * row_, 0);
    for (std::size_t out = 0; out < outs_; ++out) {
      std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(out * length), length,
                  weights_.begin() + static_cast<std::ptrdiff_t>(out * row_));
    }
    window_.assign(row_, 0);
  }
  // [ky][kx][out], for sums of all channels in parallel.
  void lay_out_depthwise(const std::vector<std::int16_t>& weights) {
    weights_.resize(weights.size());
    for (std::size_t out = 0; out < outs_; ++out) {
      for (std::size_t tap = 0; tap < taps(); ++tap)
        weights_[tap * outs_ + out] = weights[out * taps() + tap];
    }
  }

  void gather(std::int32_t y, std::int32_t x) {
    X* to = window_.data();
    for (std::int32_t ky = 0; ky < rows_.taps; ++ky) {
      const std::int32_t row = rows_.source(y, ky);
      for (std::int32_t kx = 0; kx < columns_.taps; ++kx, to += depth_) {
        const std::int32_t column = columns_.source(x, kx);
        if (row < 0 || column < 0)
          std::fill_n(to, depth_, X{0});
        else
          std::copy_n(at(row, column), depth_, to);
      }
    }
  }

  void depthwise(std::int32_t y, std::int32_t x, std::vector<std::int64_t>& sums) {
    std::fill(sums.begin(), sums.end(), 0);
    for (std::int32_t ky = 0; ky < rows_.taps; ++ky) {
      const std::int32_t row = rows_.source(y, ky);
      for (std::int32_t kx = 0; kx < columns_.taps && row >= 0; ++kx) {
        const std::int32_t column = columns_.source(x, kx);
        if (column < 0) continue;
        const X* const from = at(row, column);
        const std::int16_t* const w =
            weights_.data() + (static_cast<std::size_t>(ky) * static_cast<std::size_t>(columns_.taps) +
                               static_cast<std::size_t>(kx)) *
                                  outs_;
        for (std::size_t out = 0; out < outs_; ++out) sums[out] += std::int64_t{from[out]} * w[out];
      }
    }
  }

  const Operation& op_;
  WindowAxis rows_, columns_;
  std::size_t depth_, outs_, row_ = 0;
  std::vector<X> x_, window_;
  std::vector<std::int16_t> weights_;
  std::size_t chunk_;
};

// With weights of nine bits.
template <class Write>
void convolve(const Operation& op, const std::vector<std::int32_t>& input,
              const std::vector<std::int16_t>& weights, const Write& write) {
  std::int32_t least = 0, most = 0;
  for (const std::int32_t value : input) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  const bool narrow = least >= -256 && most <= 255;
  if (least >= INT16_MIN && most <= INT16_MAX)
    Convolution<std::int16_t>(op, input, weights, narrow ? kNarrowChunk : kWideChunk).run(write);
  else
    Convolution<std::int32_t>(op, input, weights, 0).run(write);
}

}  // namespace

KernelConvolution* Simulator::kernel_of(const Operation& op, const std::vector<std::int16_t>& weights,
                                        const std::vector<ScaleRecord>& scales, const OutputStage& output) {
  if (isa_ == Isa::reference) return nullptr;
  OnKernel& kernel = kernels_[op.index];
  if (!kernel.made || kernel.of != scales) {
    KernelOutput stored;
    kernel = {true, scales, nullptr};
    if (output.of_kernel(stored))
      kernel.convolution = KernelConvolution::make(op, weights, scales, stored, isa_);
  }
  return kernel.convolution.get();
}

Status Simulator::convolution(const Operation& op) {
  RUNNEL_ASSIGN(const std::vector<std::int16_t>* const weights, weights_of(op));
  const std::vector<ScaleRecord> scales = scales_of(op);
  const OutputStage output(op, *segment_.accelerator, internal_);
  if (KernelConvolution* const kernel = kernel_of(op, *weights, scales, output); kernel != nullptr) {
    kernel->run(memory(op.ifm.region));
    output.finish(kernel->results());
    write_bytes(op.ofm, region(op.ofm.region), kernel->results());
    if (observed_) kernel->values(result_);
    return {};
  }
  read_map(op.ifm, memory(op.ifm.region), first_);
  bool fits = true;
  for (std::int32_t& value : first_) fits = fits && !__builtin_sub_overflow(value, op.ifm.zero_point, &value);
  if (!fits) return Status(Code::unsupported) << "input elements of 33 bits";
  result_.resize(elements_of(op.ofm));
  convolve(op, first_, *weights, [&](std::size_t position, std::span<const std::int64_t> sums) {
    for (std::size_t channel = 0; channel < sums.size(); ++channel) {
      const ScaleRecord& record = scales[channel];
      result_[position * scales.size() + channel] = output(
          wrap(sums[channel] + record.bias, accumulator_bits(op)), Scale{record.multiplier, record.shift});
    }
  });
  write_map(op.ofm, region(op.ofm.region), result_);
  return {};
}

void convolution_sums(const Operation& op, const std::vector<std::int32_t>& input,
                      const std::vector<std::int16_t>& weights, const SumWriter& write) {
  const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  const bool wide = !weights.empty() && (*least < -kMaxWeight || *most > kMaxWeight);
  if (wide)
    Convolution<std::int32_t>(op, input, weights, 0).run(write);
  else
    convolve(op, input, weights, write);
}

}  // namespace runnel::npu
