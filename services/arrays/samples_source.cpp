#include "services/arrays/samples_source.h"

#include <algorithm>

namespace runnel::arrays {
namespace {

using pipeline::Kind;
using pipeline::parameter;

constexpr pipeline::Parameter kSamplesParameters[] = {
    parameter<&SamplesSource::rate>("rate", "Hz", 1, 1e9, "samples per second"),
    parameter<&SamplesSource::channels>("channels", "", 1, 4096, "numbers per sample"),
    parameter<&SamplesSource::values>("values", "", 0, 1 << 20, "numbers per frame; 0: samples, not frames"),
    parameter<&SamplesSource::hop>("hop", "samples", 1, 1e9, "from one frame to the next"),
    parameter<&SamplesSource::span>("span", "samples", 1, 1e9, "that one frame covers"),
};

}  // namespace

const pipeline::NodeType SamplesSource::type = {
    .name = "samples",
    .help = "Samples that the program gives, from memory.",
    .input = {},
    .output = {Kind::audio | Kind::frames, "float32"},
    .parameters = kSamplesParameters,
    .make = pipeline::make_node<SamplesSource>,
};

void SamplesSource::give(const float* samples, std::int64_t count) noexcept {
  next_ = samples;
  left_ = count;
}

void SamplesSource::open() noexcept {
  next_ = nullptr;
  left_ = 0;
  closed_ = false;
}

Status SamplesSource::prepare(pipeline::NodeContext& context) noexcept {
  pipeline::Format& format = context.output;
  format.kind = values > 0 ? Kind::frames : Kind::audio;
  format.dtype = DType::float32;
  format.channels = static_cast<std::int32_t>(width());
  format.clock.sample_rate = rate;
  if (values > 0) {
    format.clock.hop = hop;
    format.clock.span = span;
  }
  format.source = "samples";
  context.max_output = context.max_input;
  return {};
}

Status SamplesSource::process(const pipeline::Block&, pipeline::Output& out) noexcept {
  out.count = std::min(out.capacity, left_);
  const std::int64_t numbers = out.count * width();
  std::copy_n(next_, numbers, out.as<float>());
  next_ += numbers;
  left_ -= out.count;
  out.end = closed_ && left_ == 0;
  return {};
}

}  // namespace runnel::arrays
