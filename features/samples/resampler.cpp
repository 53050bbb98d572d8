#include "features/samples/resampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "features/exact_math.h"

namespace runnel::features {

Result<ResamplerShape> Resampler::shape_of(const ResamplerSpec& spec) noexcept {
  for (const auto& [name, rate] :
       {std::pair("in_rate", spec.in_rate), std::pair("out_rate", spec.out_rate)}) {
    if (rate < 1 || rate > 768000)
      return Status(Code::invalid_argument) << name << " " << rate << ": expected 1 to 768000 Hz";
  }
  const auto percent = [](float x) {
    return x > -1e6F && x < 1e6F ? static_cast<std::int64_t>(x * 100) : -1;
  };
  if (!(spec.pass_band >= 0.5F && spec.pass_band <= 0.99F)) {
    return Status(Code::invalid_argument)
           << "pass_band " << percent(spec.pass_band) << "/100: expected 0.5 to 0.99";
  }
  if (!(spec.stop_band_db >= 20 && spec.stop_band_db <= 120)) {
    return Status(Code::invalid_argument)
           << "stop_band_db " << percent(spec.stop_band_db) << "/100: expected 20 to 120";
  }
  const ResamplerShape shape = unchecked_shape_of(spec);
  if (shape.row() > kMaxCoefficients / static_cast<std::size_t>(shape.up)) {
    return Status(Code::unsupported) << "resampling from " << spec.in_rate << " to " << spec.out_rate
                                     << " Hz: " << shape.up << " phases of " << shape.row()
                                     << " coefficients, expected at most " << kMaxCoefficients << " in all";
  }
  return shape;
}

Result<std::size_t> Resampler::memory_bytes(const ResamplerSpec& spec) noexcept {
  RUNNEL_ASSIGN(const ResamplerShape shape, shape_of(spec));
  return shape.memory_bytes();
}

Status Resampler::make_taps(const ResamplerSpec& spec, std::span<float> taps) noexcept {
  RUNNEL_ASSIGN(const ResamplerShape shape, shape_of(spec));
  if (taps.size() != shape.taps()) {
    return Status(Code::invalid_argument) << "room for " << taps.size() << " taps, expected " << shape.taps();
  }
  fill_taps(spec, shape, taps.data());
  return {};
}

Result<Resampler> Resampler::make(const ResamplerSpec& spec, Isa isa, Memory& memory) noexcept {
  RUNNEL_ASSIGN(const ResamplerShape shape, shape_of(spec));
  auto* taps = static_cast<float*>(memory.allocate(shape.taps() * sizeof(float), 64));
  if (taps == nullptr)
    return Status(Code::out_of_memory)
           << "resampler: needs " << shape.taps() * sizeof(float) << " bytes for its taps";
  fill_taps(spec, shape, taps);
  return make(spec, {taps, shape.taps()}, isa, memory);
}

Result<Resampler> Resampler::make(const ResamplerSpec& spec, std::span<const float> taps, Isa isa,
                                  Memory& memory) noexcept {
  RUNNEL_ASSIGN(const ResamplerShape shape, shape_of(spec));
  if (taps.size() != shape.taps())
    return Status(Code::mismatch) << taps.size() << " taps, expected " << shape.taps();
  Resampler r;
  r.samples_ = static_cast<float*>(memory.allocate(shape.state_bytes(), 64));
  if (r.samples_ == nullptr)
    return Status(Code::out_of_memory) << "resampler: needs " << shape.state_bytes() << " bytes";
  r.kernels_ = &kernels_for(isa);
  r.up_ = shape.up;
  r.down_ = shape.down;
  r.half_ = shape.half;
  r.row_ = shape.row();
  r.capacity_ = shape.capacity();
  r.taps_ = taps.data();
  r.reset();
  return r;
}

void Resampler::fill_taps(const ResamplerSpec& spec, const ResamplerShape& shape, float* taps) noexcept {
  const double beta = spec.stop_band_db > 50 ? 0.1102 * (static_cast<double>(spec.stop_band_db) - 8.7)
                      : spec.stop_band_db > 21
                          ? 0.5842 * pow(spec.stop_band_db - 21.0, 0.4) + 0.07886 * (spec.stop_band_db - 21.0)
                          : 0.0;
  const auto weight = [&](double t) {  // of a sample t input samples before the output's time
    if (shape.up == shape.down) return t == 0 ? 1.0 : 0.0;
    const double edge = t / shape.width;
    if (edge <= -1 || edge >= 1) return 0.0;
    const double angle = 2 * kPi * shape.cutoff * t;
    const double sinc = t == 0 ? 1.0 : turn(shape.cutoff * t).sin / angle;
    return sinc * bessel_i0(beta * std::sqrt(1 - edge * edge));
  };
  const auto count = static_cast<std::int64_t>(shape.row()),
             padding = static_cast<std::int64_t>(shape.padding());
  std::fill_n(taps, shape.taps(), 0.0F);
  for (std::int64_t phase = 0; phase <= shape.up / 2; ++phase) {
    float* row = taps + static_cast<std::size_t>(phase) * shape.row();
    const double fraction = static_cast<double>(phase) / static_cast<double>(shape.up);
    // Tap j belongs to the sample floor(t) + half - (row - 1 - j).
    const auto at = [&](std::int64_t j) {
      return fraction - static_cast<double>(shape.half - (count - 1 - j));
    };
    double sum = 0;
    for (std::int64_t j = padding; j < count; ++j) sum += weight(at(j));
    for (std::int64_t j = padding; j < count; ++j) row[j] = static_cast<float>(weight(at(j)) / sum);
  }
}

void Resampler::reset() noexcept {
  // Zeros before the recording, as far back as output 0 reads.
  base_ = half_ - static_cast<std::int64_t>(row_) + 1;
  received_ = filled_ = next_ = 0;
  flushed_ = false;
  std::fill_n(samples_, static_cast<std::size_t>(-base_), 0.0F);
}

std::int64_t Resampler::outputs_of(std::int64_t samples) const noexcept {
  return ceil_div(samples * up_, down_);
}
std::size_t Resampler::max_outputs(std::size_t samples) const noexcept {
  return static_cast<std::size_t>(outputs_of(static_cast<std::int64_t>(samples))) + 1;
}
std::size_t Resampler::max_flush_outputs() const noexcept {
  return max_outputs(static_cast<std::size_t>(half_));
}

// Writes outputs whose last sample is before `certain`.
std::size_t Resampler::take(std::span<float> out, std::size_t already, std::int64_t certain) noexcept {
  std::int64_t whole = next_ * down_ / up_, phase = next_ * down_ - whole * up_;
  const std::int64_t whole_step = down_ / up_, phase_step = down_ % up_;
  for (; already < out.size() && whole + half_ < certain; ++already, ++next_) {
    const float* first = samples_ + (whole + half_ + 1 - static_cast<std::int64_t>(row_) - base_);
    if (2 * phase <= up_) {
      out[already] = kernels_->dot(first, taps_ + static_cast<std::size_t>(phase) * row_, row_);
    } else {
      // The last tap of this phase is the first one of the other, after its zeros.
      const float* other =
          taps_ + static_cast<std::size_t>(up_ - phase) * row_ + (row_ - static_cast<std::size_t>(2 * half_));
      out[already] = kernels_->dot_reversed(first, other + row_ - 1, row_);
    }
    whole += whole_step;
    phase += phase_step;
    if (phase >= up_) {
      phase -= up_;
      ++whole;
    }
  }
  return already;
}

// Moves what the next output reads to the front of the buffer.
void Resampler::make_room() noexcept {
  std::int64_t keep = next_ * down_ / up_ + half_ + 1 - static_cast<std::int64_t>(row_);
  keep = std::min(keep, filled_);
  if (keep > base_) {
    std::memmove(samples_, samples_ + (keep - base_),
                 static_cast<std::size_t>(filled_ - keep) * sizeof(float));
    base_ = keep;
  }
}

Resampler::Step Resampler::push(std::span<const float> samples, std::span<float> out) noexcept {
  Step step{0, 0};
  if (flushed_) return step;
  for (;;) {
    step.outputs = take(out, step.outputs, received_);
    if (step.samples == samples.size()) return step;
    if (static_cast<std::size_t>(filled_ - base_) == capacity_) make_room();
    const std::size_t used = static_cast<std::size_t>(filled_ - base_);
    const std::size_t count = std::min(capacity_ - used, samples.size() - step.samples);
    if (count == 0) return step;  // only when `out` is full
    std::memcpy(samples_ + used, samples.data() + step.samples, count * sizeof(float));
    received_ += static_cast<std::int64_t>(count);
    filled_ = received_;
    step.samples += count;
  }
}

std::size_t Resampler::flush(std::span<float> out) noexcept {
  flushed_ = true;
  const std::int64_t left = outputs_of(received_) - next_;
  if (static_cast<std::uint64_t>(left) < out.size()) out = out.first(static_cast<std::size_t>(left));
  std::size_t outputs = 0;
  for (;;) {
    outputs = take(out, outputs, filled_);
    if (outputs == out.size()) return outputs;
    if (static_cast<std::size_t>(filled_ - base_) == capacity_) make_room();
    const std::size_t used = static_cast<std::size_t>(filled_ - base_);
    std::fill_n(samples_ + used, capacity_ - used, 0.0F);
    filled_ = base_ + static_cast<std::int64_t>(capacity_);
  }
}

}  // namespace runnel::features
