#include "features/frames/cmvn.h"

#include <cmath>

namespace runnel::features {

Status Cmvn::allocate(std::size_t dims, Isa isa, Memory& memory) noexcept {
  if (dims == 0)
    return Status(Code::invalid_argument, "cmvn: no statistics, expected one mean per dimension");
  mean_ = memory.array<float>(2 * dims);
  if (mean_ == nullptr)
    return Status(Code::out_of_memory) << "cmvn: needs " << 2 * dims * sizeof(float) << " bytes";
  scale_ = mean_ + dims;
  dims_ = dims;
  kernels_ = &kernels_for(isa);
  return Status();
}

Status Cmvn::init(std::span<const float> mean, std::span<const float> inverse_deviation, Isa isa,
                  Memory& memory) noexcept {
  if (!inverse_deviation.empty() && inverse_deviation.size() != mean.size()) {
    return Status(Code::mismatch) << "cmvn: " << inverse_deviation.size() << " inverse deviations, expected "
                                  << mean.size() << " as there are means";
  }
  for (std::size_t i = 0; i < mean.size(); ++i) {
    if (!std::isfinite(mean[i]) || (!inverse_deviation.empty() && !std::isfinite(inverse_deviation[i]))) {
      return Status(Code::invalid_argument) << "cmvn: the statistics of dimension " << i << " are not finite";
    }
  }
  RUNNEL_TRY(allocate(mean.size(), isa, memory));
  for (std::size_t i = 0; i < dims_; ++i) {
    mean_[i] = mean[i];
    scale_[i] = inverse_deviation.empty() ? 1.0F : inverse_deviation[i];
  }
  return Status();
}

Status Cmvn::init_from_sums(std::span<const double> sum, std::span<const double> sum_of_squares,
                            double frames, double variance_floor, Isa isa, Memory& memory) noexcept {
  if (sum_of_squares.size() != sum.size()) {
    return Status(Code::mismatch) << "cmvn: " << sum_of_squares.size() << " sums of squares, expected "
                                  << sum.size();
  }
  if (!(frames >= 1)) return Status(Code::invalid_argument, "cmvn: statistics of less than one frame");
  if (!(variance_floor > 0))
    return Status(Code::invalid_argument, "cmvn: variance_floor: expected more than 0");
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (!std::isfinite(sum[i]) || !std::isfinite(sum_of_squares[i])) {
      return Status(Code::invalid_argument) << "cmvn: the statistics of dimension " << i << " are not finite";
    }
  }
  RUNNEL_TRY(allocate(sum.size(), isa, memory));
  for (std::size_t i = 0; i < dims_; ++i) {
    const double mean = sum[i] / frames;
    double variance = sum_of_squares[i] / frames - mean * mean;
    if (!(variance > variance_floor)) variance = variance_floor;
    mean_[i] = static_cast<float>(mean);
    scale_[i] = static_cast<float>(1 / std::sqrt(variance));
  }
  return Status();
}

void Cmvn::apply(std::span<float> frames) const noexcept {
  for (std::size_t at = 0; at + dims_ <= frames.size(); at += dims_)
    kernels_->normalize(frames.data() + at, mean_, scale_, dims_);
}

}  // namespace runnel::features
