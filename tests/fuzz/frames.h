// Messages with their lengths, in one input: what protocols have in common. A mutator that knows where
// messages begin repeats, drops, swaps and changes whole ones, and lies about their lengths on purpose; bytes
// changed anywhere would mostly break the first length and never reach what is said after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace runnel::fuzz {

// A message as the readers of this folder have several of them: two bytes of length, little-endian, and
// itself.
std::string frame(std::string_view message);
// Takes the next one from the front; what is cut off is shorter. Empty: there are no more. A message of no
// bytes is left out.
std::span<const std::byte> next_frame(std::span<const std::byte>& bytes) noexcept;

// Bytes of the packet of MQTT at the front, at most all; at least 1 unless there are none.
std::size_t mqtt_packet_bytes(std::span<const std::byte> bytes) noexcept;

// Where the first message ends, and how one is made around other content. Offsets are in the whole message.
struct FrameParts {
  std::size_t content = 0;  // where it begins
  std::size_t bytes = 0;    // of the whole message; 0: it is cut off
};
struct FrameFormat {
  std::string_view kind;  // of inputs
  std::size_t head = 0;   // bytes of an input that are not messages
  FrameParts (*look)(std::string_view bytes) = nullptr;
  // The message `old` with this content, and a length of its own that is right.
  std::string (*made)(std::string_view old, std::string_view content) = nullptr;
};
// Null: inputs of this kind have no messages with lengths.
const FrameFormat* frame_format(std::string_view kind) noexcept;

// A changed input of at most `most` bytes. `plain` changes bytes anywhere: (bytes, most) to the new bytes.
using PlainMutation = std::function<std::string(std::string, std::size_t)>;
std::string mutate_frames(std::string_view input, std::size_t most, std::uint32_t seed,
                          const FrameFormat& format, const PlainMutation& plain);

}  // namespace runnel::fuzz
