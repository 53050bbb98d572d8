#include "embed/sample_source.h"

#include <algorithm>
#include <cstring>

namespace runnel::embed {

const pipeline::NodeType SampleSource::type = {
    .name = "source",
    .help = {},
    .input = {},
    .output = {static_cast<pipeline::Kinds>(pipeline::Kind::audio), {}},
    .parameters = {},
    .make = nullptr};

Status SampleSource::prepare(pipeline::NodeContext& context) noexcept {
  context.output = format;
  context.max_output = context.max_input;
  return {};
}

void SampleSource::give(const void* samples, std::size_t frames) noexcept {
  next_ = static_cast<const std::byte*>(samples);
  pending_ = frames;
  buffer_ = nullptr;
}

void SampleSource::give(const void* samples, std::size_t frames, const runnel_double_buffer& buffer,
                        std::uint32_t half) noexcept {
  give(samples, frames);
  buffer_ = &buffer;
  half_ = half;
}

void SampleSource::forget() noexcept {
  next_ = nullptr;
  pending_ = 0;
  lost_ = 0;
  buffer_ = nullptr;
}

Status SampleSource::process(const pipeline::Block&, pipeline::Output& out) noexcept {
  out.count = std::min<std::int64_t>(out.capacity, static_cast<std::int64_t>(pending_));
  const std::size_t values = static_cast<std::size_t>(out.count) * static_cast<std::size_t>(format.channels),
                    bytes = values * size_of(given);
  if (given == DType::int16) {
    const auto* from = reinterpret_cast<const std::int16_t*>(next_);
    for (std::size_t i = 0; i < values; ++i)
      out.as<float>()[i] = static_cast<float>(from[i]) * (1.0F / 32768);
  } else if (bytes > 0) {
    std::memcpy(out.data, next_, bytes);
  }
  // Half h shares its memory with half h + 2, which is being filled as soon as h + 1 is complete.
  if (buffer_ != nullptr && buffer_->filled - half_ >= 2) {
    lost_ += static_cast<std::int64_t>(pending_);
    pending_ = 0;
    out.count = 0;
    ++torn_;
    return {};
  }
  next_ += bytes;
  pending_ -= static_cast<std::size_t>(out.count);
  out.lost = lost_;
  lost_ = 0;
  return {};
}

}  // namespace runnel::embed
