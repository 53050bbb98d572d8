#include "streaming/rule.h"

#include <algorithm>

#include "base/checked.h"

namespace runnel::streaming {

std::int64_t output_length(const NodeRule& rule, std::int64_t length) noexcept {
  if (length <= 0) return 0;
  switch (rule.kind) {
    case Kind::window: {
      const std::int64_t room = length + rule.left + rule.right - rule.extent();
      return room < 0 ? 0 : room / rule.stride + 1;
    }
    case Kind::upsample:
      return std::max<std::int64_t>(0, (length - 1) * rule.stride + rule.extent() - rule.left - rule.right);
    case Kind::constant:
    case Kind::pointwise:
    case Kind::attention:
    case Kind::recurrent:
      break;
  }
  return length;
}

std::int64_t due(const NodeRule& rule, std::int64_t j) noexcept {
  const std::int64_t K = rule.extent();
  switch (rule.kind) {
    case Kind::window:
      return std::max<std::int64_t>(
          0, j * rule.stride - rule.left + K - 1 + std::max<std::int64_t>(0, -rule.right));
    case Kind::upsample:
      return std::max<std::int64_t>({0, floor_div(j + rule.left, rule.stride),
                                     ceil_div(j + rule.left + rule.right + 1 - K, rule.stride)});
    case Kind::attention:
      return rule.chunk * floor_div(j, rule.chunk) + rule.chunk - 1 + rule.right;
    case Kind::constant:
    case Kind::pointwise:
    case Kind::recurrent:
      break;
  }
  return j;
}

std::int64_t oldest(const NodeRule& rule, std::int64_t j) noexcept {
  switch (rule.kind) {
    case Kind::window:
      return j * rule.stride - rule.left;
    case Kind::upsample:
      return ceil_div(j + rule.left - rule.extent() + 1, rule.stride);
    case Kind::attention:
      return rule.chunk * floor_div(j, rule.chunk) - rule.left;
    case Kind::constant:
    case Kind::pointwise:
    case Kind::recurrent:
      break;
  }
  return j;
}

}  // namespace runnel::streaming
