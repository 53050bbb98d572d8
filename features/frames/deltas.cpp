#include "features/frames/deltas.h"

#include <algorithm>

namespace runnel::features {

Status Deltas::init(const DeltasSpec& spec, std::size_t dims, Memory& memory) noexcept {
  if (spec.window < 3 || spec.window > 99 || spec.window % 2 == 0) {
    return Status(Code::invalid_argument)
           << "window " << spec.window << " of deltas: expected an odd number from 3 to 99";
  }
  if (spec.order < 1 || spec.order > 2)
    return Status(Code::invalid_argument) << "order " << spec.order << " of deltas: expected 1 or 2";
  spec_ = spec;
  reach_ = (spec.window - 1) / 2;
  factor_ = static_cast<float>(reach_ * (reach_ + 1) * (2 * reach_ + 1) / 3);
  // A frame waits for its last order, `reach_` frames for each order; a delta reads `reach_` on either side.
  const auto capacity = static_cast<std::size_t>(reach_ * (spec.order + 2) + 2);
  for (std::int32_t i = 0; i <= spec.order; ++i) RUNNEL_TRY(level_[i].init(dims, capacity, memory));
  reset();
  return Status();
}

void Deltas::reset() noexcept {
  for (FrameHistory& level : level_) level.reset();
  given_ = 0;
  finished_ = false;
}

void Deltas::compute(FrameHistory& from, std::int64_t frame, float* to) noexcept {
  const std::size_t dims = from.dims();
  const std::int64_t last = from.count() - 1;
  std::fill_n(to, dims, 0.0F);
  for (std::int64_t k = 1; k <= reach_; ++k) {
    const float *after = from.at(std::min(frame + k, last)),
                *before = from.at(std::max(frame - k, std::int64_t{0}));
    const auto weight = static_cast<float>(k);
    for (std::size_t i = 0; i < dims; ++i) to[i] += (after[i] - before[i]) * weight;
  }
  for (std::size_t i = 0; i < dims; ++i) to[i] /= factor_;
}

// Every delta that is certain.
void Deltas::advance() noexcept {
  for (std::int32_t i = 1; i <= spec_.order; ++i) {
    FrameHistory &from = level_[i - 1], &to = level_[i];
    // At the end a level is only complete when the one before it is; both end with the same number of
    // frames.
    const std::int64_t certain = finished_ ? from.count() : from.count() - reach_;
    while (to.count() < certain) {
      compute(from, to.count(), to.next());
      to.push();
    }
  }
}

Status Deltas::push(const float* frame) noexcept {
  level_[0].push(frame);
  advance();
  return Status();
}

void Deltas::finish() noexcept {
  finished_ = true;
  advance();
}

bool Deltas::pull(float* out) noexcept {
  if (given_ >= level_[spec_.order].count()) return false;
  for (std::int32_t i = spec_.with_static ? 0 : 1; i <= spec_.order; ++i) {
    out = std::copy_n(level_[i].at(given_), in_dims(), out);
  }
  ++given_;
  return true;
}

}  // namespace runnel::features
