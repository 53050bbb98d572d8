#include "inference/host/compare_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "inference/frames.h"

namespace runnel {
namespace {

std::string value_text(DType type, const std::byte* at) {
  switch (type) {
    case DType::int8:
      return std::to_string(static_cast<int>(*reinterpret_cast<const std::int8_t*>(at)));
    case DType::int16:
      return std::to_string(*reinterpret_cast<const std::int16_t*>(at));
    case DType::int32:
      return std::to_string(*reinterpret_cast<const std::int32_t*>(at));
    case DType::float32:
      return std::to_string(*reinterpret_cast<const float*>(at));
    default:
      return "?";
  }
}

double number_at(DType type, const std::byte* at) {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
  };
  switch (type) {
    case DType::int8:
      return read(std::int8_t{});
    case DType::int16:
      return read(std::int16_t{});
    case DType::int32:
      return read(std::int32_t{});
    case DType::int64:
      return read(std::int64_t{});
    case DType::float32:
      return read(float{});
    default:
      return static_cast<double>(std::to_integer<int>(*at));
  }
}

}  // namespace

bool same(const TensorView& view, int tensor, int time_axis, std::int64_t frames, const Bytes& expected,
          const Bytes& found, std::string run, std::vector<Difference>& differences) {
  if (expected == found) return true;
  Difference difference{std::move(run),
                        tensor,
                        -1,
                        -1,
                        std::to_string(expected.size()) + " bytes",
                        std::to_string(found.size()) + " bytes"};
  if (expected.size() == found.size()) {
    std::size_t at = 0;
    while (expected[at] == found[at]) ++at;
    const std::size_t size = size_of(view.dtype), element = at / size;
    const FrameLayout layout = FrameLayout::of(view.shape, time_axis, view.dtype);
    const std::size_t per_frame = layout.inner_bytes / size;
    difference.frame =
        time_axis < 0 ? 0 : static_cast<std::int64_t>(element / per_frame % static_cast<std::size_t>(frames));
    difference.element = static_cast<std::int64_t>(element % per_frame);
    difference.expected = value_text(view.dtype, expected.data() + element * size);
    difference.found = value_text(view.dtype, found.data() + element * size);
  }
  differences.push_back(std::move(difference));
  return false;
}

double largest_difference(DType type, const Bytes& expected, const Bytes& found) {
  if (expected.size() != found.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t at = 0; at + size_of(type) <= expected.size(); at += size_of(type)) {
    const double a = number_at(type, expected.data() + at), b = number_at(type, found.data() + at);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double difference = std::abs(a - b);
    largest =
        std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(largest, difference);
  }
  return largest;
}

}  // namespace runnel
