// Deltas of features over time, and deltas of deltas: torchaudio.functional.compute_deltas with
// mode="replicate".
//     d[t] = sum over k = 1 .. N of k (c[t+k] - c[t-k]) / (2 sum k^2), N = (window - 1) / 2,
// with the first and the last frame repeated beyond the ends.
#pragma once

#include "features/frames/frame_stage.h"

namespace runnel::features {

struct DeltasSpec {
  std::int32_t window = 5;  // odd, 3 to 99
  std::int32_t order = 2;   // 1: deltas; 2: and deltas of them
  bool with_static = true;  // the features themselves in front
};

// Look-ahead: N frames per order.
class Deltas final : public FrameStage {
 public:
  // Errors: invalid_argument with the parameter, its value and range; out_of_memory.
  Status init(const DeltasSpec& spec, std::size_t dims, Memory& memory) noexcept;

  Status push(const float* frame) noexcept override;
  bool pull(float* out) noexcept override;
  void finish() noexcept override;
  void reset() noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.value(finished_);
    level_[0].state(archive);
    for (std::int32_t i = 1; i <= spec_.order; ++i) {
      level_[i].state(archive);
      const std::int64_t before = level_[i - 1].count(), certain = finished_ ? before : before - reach_;
      archive.expect(level_[i].count() == (certain < 0 ? 0 : certain), "the number of deltas");
    }
    // All that are certain were given.
    archive.follows(given_, level_[spec_.order].count(), "the number of frames given");
  }
  [[nodiscard]] std::size_t in_dims() const noexcept override { return level_[0].dims(); }
  [[nodiscard]] std::size_t out_dims() const noexcept override {
    return in_dims() * static_cast<std::size_t>(spec_.order + (spec_.with_static ? 1 : 0));
  }
  [[nodiscard]] std::size_t most_waiting() const noexcept override { return look_ahead() + 1; }
  [[nodiscard]] std::size_t look_ahead() const noexcept override {
    return static_cast<std::size_t>(reach_ * spec_.order);
  }
  [[nodiscard]] std::int64_t before() const noexcept override { return reach_ * spec_.order; }
  [[nodiscard]] std::int64_t span() const noexcept override { return 2 * reach_ * spec_.order + 1; }

 private:
  void advance() noexcept;
  void compute(FrameHistory& from, std::int64_t frame, float* to) noexcept;

  DeltasSpec spec_;
  std::int64_t reach_ = 2;  // N
  float factor_ = 0;        // 2 sum k^2
  FrameHistory level_[3];   // the features, their deltas, the deltas of those
  std::int64_t given_ = 0;
  bool finished_ = false;
};

}  // namespace runnel::features
