// Mean and variance normalisation with statistics of the recording itself: of a window that slides over it,
// of the recent past, or of all of it. Statistics are kept in double precision.
#pragma once

#include "features/frames/frame_stage.h"

namespace runnel::features {

struct SlidingCmvnSpec {
  std::int32_t window = 600;      // frames, 1 to 100000
  std::int32_t min_window = 100;  // not centred: the first frames wait for so many
  bool center = false;            // the window lies around the frame; at both ends it is moved inside
  bool variance = false;          // also divide by the deviation
};

// Kaldi's apply-cmvn-sliding: not centred, frame t uses frames t - window .. t.
class SlidingCmvn final : public FrameStage {
 public:
  // Errors: invalid_argument with the parameter, its value and range; out_of_memory.
  Status init(const SlidingCmvnSpec& spec, std::size_t dims, Memory& memory) noexcept;

  Status push(const float* frame) noexcept override;
  bool pull(float* out) noexcept override;
  void finish() noexcept override { finished_ = true; }
  void reset() noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.value(finished_);
    history_.state(archive);
    const std::int64_t count = history_.count(), most = spec_.window + 1;
    archive.bounded(given_, count < most ? 0 : count - most, count);
    archive.bounded(end_, given_, count);
    archive.bounded(begin_, end_ < most ? 0 : end_ - most, end_);
    archive.values(std::span(sum_, 2 * in_dims()));  // and the squares
  }
  [[nodiscard]] std::size_t in_dims() const noexcept override { return history_.dims(); }
  [[nodiscard]] std::size_t out_dims() const noexcept override { return history_.dims(); }
  [[nodiscard]] std::size_t most_waiting() const noexcept override { return history_.capacity(); }
  [[nodiscard]] std::size_t look_ahead() const noexcept override {
    return spec_.center ? static_cast<std::size_t>(spec_.window - 1 - spec_.window / 2) : 0;
  }

 private:
  void add(std::int64_t frame, double sign) noexcept;

  SlidingCmvnSpec spec_;
  FrameHistory history_;
  double *sum_ = nullptr, *squares_ = nullptr;
  std::int64_t begin_ = 0, end_ = 0;  // frames in the sums
  std::int64_t given_ = 0;
  bool finished_ = false;
};

struct MirrorCmvnSpec {
  std::int32_t window = 101;  // frames, odd, 3 to 9999
  bool variance = true;  // also divide by deviation + 1e-10, of the frames whose means have been subtracted
};

// SpeechPy's cmvnw, as in Edge Impulse: the window lies around the frame, and beyond the ends the recording
// is mirrored with its first and last frame repeated. Look-ahead: half the window, twice with variance.
class MirrorCmvn final : public FrameStage {
 public:
  Status init(const MirrorCmvnSpec& spec, std::size_t dims, Memory& memory) noexcept;

  Status push(const float* frame) noexcept override;
  bool pull(float* out) noexcept override;
  void finish() noexcept override;
  void reset() noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.value(finished_);
    frames_.state(archive);
    centred_.state(archive);
    const std::int64_t half = spec_.window / 2, certain = frames_.count() - (finished_ ? 0 : half);
    archive.expect(centred_.count() == (certain < 0 ? 0 : certain), "the number of frames without mean");
    // All that are certain were given.
    const std::int64_t given = centred_.count() - (spec_.variance && !finished_ ? half : 0);
    archive.follows(given_, given < 0 ? 0 : given, "the number of frames given");
  }
  [[nodiscard]] std::size_t in_dims() const noexcept override { return frames_.dims(); }
  [[nodiscard]] std::size_t out_dims() const noexcept override { return frames_.dims(); }
  [[nodiscard]] std::size_t most_waiting() const noexcept override { return look_ahead() + 1; }
  [[nodiscard]] std::size_t look_ahead() const noexcept override {
    return static_cast<std::size_t>(spec_.variance ? spec_.window - 1 : spec_.window / 2);
  }

 private:
  void advance() noexcept;
  // Sum over the window around `frame` of value, or of its square about `mean`.
  double window_sum(FrameHistory& from, std::int64_t frame, std::size_t dim, double mean,
                    bool square) noexcept;

  MirrorCmvnSpec spec_;
  FrameHistory frames_, centred_;
  std::int64_t given_ = 0;
  bool finished_ = false;
};

struct ExponentialCmvnSpec {
  float frames = 300;  // time constant: a frame that many ago weighs 1/e; 1 to 1e6
  bool variance = false;
};

// Weighted mean and variance of all frames so far, the present one included. No look-ahead.
class ExponentialCmvn final : public FrameStage {
 public:
  Status init(const ExponentialCmvnSpec& spec, std::size_t dims, Memory& memory) noexcept;

  Status push(const float* frame) noexcept override;
  bool pull(float* out) noexcept override;
  void finish() noexcept override {}
  void reset() noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.value(weight_);
    archive.values(std::span(sum_, 2 * dims_));  // and the squares
    archive.follows(waiting_, false, "a frame that waits");
  }
  [[nodiscard]] std::size_t in_dims() const noexcept override { return dims_; }
  [[nodiscard]] std::size_t out_dims() const noexcept override { return dims_; }
  [[nodiscard]] std::size_t most_waiting() const noexcept override { return 1; }
  [[nodiscard]] std::size_t look_ahead() const noexcept override { return 0; }

 private:
  bool variance_ = false, waiting_ = false;
  std::size_t dims_ = 0;
  double decay_ = 0, weight_ = 0;
  double *sum_ = nullptr, *squares_ = nullptr;
  float* frame_ = nullptr;
};

struct UtteranceCmvnSpec {
  std::int32_t max_frames = 3000;  // of the longest recording, 1 to 2^24
  bool variance = true;
  // Instead of mean and variance: the least and the largest value of all dimensions become 0 and 1, as Edge
  // Impulse does (values that are all equal become 0).
  bool range = false;
};

// Statistics of the whole recording: all frames come out at its end, so this is not for live streams.
class UtteranceCmvn final : public FrameStage {
 public:
  Status init(const UtteranceCmvnSpec& spec, std::size_t dims, Memory& memory) noexcept;

  Status push(const float* frame) noexcept override;
  bool pull(float* out) noexcept override;
  void finish() noexcept override;
  void reset() noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.value(finished_);
    frames_.state(archive, static_cast<std::int64_t>(frames_.capacity()));
    archive.index(given_, finished_ ? frames_.count() : 0);
    if (finished_) archive.values(std::span(mean_, 2 * in_dims()));  // and the scale
  }
  [[nodiscard]] std::size_t in_dims() const noexcept override { return frames_.dims(); }
  [[nodiscard]] std::size_t out_dims() const noexcept override { return frames_.dims(); }
  [[nodiscard]] std::size_t most_waiting() const noexcept override { return frames_.capacity(); }
  [[nodiscard]] std::size_t look_ahead() const noexcept override { return frames_.capacity(); }

 private:
  void measure_range() noexcept;

  UtteranceCmvnSpec spec_;
  bool finished_ = false;
  FrameHistory frames_;
  double *mean_ = nullptr, *scale_ = nullptr;
  std::int64_t given_ = 0;
};

}  // namespace runnel::features
