#include "bench/memory_source.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace runnel::bench {
namespace {

constexpr std::int64_t kSeconds = 20;  // of the sound, which is repeated

const std::vector<float>& samples() {
  static const std::vector<float> made = [] {
    std::mt19937 random(4);
    std::vector<float> x(static_cast<std::size_t>(MemorySource::kRate * kSeconds));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double t = static_cast<double>(i) / MemorySource::kRate;
      const double noise = static_cast<double>(random() % 2001) / 1000 - 1;
      x[i] = static_cast<float>(0.2 * std::sin(6.28 * 3 * t) * std::sin(6.28 * 220 * t) + 0.02 * noise);
    }
    return x;
  }();
  return made;
}

constexpr pipeline::Parameter kParameters[] = {
    pipeline::parameter<&MemorySource::seconds>("seconds", "s", 1, 1e6, "of sound"),
};

}  // namespace

const pipeline::NodeType MemorySource::type = {
    .name = "memory",
    .help = "Samples in memory.",
    .input = {},
    .output = {static_cast<pipeline::Kinds>(pipeline::Kind::audio), "samples"},
    .parameters = kParameters,
    .make = pipeline::make_node<MemorySource>};

Status MemorySource::prepare(pipeline::NodeContext& context) noexcept {
  context.output.kind = pipeline::Kind::audio;
  context.output.dtype = DType::float32;
  context.output.channels = 1;
  context.output.clock.sample_rate = kRate;
  context.output.source = "memory";
  context.max_output = context.max_input;
  static_cast<void>(samples());
  return {};
}

Status MemorySource::process(const pipeline::Block&, pipeline::Output& out) noexcept {
  const auto size = static_cast<std::int64_t>(samples().size());
  const std::int64_t end = seconds * kRate;
  const std::int64_t at = position_ % size;
  out.count = std::min({out.capacity, end - position_, size - at});
  std::copy_n(samples().begin() + at, out.count, out.as<float>());
  position_ += out.count;
  out.end = position_ == end;
  if (out.end) position_ = 0;
  return {};
}

}  // namespace runnel::bench
