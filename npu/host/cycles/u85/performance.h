// Performance of the Ethos-U85's configurations, as Arm's compiler has them (Regor, ethos-u-vela 4.4).
#pragma once

#include <cstdint>

#include "npu/accelerator.h"

namespace runnel::npu::u85 {

// What limits the bytes that are on their way: every kind of transfer has a buffer of its own.
enum class Channel : std::uint8_t { copy, ifm_stream, weights, fast_weights, ifm, scales, write, kCount };
inline constexpr int kChannels = static_cast<int>(Channel::kCount);

// Cycles per element in the output stage, by what leaves it: values of 8, 16, 32 or 64 bits, 32-bit values
// into a chaining buffer (or a binary operation's that narrows them), a binary operation's on 32 bits.
enum class OutputKind : std::uint8_t { bits8, bits16, bits32, bits64, chained32, binary32, kCount };

struct Performance {
  std::int32_t macs;
  float output[static_cast<int>(OutputKind::kCount)];
  float activation[2];                  // fused steps: others, and those that exchange rows and columns
  std::int32_t buffers[kChannels - 1];  // entries of 16 bytes; writes have no limit
};
const Performance& performance_of(const Accelerator& accelerator) noexcept;

}  // namespace runnel::npu::u85
