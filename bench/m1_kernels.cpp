#include "bench/m1_kernels.h"

#include <algorithm>

namespace runnel::bench {

OneKernel::OneKernel(const ConvLayer& layer, Isa isa, const std::int8_t* x, const std::int8_t* addend) : shift_{layer.shift} {
  kernels::ConvSpec spec;
  spec.in_channels = layer.in;
  spec.out_channels = layer.out;
  spec.groups = layer.groups;
  spec.kernel_width = layer.kernel_width;
  spec.dilation_width = layer.dilation;
  spec.in_width = (layer.kernel_width - 1) * layer.dilation + 1;
  spec.weights = layer.weights.data();
  spec.bias = layer.bias.data();
  spec.input_non_negative = layer.in == layer.out;   // everything but the first layer stands behind a ReLU
  spec.requant.shift = shift_.data();
  spec.requant.low = layer.relu ? 0 : -128;
  spec.add = addend != nullptr;
  spec.sum_low = 0;
  addend_ = addend;
  ok_ = kernels::prepare_conv(spec, isa, memory_, conv_).ok();
  const auto values = static_cast<std::size_t>(spec.in_width) * static_cast<std::size_t>(layer.in);
  auto* own_x = static_cast<std::int8_t*>(memory_.allocate(values + 64, 64));
  for (std::size_t i = 0; i < values; ++i) own_x[i] = static_cast<std::int8_t>(i % 97);
  x_ = x != nullptr ? x : own_x;
  y_ = static_cast<std::int8_t*>(memory_.allocate(static_cast<std::size_t>(layer.out) + 64, 64));
  scratch_ = memory_.allocate(conv_.scratch_bytes, 64);
}

M1Kernels::M1Kernels(const M1& network, Isa isa) : stem_(network.stem, isa) {
  const std::int8_t* x = stem_.y();
  for (const M1::Block& block : network.blocks) {
    OneKernel depthwise(block.depthwise, isa);
    OneKernel pointwise(block.pointwise, isa, depthwise.y(), x);
    x = pointwise.y();
    blocks_.push_back({std::move(depthwise), std::move(pointwise)});
  }
  head_.emplace_back(network.head, isa, x);
}

bool M1Kernels::ok() const {
  return stem_.ok() && head_[0].ok() && std::all_of(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.depthwise.ok() && b.pointwise.ok(); });
}

void M1Kernels::run() const {
  stem_.run();
  for (const Block& block : blocks_) {
    block.depthwise.run();
    block.pointwise.run();
  }
  head_[0].run();
}

}  // namespace runnel::bench
