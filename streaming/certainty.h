// When a frame that upsampling makes may be called data.
#pragma once

#include <cstdint>

#include "streaming/rule.h"

namespace runnel::streaming {

// The last input makes `stride` positions of an upsampled tensor computable, but with K - Q < stride some of
// them lie beyond the offline end. Before the end is known they wait, as one more input would prove them:
// this many frames.
std::int64_t certainty(const NodeRule& rule) noexcept;

}  // namespace runnel::streaming
