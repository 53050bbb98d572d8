#include "pipeline/nodes/host/act/history.h"

#include <algorithm>
#include <cmath>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&History::seconds>("seconds", "s", 0.01, 3600, "length of the history"),
};

}  // namespace

const NodeType History::type = {
    .name = "history",
    .help = "Keeps the latest seconds of sound for a later `record`; passes everything on unchanged.",
    .input = {static_cast<Kinds>(Kind::audio), "float32, any number of channels"},
    .output = {static_cast<Kinds>(Kind::audio), "the same"},
    .parameters = kParameters,
    .make = make_node<History>,
};

Status History::prepare(NodeContext& context) noexcept {
  format_ = context.input;
  // A whole block must fit too.
  capacity_ = std::max(std::llround(seconds * format_.clock.hz()), 1LL) + context.max_input;
  samples_.resize(static_cast<std::size_t>(capacity_ * format_.channels));
  context.max_output = context.max_input;
  return {};
}

std::int64_t History::reset(std::int64_t first) noexcept {
  begin_ = end_ = first;
  return first;
}

Status History::process(const Block& in, Output& out) noexcept {
  const std::int64_t channels = format_.channels;
  const float* from = in.as<float>();
  std::copy_n(from, in.count * channels, out.as<float>());
  out.count = in.count;
  out.first = in.first;
  for (std::int64_t done = 0; done < in.count;) {
    const std::int64_t at = (in.first + done) % capacity_;
    const std::int64_t count = std::min(in.count - done, capacity_ - at);
    std::copy_n(from + done * channels, count * channels, samples_.data() + at * channels);
    done += count;
  }
  end_ = in.first + in.count;
  begin_ = std::max(begin_, end_ - capacity_);
  for (HistoryListener* listener : listeners_) RUNNEL_TRY(listener->heard());
  return {};
}

std::span<const float> History::piece(std::int64_t from, std::int64_t to) const noexcept {
  const std::int64_t at = from % capacity_;
  const std::int64_t count = std::min(to - from, capacity_ - at);
  return std::span(samples_).subspan(static_cast<std::size_t>(at * format_.channels),
                                     static_cast<std::size_t>(count * format_.channels));
}

}  // namespace runnel::pipeline
