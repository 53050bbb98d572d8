// Which part of the source an output frame depends on.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "inference/prepared.h"

namespace runnel {

// Frame j of a tensor depends on source frames [j*stride + first, j*stride + last]; stride = down/up source
// frames per frame. (docs/streaming.md, latency; recursion: window node A_y = A_x - S_x*P, E_y = E_x + S_x*(K
// - 1 - P); join: min and max.)
struct ReceptiveField {
  double stride = 1;
  double first = 0, last = 0;
  bool unbounded = false;  // a recurrent operator remembers everything

  // Source frames in all; look-ahead is `last`.
  [[nodiscard]] double frames() const noexcept { return last - first + 1; }
};

// One per tensor of a streamed model.
std::vector<ReceptiveField> receptive_fields(const Prepared& prepared);

}  // namespace runnel
