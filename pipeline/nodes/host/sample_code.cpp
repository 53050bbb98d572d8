#include "pipeline/nodes/host/sample_code.h"

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
    case SampleCode::s16: return static_cast<float>(load<std::int16_t>(from)) / 32768.0F;
    case SampleCode::s32: return std::min(static_cast<float>(load<std::int32_t>(from)) * 0x1p-31F, kLargest);
    case SampleCode::s24:
    case SampleCode::s24_3: return static_cast<float>(static_cast<std::int32_t>(byte(0) << 8 | byte(1) << 16 | byte(2) << 24)) * 0x1p-31F;
    case SampleCode::float32: break;
  }
  const auto value = load<float>(from);
  return std::isfinite(value) ? value : 0.0F;
}

}  // namespace

std::string_view name_of(SampleCode code) noexcept {
  switch (code) {
    case SampleCode::s16: return "s16";
    case SampleCode::s32: return "s32";
    case SampleCode::s24: return "s24";
    case SampleCode::s24_3: return "s24_3";
    case SampleCode::float32: break;
  }
  return "float";
}

std::size_t bytes_of(SampleCode code) noexcept { return code == SampleCode::s16 ? 2 : code == SampleCode::s24_3 ? 3 : 4; }

void to_float(SampleCode code, const std::byte* from, std::span<float> to) noexcept {
  const std::size_t bytes = bytes_of(code);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = one(code, from + i * bytes);
}

}  // namespace runnel::pipeline
