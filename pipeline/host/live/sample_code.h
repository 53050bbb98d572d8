// Samples as sound devices give them, made into float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace runnel::pipeline {

// Little-endian. s24: the lower three bytes of four, whatever the fourth one holds; s24_3: three bytes.
enum class SampleCode : std::uint8_t { s16, s32, s24, s24_3, float32 };

// In the order in which they are tried on a device.
inline constexpr SampleCode kSampleCodes[] = {SampleCode::s16, SampleCode::s32, SampleCode::s24,
                                              SampleCode::s24_3, SampleCode::float32};

// "s16", ..., "float".
std::string_view name_of(SampleCode code) noexcept;
// Of one sample.
std::size_t bytes_of(SampleCode code) noexcept;

// to[i] in [-1, 1): integers divided by the power of two above them; 32-bit ones are rounded to what float32
// holds. Floats stay as they are; what is infinite or not a number becomes 0. `from` has bytes_of(code) *
// to.size() bytes at any alignment.
void to_float(SampleCode code, const std::byte* from, std::span<float> to) noexcept;

// The other way round: integers are rounded and saturate; what is not a number becomes 0. `to` has
// bytes_of(code) * from.size() bytes.
void from_float(SampleCode code, std::span<const float> from, std::byte* to) noexcept;

}  // namespace runnel::pipeline
