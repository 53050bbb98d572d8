// Several frames next to each other as one: low frame rate features ("LFR") of Paraformer and others.
#pragma once

#include "features/frames/frame_stage.h"

namespace runnel::features {

struct FrameStackSpec {
  std::int32_t frames = 7;  // m, 1 to 1000
  std::int32_t step = 6;    // n, 1 to 1000
  // true: stack i is frames i n - floor((m-1)/2) .. of the recording with its first and last frame repeated,
  // and there are ceil(T / n) stacks of T frames, as FunASR does. false: stack i is frames i n .., whole ones
  // only.
  bool pad = true;
};

class FrameStack final : public FrameStage {
 public:
  // Errors: invalid_argument with the parameter, its value and range; out_of_memory.
  Status init(const FrameStackSpec& spec, std::size_t dims, Memory& memory) noexcept;

  Status push(const float* frame) noexcept override;
  bool pull(float* out) noexcept override;
  void finish() noexcept override { finished_ = true; }
  void reset() noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.value(finished_);
    history_.state(archive);
    // All that are certain were given: of whole frames, or, at the end, all that begin.
    const std::int64_t count = history_.count(), step = spec_.step, whole = count + before() - spec_.frames;
    archive.follows(given_,
                    finished_ && spec_.pad ? (count + step - 1) / step
                    : whole < 0            ? 0
                                           : whole / step + 1,
                    "the number of stacks given");
  }
  [[nodiscard]] std::size_t in_dims() const noexcept override { return history_.dims(); }
  [[nodiscard]] std::size_t out_dims() const noexcept override {
    return history_.dims() * static_cast<std::size_t>(spec_.frames);
  }
  [[nodiscard]] std::size_t most_waiting() const noexcept override {
    return static_cast<std::size_t>(spec_.frames / spec_.step) + 2;
  }
  [[nodiscard]] std::size_t look_ahead() const noexcept override {
    return static_cast<std::size_t>(spec_.frames - 1 - before());
  }
  [[nodiscard]] std::int64_t step() const noexcept override { return spec_.step; }
  [[nodiscard]] std::int64_t before() const noexcept override {
    return spec_.pad ? (spec_.frames - 1) / 2 : 0;
  }
  [[nodiscard]] std::int64_t span() const noexcept override { return spec_.frames; }

 private:
  FrameStackSpec spec_;
  FrameHistory history_;
  std::int64_t given_ = 0;
  bool finished_ = false;
};

}  // namespace runnel::features
