// Messages over a stream of bytes: the length of a message as a 4-byte little-endian integer, then so many
// bytes.
//
//     FrameStream stream;
//     stream.add(read(socket, stream.room()));              // as many bytes as came, cut anywhere
//     for (std::span<const std::byte> message;;) {
//       RUNNEL_ASSIGN(const bool whole, stream.next(message));
//       if (!whole) break;                                  // the rest is still to come
//       ...
//     }
//
// What a message without bytes means is up to who reads it: the node `tcp` takes it for the end of the
// stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

inline constexpr std::size_t kFrameHeaderBytes = 4;

// What stands before a message of so many bytes.
std::array<std::byte, kFrameHeaderBytes> frame_header(std::uint32_t bytes) noexcept;

// Takes the messages of one stream apart. Knows nothing of sockets and never waits. Not thread-safe. Its
// memory follows the messages that really come: a length that is only promised takes none.
class FrameStream {
 public:
  static constexpr std::size_t kLongest = std::size_t{1} << 20;

  // `longest`: bytes of a message, at most; a longer one is an error.
  explicit FrameStream(std::size_t longest = kLongest) : longest_(longest) {}

  // Where the next bytes of the stream go; never empty. Valid until the next call of any function but add().
  std::span<std::byte> room();
  // So many bytes were put there.
  void add(std::size_t bytes) noexcept { end_ += bytes; }

  // The next whole message; false: not all of it has come. It is valid until the next call of room(). Error:
  // invalid_data for a message that is too long; the stream is then of no use any more.
  Result<bool> next(std::span<const std::byte>& message);
  // Whether a message has begun and is not whole: a stream that ends then was cut. Only right when next() has
  // said false.
  [[nodiscard]] bool cut() const noexcept { return end_ > begin_; }

 private:
  static constexpr std::size_t kLeastRoom = 4096;

  std::size_t longest_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what came and was not given, in buffer_
};

}  // namespace runnel::pipeline
