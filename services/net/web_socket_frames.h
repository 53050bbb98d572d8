// The frames of WebSocket connections (RFC 6455), as arithmetic on bytes without sockets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace runnel::net {

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

// Codes of RFC 6455, section 7.4.1.
enum CloseCode : std::uint16_t {
  kNormal = 1000,
  kGoingAway = 1001,
  kProtocolError = 1002,
  kNotAccepted = 1003,
  kBadText = 1007,
  kRefused = 1008,
  kTooLong = 1009
};

// Appends one whole frame. `mask`: null for a server's frames; a client's frames have four bytes of it.
void append_frame(std::string& out, Opcode opcode, std::string_view payload,
                  const std::array<std::uint8_t, 4>* mask = nullptr, bool last = true);
// The payload of a frame that closes.
std::string close_payload(std::uint16_t code, std::string_view reason);
// Whether it is well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

// Takes a client's bytes, cut anywhere, and gives messages: fragments are joined, and what comes between
// them (pings) is given at once. Its memory grows with the bytes that have arrived, never with an announced
// length. Not thread-safe.
class FrameReader {
 public:
  enum class Item : std::uint8_t { none, text, binary, ping, pong, close, wrong };

  // `longest`: most bytes of a message, all fragments together.
  explicit FrameReader(std::size_t longest) : longest_(longest) {}

  // Takes bytes off the front of `bytes` up to the end of the next item; none: all are taken. Nothing follows
  // `wrong`, nor `close`.
  Item next(std::span<const char>& bytes);
  // Of the item; valid until the next call. Of `close`: the reason.
  [[nodiscard]] std::string_view payload() const noexcept { return payload_; }
  // Of `close`: the client's code (1005: none). Of `wrong`: the code to close with, and a sentence.
  [[nodiscard]] std::uint16_t code() const noexcept { return code_; }
  [[nodiscard]] std::string_view fault() const noexcept { return fault_; }
  // Memory for messages, in bytes.
  [[nodiscard]] std::size_t memory() const noexcept { return message_.capacity() + control_.capacity(); }

 private:
  Item take_header(std::span<const char>& bytes);
  Item begin_frame();
  Item end_frame();
  Item end_close();
  Item wrong(std::uint16_t code, std::string_view fault) noexcept;

  std::size_t longest_;
  std::array<std::uint8_t, 14> header_{};
  std::size_t header_bytes_ = 0;  // of header_
  bool in_payload_ = false, over_ = false;
  bool fragmented_ = false;  // a message has begun, and its last frame has not
  Opcode opcode_ = Opcode::text, message_opcode_ = Opcode::text;
  bool last_ = true;
  std::uint64_t length_ = 0, taken_ = 0;  // of the frame's payload
  std::array<std::uint8_t, 4> mask_{};
  std::string message_, control_;
  bool message_given_ = false;
  std::string_view payload_, fault_;
  std::uint16_t code_ = 0;
};

}  // namespace runnel::net
