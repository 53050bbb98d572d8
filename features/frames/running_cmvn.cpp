#include "features/frames/running_cmvn.h"

#include <algorithm>
#include <cmath>

#include "features/exact_math.h"

namespace runnel::features {
namespace {

// As Kaldi: what does not vary is not blown up.
constexpr double kVarianceFloor = 1e-10;

Status take(Memory& memory, std::size_t count, double*& first, double*& second) noexcept {
  first = memory.array<double>(2 * count);
  if (first == nullptr)
    return Status(Code::out_of_memory) << "cmvn: needs " << 2 * count * sizeof(double) << " bytes";
  second = first + count;
  return Status();
}

double deviation_of(double squares, double mean) noexcept {
  return std::sqrt(std::max(squares - mean * mean, kVarianceFloor));
}

}  // namespace

Status SlidingCmvn::init(const SlidingCmvnSpec& spec, std::size_t dims, Memory& memory) noexcept {
  if (spec.window < 1 || spec.window > 100000)
    return Status(Code::invalid_argument)
           << "window " << spec.window << " of cmvn: expected 1 to 100000 frames";
  if (spec.min_window < 1 || spec.min_window > spec.window) {
    return Status(Code::invalid_argument) << "min_window " << spec.min_window
                                          << " of cmvn: expected 1 to window, " << spec.window << " frames";
  }
  spec_ = spec;
  RUNNEL_TRY(history_.init(dims, static_cast<std::size_t>(spec.window) + 2, memory));
  RUNNEL_TRY(take(memory, dims, sum_, squares_));
  reset();
  return Status();
}

void SlidingCmvn::reset() noexcept {
  history_.reset();
  begin_ = end_ = given_ = 0;
  finished_ = false;
  std::fill_n(sum_, 2 * in_dims(), 0.0);
}

void SlidingCmvn::add(std::int64_t frame, double sign) noexcept {
  const float* x = history_.at(frame);
  for (std::size_t i = 0; i < in_dims(); ++i) {
    const double value = static_cast<double>(x[i]);
    sum_[i] += sign * value;
    squares_[i] += sign * (value * value);
  }
}

Status SlidingCmvn::push(const float* frame) noexcept {
  history_.push(frame);
  return Status();
}

bool SlidingCmvn::pull(float* out) noexcept {
  const std::int64_t count = history_.count(), window = spec_.window;
  if (given_ >= count) return false;
  std::int64_t begin = spec_.center ? given_ - window / 2 : given_ - window;
  std::int64_t end = spec_.center ? begin + window : std::max<std::int64_t>(given_ + 1, spec_.min_window);
  if (begin < 0) {
    if (spec_.center) end -= begin;
    begin = 0;
  }
  if (end > count) {
    if (!finished_) return false;
    if (spec_.center) begin = std::max(begin - (end - count), std::int64_t{0});
    end = count;
  }
  while (begin_ < begin) add(begin_++, -1);
  while (end_ < end) add(end_++, 1);
  const float* x = history_.at(given_);
  const double share = 1 / static_cast<double>(end - begin);
  for (std::size_t i = 0; i < in_dims(); ++i) {
    const double mean = sum_[i] * share, value = static_cast<double>(x[i]) - mean;
    out[i] = static_cast<float>(
        spec_.variance ? (end - begin == 1 ? 0 : value / deviation_of(squares_[i] * share, mean)) : value);
  }
  ++given_;
  return true;
}

Status MirrorCmvn::init(const MirrorCmvnSpec& spec, std::size_t dims, Memory& memory) noexcept {
  if (spec.window < 3 || spec.window > 9999 || spec.window % 2 == 0) {
    return Status(Code::invalid_argument)
           << "window " << spec.window << " of cmvn: expected an odd number of frames from 3 to 9999";
  }
  spec_ = spec;
  const auto capacity = static_cast<std::size_t>(2 * spec.window + 2);
  RUNNEL_TRY(frames_.init(dims, capacity, memory));
  RUNNEL_TRY(centred_.init(dims, capacity, memory));
  reset();
  return Status();
}

void MirrorCmvn::reset() noexcept {
  frames_.reset();
  centred_.reset();
  given_ = 0;
  finished_ = false;
}

double MirrorCmvn::window_sum(FrameHistory& from, std::int64_t frame, std::size_t dim, double mean,
                              bool square) noexcept {
  const std::int64_t count = from.count(), half = spec_.window / 2;
  double sum = 0;
  for (std::int64_t i = frame - half; i <= frame + half; ++i) {
    std::int64_t at = i;
    if (at < 0 || at >= count) {
      at %= 2 * count;
      if (at < 0) at += 2 * count;
      if (at >= count) at = 2 * count - 1 - at;
    }
    const double value = static_cast<double>(from.at(at)[dim]) - mean;
    sum += square ? value * value : value;
  }
  return sum / spec_.window;
}

// Frames whose means are certain.
void MirrorCmvn::advance() noexcept {
  const std::int64_t half = spec_.window / 2;
  while (centred_.count() < (finished_ ? frames_.count() : frames_.count() - half)) {
    const std::int64_t t = centred_.count();
    const float* x = frames_.at(t);
    float* to = centred_.next();
    for (std::size_t i = 0; i < in_dims(); ++i)
      to[i] = static_cast<float>(static_cast<double>(x[i]) - window_sum(frames_, t, i, 0, false));
    centred_.push();
  }
}

Status MirrorCmvn::push(const float* frame) noexcept {
  frames_.push(frame);
  advance();
  return Status();
}

void MirrorCmvn::finish() noexcept {
  finished_ = true;
  advance();
}

bool MirrorCmvn::pull(float* out) noexcept {
  const std::int64_t certain =
      !spec_.variance || finished_ ? centred_.count() : centred_.count() - spec_.window / 2;
  if (given_ >= certain) return false;
  const float* x = centred_.at(given_);
  for (std::size_t i = 0; i < in_dims(); ++i) {
    out[i] = x[i];
    if (!spec_.variance) continue;
    const double mean = window_sum(centred_, given_, i, 0, false),
                 variance = window_sum(centred_, given_, i, mean, true);
    out[i] = static_cast<float>(static_cast<double>(x[i]) / (std::sqrt(variance) + 1e-10));
  }
  ++given_;
  return true;
}

Status ExponentialCmvn::init(const ExponentialCmvnSpec& spec, std::size_t dims, Memory& memory) noexcept {
  if (!(spec.frames >= 1 && spec.frames <= 1e6F))
    return Status(Code::invalid_argument, "frames of cmvn: expected 1 to 1000000");
  variance_ = spec.variance;
  decay_ = exp(-1 / static_cast<double>(spec.frames));
  dims_ = dims;
  RUNNEL_TRY(take(memory, dims, sum_, squares_));
  frame_ = memory.array<float>(dims);
  if (frame_ == nullptr)
    return Status(Code::out_of_memory) << "cmvn: needs " << dims * sizeof(float) << " bytes";
  reset();
  return Status();
}

void ExponentialCmvn::reset() noexcept {
  std::fill_n(sum_, 2 * dims_, 0.0);
  weight_ = 0;
  waiting_ = false;
}

Status ExponentialCmvn::push(const float* frame) noexcept {
  weight_ = decay_ * weight_ + 1;
  for (std::size_t i = 0; i < dims_; ++i) {
    const double value = static_cast<double>(frame[i]);
    sum_[i] = decay_ * sum_[i] + value;
    squares_[i] = decay_ * squares_[i] + value * value;
    frame_[i] = frame[i];
  }
  waiting_ = true;
  return Status();
}

bool ExponentialCmvn::pull(float* out) noexcept {
  if (!waiting_) return false;
  waiting_ = false;
  for (std::size_t i = 0; i < dims_; ++i) {
    const double mean = sum_[i] / weight_, value = static_cast<double>(frame_[i]) - mean;
    out[i] = static_cast<float>(variance_ ? value / deviation_of(squares_[i] / weight_, mean) : value);
  }
  return true;
}

Status UtteranceCmvn::init(const UtteranceCmvnSpec& spec, std::size_t dims, Memory& memory) noexcept {
  if (spec.max_frames < 1 || spec.max_frames > 1 << 24) {
    return Status(Code::invalid_argument)
           << "max_frames " << spec.max_frames << " of cmvn: expected 1 to " << (1 << 24);
  }
  spec_ = spec;
  RUNNEL_TRY(frames_.init(dims, static_cast<std::size_t>(spec.max_frames), memory));
  RUNNEL_TRY(take(memory, dims, mean_, scale_));
  reset();
  return Status();
}

void UtteranceCmvn::reset() noexcept {
  frames_.reset();
  given_ = 0;
  finished_ = false;
}

Status UtteranceCmvn::push(const float* frame) noexcept {
  if (frames_.count() == static_cast<std::int64_t>(frames_.capacity())) {
    return Status(Code::invalid_data) << "the recording has more than " << frames_.capacity()
                                      << " frames (statistics of the whole); raise max_frames";
  }
  frames_.push(frame);
  return Status();
}

void UtteranceCmvn::measure_range() noexcept {
  double least = 0, largest = 0;
  for (std::int64_t t = 0; t < frames_.count(); ++t) {
    for (std::size_t i = 0; i < in_dims(); ++i) {
      const double value = static_cast<double>(frames_.at(t)[i]);
      if ((t == 0 && i == 0) || value < least) least = value;
      if ((t == 0 && i == 0) || value > largest) largest = value;
    }
  }
  std::fill_n(mean_, in_dims(), least);
  std::fill_n(scale_, in_dims(), largest > least ? 1 / (largest - least) : 0);
}

void UtteranceCmvn::finish() noexcept {
  if (finished_) return;
  finished_ = true;
  if (spec_.range) return measure_range();
  const double share = 1 / static_cast<double>(std::max<std::int64_t>(frames_.count(), 1));
  for (std::size_t i = 0; i < in_dims(); ++i) {
    double sum = 0, squares = 0;
    for (std::int64_t t = 0; t < frames_.count(); ++t) sum += static_cast<double>(frames_.at(t)[i]);
    mean_[i] = sum * share;
    for (std::int64_t t = 0; t < frames_.count(); ++t) {
      const double value = static_cast<double>(frames_.at(t)[i]) - mean_[i];
      squares += value * value;
    }
    scale_[i] = spec_.variance ? 1 / std::sqrt(std::max(squares * share, kVarianceFloor)) : 1;
  }
}

bool UtteranceCmvn::pull(float* out) noexcept {
  if (!finished_ || given_ >= frames_.count()) return false;
  const float* x = frames_.at(given_++);
  for (std::size_t i = 0; i < in_dims(); ++i)
    out[i] = static_cast<float>((static_cast<double>(x[i]) - mean_[i]) * scale_[i]);
  return true;
}

}  // namespace runnel::features
