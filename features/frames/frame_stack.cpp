#include "features/frames/frame_stack.h"

#include <algorithm>

namespace runnel::features {

Status FrameStack::init(const FrameStackSpec& spec, std::size_t dims, Memory& memory) noexcept {
  if (spec.frames < 1 || spec.frames > 1000)
    return Status(Code::invalid_argument) << "frames " << spec.frames << " of stack: expected 1 to 1000";
  if (spec.step < 1 || spec.step > 1000)
    return Status(Code::invalid_argument) << "step " << spec.step << " of stack: expected 1 to 1000";
  spec_ = spec;
  RUNNEL_TRY(history_.init(dims, static_cast<std::size_t>(spec.frames + 1), memory));
  reset();
  return Status();
}

void FrameStack::reset() noexcept {
  history_.reset();
  given_ = 0;
  finished_ = false;
}

Status FrameStack::push(const float* frame) noexcept {
  history_.push(frame);
  return Status();
}

bool FrameStack::pull(float* out) noexcept {
  const std::int64_t first = given_ * spec_.step - before(), count = history_.count();
  if (first + spec_.frames > count) {
    if (!finished_ || !spec_.pad || given_ * spec_.step >= count) return false;
  }
  for (std::int64_t i = first; i < first + spec_.frames; ++i) {
    out = std::copy_n(history_.at(std::clamp(i, std::int64_t{0}, count - 1)), in_dims(), out);
  }
  ++given_;
  return true;
}

}  // namespace runnel::features
