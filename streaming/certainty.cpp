#include "streaming/certainty.h"

#include <algorithm>

namespace runnel::streaming {

std::int64_t certainty(const NodeRule& rule) noexcept {
  return std::max<std::int64_t>(0, rule.right + rule.stride - rule.extent());
}

}  // namespace runnel::streaming
