#include "pipeline/nodes/window_grid.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/from_chars.h"

namespace runnel::pipeline {

Result<std::int64_t> read_length(std::string_view name, std::string_view text, const Clock& clock) noexcept {
  constexpr double kMax = 1 << 20;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = from_chars(text.data(), end, value);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  double frames = -1;
  if (error == std::errc() && unit.empty() && value == std::floor(value))
    frames = value;
  else if (error == std::errc() && unit == "s")
    frames = std::round(value * clock.hz());
  else if (error == std::errc() && unit == "ms")
    frames = std::round(value * clock.hz() / 1000);
  if (frames >= 1 && frames <= kMax) return static_cast<std::int64_t>(frames);
  return Status(Code::invalid_argument)
         << name << '=' << text
         << ": expected 1 to 1048576 frames of the input, as a whole number or as a time (2.56s, 40ms)";
}

std::int64_t WindowGrid::reset(std::int64_t first) noexcept {
  first_ = ceil_div(first, hop_);
  skip_ = first_ * hop_ - first;
  return first_;
}

std::int64_t WindowGrid::drop(std::int64_t count) noexcept {
  const std::int64_t dropped = std::min(skip_, count);
  skip_ -= dropped;
  return dropped;
}

Status wants_float32(const NodeContext& context) noexcept {
  if (context.input.dtype == DType::float32) return {};
  return Status(Code::mismatch) << context.input_label << " gives " << describe(context.input).view() << ", "
                                << context.label << " wants float32";
}

}  // namespace runnel::pipeline
