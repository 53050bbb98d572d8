#include "pipeline/nodes/host/act/watch.h"

#include <cmath>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Watch::what>("what", "", "what this is, for the program that runs the graph")};

template <class T>
void convert(const Block& in, std::span<float> values, float scale) {
  const T* const from = in.as<T>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(from[i]) * scale;
}

}  // namespace

const NodeType Watch::type = {
    .name = "watch",
    .help =
        "Passes its input to the program that runs the graph, for a page or a terminal; otherwise like "
        "null.",
    .input = {Kind::audio | Kind::frames | Kind::events, "anything"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<Watch>,
};

Status Watch::prepare(NodeContext& context) noexcept {
  format_ = context.input;
  records_ = EventRecords({}, format_);
  if (format_.kind == Kind::events || format_.dtype == DType::float32) return {};
  switch (format_.dtype) {
    case DType::int8:
    case DType::uint8:
    case DType::int16:
    case DType::uint16:
      break;
    default:
      return Status(Code::unsupported) << context.label << " gets " << describe(format_).view()
                                       << ", expected float32, int8, uint8, int16 or uint16";
  }
  values_.resize(static_cast<std::size_t>(context.max_input * format_.channels));
  return {};
}

void Watch::tell(std::span<const float> values, std::int64_t first) const {
  for (WatchListener* const listener : listeners_) listener->watched(*this, values, first);
}

Status Watch::process(const Block& in, Output&) noexcept {
  if (listeners_.empty()) return {};
  if (format_.kind == Kind::events) {
    for (std::int64_t i = 0; i < in.count; ++i) {
      const Event& event = in.as<Event>()[i];
      for (WatchListener* const listener : listeners_) listener->watched(*this, event, records_.event(event));
    }
    return {};
  }
  const auto count = static_cast<std::size_t>(in.count * format_.channels);
  if (format_.dtype == DType::float32) {
    tell({in.as<float>(), count}, in.first);
    return {};
  }
  const std::span<float> values(values_.data(), count);
  const float scale = format_.codes ? 1.0F : std::ldexp(1.0F, format_.exponent);
  switch (format_.dtype) {
    case DType::int8:
      convert<std::int8_t>(in, values, scale);
      break;
    case DType::uint8:
      convert<std::uint8_t>(in, values, scale);
      break;
    case DType::int16:
      convert<std::int16_t>(in, values, scale);
      break;
    default:
      convert<std::uint16_t>(in, values, scale);
      break;
  }
  tell(values, in.first);
  return {};
}

Status Watch::gap(const Gap& gap) noexcept {
  for (WatchListener* const listener : listeners_) listener->lost(*this, gap, records_.gap(gap));
  return {};
}

}  // namespace runnel::pipeline
