#include "services/net/web_socket_frames.h"

#include <algorithm>

namespace runnel::net {
namespace {

constexpr std::uint8_t kLast = 0x80, kReserved = 0x70, kMasked = 0x80;
constexpr std::size_t kLongestControl = 125;

constexpr bool is_control(Opcode opcode) noexcept { return static_cast<std::uint8_t>(opcode) >= 8; }

// The bytes of a header whose first two are these.
constexpr std::size_t header_size(std::uint8_t second) noexcept {
  const int length = second & 0x7f;
  return 2U + (length == 126 ? 2U : length == 127 ? 8U : 0U) + ((second & kMasked) != 0 ? 4U : 0U);
}

}  // namespace

void append_frame(std::string& out, Opcode opcode, std::string_view payload,
                  const std::array<std::uint8_t, 4>* mask, bool last) {
  const std::uint64_t size = payload.size();
  const std::uint8_t masked = mask != nullptr ? kMasked : 0;
  out += static_cast<char>((last ? kLast : 0) | static_cast<std::uint8_t>(opcode));
  const auto append_length = [&](int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xff);
  };
  if (size < 126) {
    out += static_cast<char>(masked | size);
  } else if (size < 1U << 16U) {
    out += static_cast<char>(masked | 126);
    append_length(2);
  } else {
    out += static_cast<char>(masked | 127);
    append_length(8);
  }
  if (mask == nullptr) {
    out += payload;
    return;
  }
  for (const std::uint8_t byte : *mask) out += static_cast<char>(byte);
  for (std::size_t i = 0; i < payload.size(); ++i)
    out += static_cast<char>(static_cast<std::uint8_t>(payload[i]) ^ (*mask)[i % 4]);
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  // A character must not be cut.
  std::size_t size = std::min(reason.size(), kLongestControl - 2);
  while (size < reason.size() && size > 0 && (static_cast<std::uint8_t>(reason[size]) & 0xc0) == 0x80) --size;
  return payload += reason.substr(0, size);
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) {
      return at + i < text.size() ? static_cast<std::uint8_t>(text[at + i]) : std::uint8_t{0};
    };
    const std::uint8_t first = byte(0);
    if (first < 0x80) {
      ++at;
      continue;
    }
    const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4) return false;
    for (std::size_t i = 1; i <= more; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return false;
    }
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
        (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))
      return false;
    at += more + 1;
  }
  return true;
}

FrameReader::Item FrameReader::wrong(std::uint16_t code, std::string_view fault) noexcept {
  over_ = true;
  code_ = code;
  fault_ = fault;
  return Item::wrong;
}

FrameReader::Item FrameReader::next(std::span<const char>& bytes) {
  if (message_given_) message_.clear();
  message_given_ = false;
  payload_ = {};
  while (!over_) {
    if (!in_payload_) {
      if (const Item item = take_header(bytes); item != Item::none) return item;
      if (!in_payload_) return Item::none;
    }
    std::string& to = is_control(opcode_) ? control_ : message_;
    const std::size_t count =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), length_ - taken_));
    const std::size_t start = to.size();
    to.append(bytes.data(), count);
    for (std::size_t i = 0; i < count; ++i)
      to[start + i] = static_cast<char>(static_cast<std::uint8_t>(to[start + i]) ^ mask_[(taken_ + i) & 3U]);
    taken_ += count;
    bytes = bytes.subspan(count);
    if (taken_ < length_) return Item::none;
    in_payload_ = false;
    header_bytes_ = 0;
    if (const Item item = end_frame(); item != Item::none) return item;
  }
  bytes = {};
  return Item::none;
}

// Collects the bytes of a header; in_payload_ is set when it is whole.
FrameReader::Item FrameReader::take_header(std::span<const char>& bytes) {
  while (!bytes.empty()) {
    header_[header_bytes_++] = static_cast<std::uint8_t>(bytes.front());
    bytes = bytes.subspan(1);
    if (header_bytes_ >= 2 && header_bytes_ == header_size(header_[1])) return begin_frame();
  }
  return Item::none;
}

FrameReader::Item FrameReader::begin_frame() {
  const std::uint8_t first = header_[0], second = header_[1];
  const int number = first & 0x0f;
  if ((first & kReserved) != 0)
    return wrong(kProtocolError, "a reserved bit is set: no extension was agreed on");
  if ((number > 2 && number < 8) || number > 10)
    return wrong(kProtocolError, "an opcode that does not exist");
  if ((second & kMasked) == 0) return wrong(kProtocolError, "a client's frame without a mask");
  opcode_ = static_cast<Opcode>(number);
  last_ = (first & kLast) != 0;
  length_ = second & 0x7f;
  const std::size_t wide = length_ == 126 ? 2 : length_ == 127 ? 8 : 0;
  if (wide > 0) {
    length_ = 0;
    for (std::size_t i = 0; i < wide; ++i) length_ = length_ << 8U | header_[2 + i];
    if (length_ < (wide == 2 ? 126U : 1U << 16U))
      return wrong(kProtocolError, "a length in more bytes than it needs");
    if (length_ >> 63U != 0) return wrong(kProtocolError, "a length with its highest bit set");
  }
  std::copy_n(header_.begin() + 2 + static_cast<std::ptrdiff_t>(wide), 4, mask_.begin());
  if (is_control(opcode_)) {
    if (!last_) return wrong(kProtocolError, "a control frame in fragments");
    if (length_ > kLongestControl) return wrong(kProtocolError, "a control frame of more than 125 bytes");
    control_.clear();
  } else {
    if ((opcode_ == Opcode::continuation) != fragmented_)
      return wrong(kProtocolError, fragmented_ ? "a new message within the fragments of another one"
                                               : "a fragment without the beginning of its message");
    // Refused when it is announced, before memory is taken.
    if (length_ > longest_ - message_.size()) return wrong(kTooLong, "the message is too long");
    if (!fragmented_) message_opcode_ = opcode_;
    fragmented_ = true;
  }
  taken_ = 0;
  in_payload_ = true;
  return Item::none;
}

FrameReader::Item FrameReader::end_frame() {
  if (is_control(opcode_)) {
    payload_ = control_;
    if (opcode_ == Opcode::close) return end_close();
    return opcode_ == Opcode::ping ? Item::ping : Item::pong;
  }
  if (!last_) return Item::none;
  fragmented_ = false;
  message_given_ = true;
  payload_ = message_;
  if (message_opcode_ == Opcode::binary) return Item::binary;
  if (!is_utf8(message_)) return wrong(kBadText, "a text that is not UTF-8");
  return Item::text;
}

FrameReader::Item FrameReader::end_close() {
  over_ = true;
  code_ = 1005;
  if (control_.empty()) return Item::close;
  if (control_.size() < 2) return wrong(kProtocolError, "a closing frame with half a code");
  code_ = static_cast<std::uint16_t>(static_cast<std::uint8_t>(control_[0]) << 8U |
                                     static_cast<std::uint8_t>(control_[1]));
  const bool exists = (code_ >= 1000 && code_ <= 1014 && code_ != 1004 && code_ != 1005 && code_ != 1006) ||
                      (code_ >= 3000 && code_ <= 4999);
  if (!exists) return wrong(kProtocolError, "a closing frame with a code that must not be sent");
  payload_ = std::string_view(control_).substr(2);
  if (!is_utf8(payload_)) return wrong(kBadText, "a reason that is not UTF-8");
  return Item::close;
}

}  // namespace runnel::net
