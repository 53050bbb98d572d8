// Messages over a stream of bytes: the length as a 4-byte little-endian integer, then that many bytes.
//
//     FrameStream stream;
//     stream.add(read(socket, stream.room()));              // any number of bytes, cut anywhere
//     for (std::span<const std::byte> message;;) {
//       RUNNEL_ASSIGN(const bool whole, stream.next(message));
//       if (!whole) break;                                  // incomplete
//       ...
//     }
//
// The reader decides what an empty message means: for the node `tcp` it is the end of the stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

inline constexpr std::size_t kFrameHeaderBytes = 4;

// The prefix of a message of this length.
std::array<std::byte, kFrameHeaderBytes> frame_header(std::uint32_t bytes) noexcept;

// Splits one stream into its messages. Uses no sockets and never waits. Not thread-safe. Its memory grows
// with the bytes received, not with an announced length.
class FrameStream {
 public:
  static constexpr std::size_t kLongest = std::size_t{1} << 20;

  // `longest`: the most bytes of a message; a longer one is an error.
  explicit FrameStream(std::size_t longest = kLongest) : longest_(longest) {}

  // Where the next bytes of the stream go; never empty. Valid until the next call of any function but add().
  std::span<std::byte> room();
  // This many bytes were written there.
  void add(std::size_t bytes) noexcept { end_ += bytes; }

  // The next whole message; false: it is incomplete. It is valid until the next call of room(). Error:
  // invalid_data for a message that is too long; the stream is unusable afterwards.
  Result<bool> next(std::span<const std::byte>& message);
  // Whether a message has begun and is incomplete: a stream that ends here was cut. Valid only after next()
  // has returned false.
  [[nodiscard]] bool cut() const noexcept { return end_ > begin_; }

  // For programs with many streams that share memory: whether every byte has been returned in a message, and
  // whether there is memory.
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  [[nodiscard]] bool has_memory() const noexcept { return !buffer_.empty(); }
  // Exchanges the memory of an empty stream, whose messages become invalid.
  void exchange(std::vector<std::byte>& memory) noexcept {
    buffer_.swap(memory);
    begin_ = end_ = 0;
  }

 private:
  static constexpr std::size_t kLeastRoom = 4096;

  std::size_t longest_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of the unread bytes in buffer_
};

}  // namespace runnel::pipeline
