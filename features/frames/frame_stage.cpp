#include "features/frames/frame_stage.h"

#include <algorithm>

namespace runnel::features {

Status FrameHistory::init(std::size_t dims, std::size_t capacity, Memory& memory) noexcept {
  constexpr std::size_t kMax = std::size_t{1} << 28;
  if (dims < 1 || capacity < 1 || capacity > kMax / dims) {
    return Status(Code::invalid_argument)
           << capacity << " frames of " << dims << " values: expected at least one of each, and at most "
           << kMax << " values";
  }
  data_ = memory.array<float>(dims * capacity);
  if (data_ == nullptr)
    return Status(Code::out_of_memory) << "frames: needs " << memory_bytes(dims, capacity) << " bytes";
  dims_ = dims;
  capacity_ = capacity;
  count_ = 0;
  return Status();
}

void FrameHistory::push(const float* frame) noexcept {
  std::copy_n(frame, dims_, next());
  push();
}

}  // namespace runnel::features
