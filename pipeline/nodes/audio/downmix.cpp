#include "pipeline/nodes/audio/downmix.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&Downmix::channel>("channel", "", -1, 1023,
                                 "the channel to take, counted from 0; -1: the mean of all"),
};

}  // namespace

const NodeType Downmix::type = {
    .name = "downmix",
    .help = "Makes one channel out of several.",
    .input = {static_cast<Kinds>(Kind::audio), "float32, any number of channels"},
    .output = {static_cast<Kinds>(Kind::audio), "float32, 1 channel"},
    .parameters = kParameters,
    .make = make_node<Downmix>,
};

Status Downmix::prepare(NodeContext& context) noexcept {
  channels_ = context.input.channels;
  if (channel >= channels_) {
    return Status(Code::invalid_argument)
           << "channel=" << channel << ": " << context.input_label << " gives " << channels_
           << (channels_ == 1 ? " channel" : " channels") << ", counted from 0";
  }
  context.output.channels = 1;
  context.max_output = context.max_input;
  return {};
}

// The sum is taken in the order of the channels, in single precision, and divided once.
Status Downmix::process(const Block& in, Output& out) noexcept {
  const float* x = in.as<float>();
  float* y = out.as<float>();
  for (std::int64_t i = 0; i < in.count; ++i, x += channels_) {
    if (channel >= 0) {
      y[i] = x[channel];
      continue;
    }
    float sum = x[0];
    for (std::int32_t c = 1; c < channels_; ++c) sum += x[c];
    y[i] = sum / static_cast<float>(channels_);
  }
  out.count = in.count;
  out.first = in.first;
  return {};
}

}  // namespace runnel::pipeline
