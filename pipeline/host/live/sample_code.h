// Conversion between the sample formats of sound devices and float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace runnel::pipeline {

// Little-endian. s24: the lower three bytes of four, the fourth is ignored; s24_3: three bytes.
enum class SampleCode : std::uint8_t { s16, s32, s24, s24_3, float32 };

// In the order in which they are tried on a device.
inline constexpr SampleCode kSampleCodes[] = {SampleCode::s16, SampleCode::s32, SampleCode::s24,
                                              SampleCode::s24_3, SampleCode::float32};

// "s16", ..., "float".
std::string_view name_of(SampleCode code) noexcept;
// Of one sample.
std::size_t bytes_of(SampleCode code) noexcept;

// to[i] in [-1, 1): integers divided by the power of two above them; 32-bit ones are rounded to float32.
// Floats are unchanged; infinities and NaN become 0. `from` has bytes_of(code) * to.size() bytes at any
// alignment.
void to_float(SampleCode code, const std::byte* from, std::span<float> to) noexcept;

// The inverse: integers are rounded and saturate; NaN becomes 0. `to` has bytes_of(code) * from.size() bytes.
void from_float(SampleCode code, std::span<const float> from, std::byte* to) noexcept;

}  // namespace runnel::pipeline
