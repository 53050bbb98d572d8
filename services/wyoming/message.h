// Messages of the Wyoming protocol: a line of JSON, perhaps more JSON, perhaps bytes (docs/smart-home.md).
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::wyoming {

struct Message {
  std::string type;
  nlohmann::json data =
      nlohmann::json::object();        // of the line, and on top of it that which follows the line
  std::span<const std::byte> payload;  // valid until the next call of MessageReader::next()
};

struct MessageLimits {
  std::size_t line = 8192;                     // bytes, without the line feed
  std::size_t data = std::size_t{1} << 16;     // bytes that follow the line as JSON
  std::size_t payload = std::size_t{1} << 18;  // bytes
};

// Takes messages out of the bytes of a connection. Memory grows with what has arrived, never with what was
// announced. Not thread-safe.
class MessageReader {
 public:
  explicit MessageReader(const MessageLimits& limits = {}) : limits_(limits) {}

  // Where the next bytes may be written, at least one; valid until the next call. Ends the payload of the
  // last message.
  std::span<std::byte> room();
  // So many of them were written.
  void add(std::size_t count) { filled_ += count; }

  // True: `message` is the next one. False: bytes are missing. Errors: invalid_data, after which the
  // connection is of no use any more; they name the part, what was expected and found.
  Result<bool> next(Message& message);
  // Whether bytes of an incomplete message are there.
  [[nodiscard]] bool empty() const noexcept { return at_ == filled_ && !has_line_; }

 private:
  Result<bool> read_line();
  Status parse_line(std::string_view line);
  Status merge_data(std::string_view text);
  [[nodiscard]] std::size_t arrived() const noexcept { return filled_ - at_; }

  MessageLimits limits_;
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0, filled_ = 0;  // of bytes_: the first that is not used yet, and one past the last
  std::size_t searched_ = 0;         // bytes from at_ without a line feed
  Message pending_;                  // whose line has been read
  std::size_t data_length_ = 0, payload_length_ = 0;
  bool has_line_ = false;
};

// A message as bytes; `data`: a JSON object as text, "{}" for none.
std::string message_text(std::string_view type, const nlohmann::json& data = nlohmann::json::object());

}  // namespace runnel::wyoming
