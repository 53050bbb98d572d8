#include "docs/contributing/skeletons/node.h"

#include <algorithm>

namespace runnel::pipeline {
namespace {

// Name, unit, least and largest value, help. The default is that of the member.
constexpr Parameter kParameters[] = {
    parameter<&Envelope::decay>("decay", "", 0, 1, "factor from sample to sample"),
};

}  // namespace

// The data sheet: help, documentation and `runnel inspect` are made from it.
const NodeType Envelope::type = {
    .name = "envelope",
    .help = "The peak of each channel, with an exponential decay.",
    .input = {static_cast<Kinds>(Kind::audio), "float32, any number of channels"},
    .output = {static_cast<Kinds>(Kind::audio), "float32, as the input"},
    .parameters = kParameters,
    .make = make_node<Envelope>,
};

// The only place that allocates or refuses. context.output starts as a copy of context.input.
Status Envelope::prepare(NodeContext& context) noexcept {
  const auto channels = static_cast<std::size_t>(context.input.channels);
  float* const peaks = context.memory.array<float>(channels);
  if (peaks == nullptr) return out_of_memory(type.name);
  peaks_ = {peaks, channels};
  context.max_output = context.max_input;
  return {};
}

// A stream starts, or starts anew after a gap: all state goes back to its initial value.
std::int64_t Envelope::reset(std::int64_t first) noexcept {
  std::fill(peaks_.begin(), peaks_.end(), 0.0f);
  return first;
}

// Consumes all of its input. No allocation, and the same bits for every partition into blocks.
Status Envelope::process(const Block& in, Output& out) noexcept {
  const float* x = in.as<float>();
  float* y = out.as<float>();
  for (std::int64_t i = 0; i < in.count; ++i) {
    for (float& peak : peaks_) {
      const float size = *x < 0 ? -*x : *x;
      peak = std::max(size, decay * peak);
      *y++ = peak;
      ++x;
    }
  }
  out.count = in.count;
  out.first = in.first;
  return {};
}

}  // namespace runnel::pipeline
