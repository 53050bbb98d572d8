// Certainty: when a frame from upsampling is known to be data.
#pragma once

#include <cstdint>

#include "streaming/rule.h"

namespace runnel::streaming {

// The number of upsampled frames that wait until the end is known. The last input makes `stride` positions
// computable, but with K - Q < stride some lie beyond the offline end; one more input would prove them.
std::int64_t certainty(const NodeRule& rule) noexcept;

}  // namespace runnel::streaming
