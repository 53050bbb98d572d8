// Which frames of a detector need no posteriors yet.
//
// While a detector is armed, a frame changes nothing but its means unless a label that can make events
// reaches its threshold. A posterior of such a label is at most 1, and at most 1/(1 + e^d) when another
// label, one that is ignored, is ahead of all of them by d. As long as the sums of the posteriors in the
// window, with these bounds for the deferred frames, stay below every threshold, no mean reaches one,
// whatever the posteriors are; the frames keep their logits. Otherwise their posteriors are computed before
// the decision. The sums are integers, so their order does not matter: events, scores and spans are the same
// bits. In sound without words most frames leave the window without ever having been evaluated.
//
// For hosts: a device that had deferred a whole window would compute it within one hop.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/memory.h"

namespace runnel::pipeline {

class Deferral {
 public:
  static constexpr bool kPossible = true;

  // `ignored`: per class. `least`: the smallest sum of posteriors that reaches a threshold, in units of
  // 2^-30. False: out of memory.
  bool prepare(std::int32_t classes, const bool* ignored, std::int64_t window, std::int64_t least,
               Memory& memory) noexcept {
    classes_ = classes;
    window_ = window;
    least_ = least;
    can_ = memory.array<std::int32_t>(static_cast<std::size_t>(classes));
    level_of_ = memory.array<std::uint8_t>(static_cast<std::size_t>(window));
    if (can_ == nullptr || level_of_ == nullptr) return false;
    for (std::int32_t c = 0; c < classes; ++c) can_[c] = ignored[c] ? 0 : -1;
    // Sums of floats and the exponential round, each by less than 2^-22 per class.
    const double slack = 1 + static_cast<double>(classes + 16) * 0x1p-22;
    for (int level = 0; level < kLevels; ++level)
      bound_[level] = static_cast<std::int64_t>(kShare[level] * slack * 0x1p30) + 1;
    on_ = true;
    return true;
  }
  [[nodiscard]] bool on() const noexcept { return on_; }
  // Deferred frames in the window: the last ones.
  [[nodiscard]] std::int64_t frames() const noexcept { return frames_; }
  void clear() noexcept { frames_ = sum_ = 0; }

  // `seen`: frames so far. The last `frames()` slots of the window hold deferred frames.
  template <class Archive>
  void state(Archive& archive, std::int64_t seen) noexcept {  // base/state_archive.h
    archive.bounded(frames_, 0, std::min(seen, window_));
    std::int64_t sum = 0;
    for (std::int64_t i = seen - frames_; i < seen && archive.ok(); ++i) {
      std::uint8_t& level = level_of_[i % window_];
      archive.bounded(level, 0, kLevels - 1);
      if (archive.ok()) sum += bound_[level];
    }
    archive.follows(sum_, sum, "the sum of the deferred frames");
  }

  // The oldest frame leaves the full window. True: it was deferred.
  bool leave(std::int64_t slot) noexcept {
    if (frames_ < window_) return false;
    --frames_;
    sum_ -= bound_[level_of_[slot]];
    return true;
  }
  // Whether the frame with these logits may be deferred, given the highest sum of posteriors of a label in
  // the rest of the window, without deferred frames; if so, it is.
  bool defer(const float* logits, std::int64_t highest, std::int64_t slot) noexcept {
    const int level = level_of(logits);
    if (highest + sum_ + bound_[level] >= least_) return false;
    level_of_[slot] = static_cast<std::uint8_t>(level);
    sum_ += bound_[level];
    ++frames_;
    return true;
  }

 private:
  static constexpr int kLevels = 5;
  // By how much an ignored label must be ahead, and what 1/(1 + e^d) is then, rounded up.
  static constexpr float kAhead[kLevels] = {0, 0, 1, 2, 4};
  static constexpr double kShare[kLevels] = {1, 0.5, 0.268942, 0.119203, 0.017987};

  // Compared as integers, because compilers do not vectorize comparisons of floats, which may trap.
  [[nodiscard]] int level_of(const float* logits) const noexcept {
    constexpr std::int32_t kLowest = std::int32_t{-1} - 0x7fffffff;
    std::int32_t any = kLowest, able = kLowest, largest = 0;
    for (std::int32_t c = 0; c < classes_; ++c) {
      const std::int32_t bits = std::bit_cast<std::int32_t>(logits[c]), size = bits & 0x7fffffff;
      const std::int32_t order = bits ^ ((bits >> 31) & 0x7fffffff);  // grows with the number
      const std::int32_t mine = (order & can_[c]) | (kLowest & ~can_[c]);
      largest = largest < size ? size : largest;
      any = any < order ? order : any;
      able = able < mine ? mine : able;
    }
    if (largest >= 0x7f800000 || able == kLowest || any <= able) return 0;  // not numbers; or it is ahead
    const auto number = [](std::int32_t order) {
      return std::bit_cast<float>(order ^ ((order >> 31) & 0x7fffffff));
    };
    const float ahead = number(any) - number(able);
    int level = 1;
    while (level + 1 < kLevels && ahead >= kAhead[level + 1]) ++level;
    return level;
  }

  bool on_ = false;
  std::int32_t classes_ = 0;
  std::int64_t window_ = 0, least_ = 0;
  std::int32_t* can_ = nullptr;       // [classes]: all bits set where a label can make events
  std::uint8_t* level_of_ = nullptr;  // [window]: of deferred frames
  std::int64_t bound_[kLevels] = {};
  std::int64_t frames_ = 0, sum_ = 0;
};

// Devices: every frame is evaluated when it comes.
struct NoDeferral {
  static constexpr bool kPossible = false;
};

}  // namespace runnel::pipeline
