#include "pipeline/nodes/host/model/larger_block.h"

#include <algorithm>

namespace runnel::pipeline {

void LargerBlock::process(ModelStream& smallest, std::size_t frame_bytes, const Block& in,
                          Output& out) noexcept {
  std::int64_t done = smallest.skip(in.count);
  while (done < in.count) {
    const std::byte* const from = in.data + static_cast<std::size_t>(done) * frame_bytes;
    const std::int64_t left = in.count - done, waiting = smallest.pending();
    const bool fits = frames_ > 0 && waiting == 0 && left >= frames_;
    const std::int64_t count =
        fits ? left / frames_ * frames_
             : (waiting == 0 ? left : std::min(left, smallest.session().prepared().block() - waiting));
    if (fits) {
      stream_.process({.data = from, .count = count}, out);
      smallest.heard();
    } else {
      smallest.process({.data = from, .count = count}, out);
    }
    done += count;
  }
}

}  // namespace runnel::pipeline
