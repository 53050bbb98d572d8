#include "embed/gate.h"

#include "base/float_of.h"

namespace runnel::embed {
namespace {

float of_int16(const std::int16_t* x, std::size_t frames, std::size_t step) noexcept {
  std::int64_t sum = 0;
  std::uint64_t squares = 0;
  for (std::size_t i = 0; i < frames; ++i) {
    const std::int32_t value = x[i * step];
    sum += value;
    squares += static_cast<std::uint32_t>(value * value);
  }
  const auto count = static_cast<float>(frames);
  const float mean = float_of(sum) / count;
  return float_of(squares) / count - mean * mean;
}

float of_floats(const float* x, std::size_t frames, std::size_t step) noexcept {
  float sum = 0, squares = 0;
  for (std::size_t i = 0; i < frames; ++i) sum += x[i * step];
  const float mean = sum / static_cast<float>(frames);
  for (std::size_t i = 0; i < frames; ++i) squares += (x[i * step] - mean) * (x[i * step] - mean);
  return squares / static_cast<float>(frames);
}

}  // namespace

float activity(const void* samples, std::size_t frames, std::size_t channels, DType type) noexcept {
  float total = 0;
  if (frames == 0) return total;
  for (std::size_t c = 0; c < channels; ++c) {
    total += type == DType::int16 ? of_int16(static_cast<const std::int16_t*>(samples) + c, frames, channels)
                                  : of_floats(static_cast<const float*>(samples) + c, frames, channels);
  }
  return total;
}

bool EnergyGate::opens(const void* samples, std::size_t frames, std::size_t channels, DType type) noexcept {
  if (!(settings_.threshold > 0)) return true;
  if (activity(samples, frames, channels, type) >= settings_.threshold) {
    quiet_ = 0;
    return true;
  }
  if (quiet_ >= settings_.hold) return false;
  quiet_ += frames;
  return true;
}

}  // namespace runnel::embed
