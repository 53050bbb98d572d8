// What child and parent say to each other: frames of a kind, a length and bytes, on a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::sandbox {

enum class Frame : std::uint32_t {
  locks = 1,  // child: which locks it has, as text
  want,       // child: the name of a file
  failed,     // child: a code and a sentence; the work has failed
  result,     // child: the bytes that the work returned
};

struct FrameHeader {
  std::uint32_t kind = 0, reserved = 0;
  std::uint64_t bytes = 0;
};

// Writes a frame completely; false when the other side is gone.
bool send_frame(int socket, Frame kind, std::span<const std::byte> bytes) noexcept;
bool send_frame(int socket, Frame kind, std::string_view text) noexcept;

// A failure as the bytes of a frame, and back: anything else than such bytes is a failure as well.
std::string packed(const Status& status);
Status unpacked(std::span<const std::byte> bytes);

// Sends an open file, or the reason why there is none, without waiting; false when the other side takes
// nothing. `file` is negative: `reason` is sent.
bool send_file(int socket, int file, std::string_view reason) noexcept;
// The other side of it: waits for a file. Error: io_error with the reason.
Result<int> receive_file(int socket);

// Takes frames out of what has arrived.
class FrameReader {
 public:
  // `most`: bytes of a frame; a longer one is a fault of the sender.
  explicit FrameReader(std::uint64_t most) : most_(most) {}

  void append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  // Whether a frame is complete, which is then in `kind` and `payload`.
  bool next(Frame& kind, std::vector<std::byte>& payload);
  [[nodiscard]] bool broken() const noexcept { return broken_; }

 private:
  std::uint64_t most_;
  std::vector<std::byte> bytes_;
  bool broken_ = false;
};

}  // namespace runnel::sandbox
