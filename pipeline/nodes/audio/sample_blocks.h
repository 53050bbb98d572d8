// Shared by nodes that change samples and keep their format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "pipeline/node.h"

namespace runnel::pipeline {

inline constexpr Port kAnyAudio = {static_cast<Kinds>(Kind::audio), "float32, any number of channels"};

// Keeps the format; returns the number of channels.
inline std::size_t keep_format(NodeContext& context) noexcept {
  context.max_output = context.max_input;
  return static_cast<std::size_t>(context.input.channels);
}

inline std::span<const float> samples_of(const Block& in, std::size_t channels) noexcept {
  return {in.as<float>(), static_cast<std::size_t>(in.count) * channels};
}

// Copies the samples of the block to the output, where a filter then changes them in place.
inline std::span<float> same_place(const Block& in, Output& out, std::size_t channels) noexcept {
  out.count = in.count;
  out.first = in.first;
  return {out.as<float>(), static_cast<std::size_t>(in.count) * channels};
}

// Copies the block unchanged.
inline std::span<float> copied(const Block& in, Output& out, std::size_t channels) noexcept {
  const std::span<float> samples = same_place(in, out, channels);
  std::copy_n(in.as<float>(), samples.size(), samples.begin());
  return samples;
}

}  // namespace runnel::pipeline
