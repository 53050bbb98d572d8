#include "pipeline/host/live/sample_code.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace runnel::pipeline {
namespace {

constexpr float kLargest = 1 - 0x1p-24F;

template <class T>
T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float one(SampleCode code, const std::byte* from) noexcept {
  const auto byte = [&](int i) { return static_cast<std::uint32_t>(from[i]); };
  switch (code) {
    case SampleCode::s16:
      return static_cast<float>(load<std::int16_t>(from)) / 32768.0F;
    case SampleCode::s32:
      return std::min(static_cast<float>(load<std::int32_t>(from)) * 0x1p-31F, kLargest);
    case SampleCode::s24:
    case SampleCode::s24_3:
      return static_cast<float>(static_cast<std::int32_t>(byte(0) << 8 | byte(1) << 16 | byte(2) << 24)) *
             0x1p-31F;
    case SampleCode::float32:
      break;
  }
  const auto value = load<float>(from);
  return std::isfinite(value) ? value : 0.0F;
}

// Stores a sample as an integer of `bits` bits in `bytes` little-endian bytes.
void store(float sample, int bits, std::size_t bytes, std::byte* to) noexcept {
  const double full = std::ldexp(1.0, bits - 1);
  const double value = std::isnan(sample)
                           ? 0
                           : std::clamp(std::nearbyint(static_cast<double>(sample) * full), -full, full - 1);
  const auto integer = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(integer >> (8 * i) & 0xFF);
}

}  // namespace

std::string_view name_of(SampleCode code) noexcept {
  switch (code) {
    case SampleCode::s16:
      return "s16";
    case SampleCode::s32:
      return "s32";
    case SampleCode::s24:
      return "s24";
    case SampleCode::s24_3:
      return "s24_3";
    case SampleCode::float32:
      break;
  }
  return "float";
}

std::size_t bytes_of(SampleCode code) noexcept {
  return code == SampleCode::s16 ? 2 : code == SampleCode::s24_3 ? 3 : 4;
}

void to_float(SampleCode code, const std::byte* from, std::span<float> to) noexcept {
  const std::size_t bytes = bytes_of(code);
  // The most common format: a loop without branches, which compilers vectorize. Division by 2^15 is exact.
  if (code == SampleCode::s16) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<float>(load<std::int16_t>(from + i * sizeof(std::int16_t))) * 0x1p-15F;
    return;
  }
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = one(code, from + i * bytes);
}

void from_float(SampleCode code, std::span<const float> from, std::byte* to) noexcept {
  const std::size_t bytes = bytes_of(code);
  const int bits = code == SampleCode::s16 ? 16 : code == SampleCode::s32 ? 32 : 24;
  for (const float sample : from) {
    if (code != SampleCode::float32)
      store(sample, bits, bytes, to);
    else
      std::memcpy(to, &sample, sizeof sample);
    to += bytes;
  }
}

}  // namespace runnel::pipeline
