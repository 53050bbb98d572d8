// A client of WebSockets that can also break the rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/net/web_socket_frames.h"

namespace runnel::net::test {

// One connection to 127.0.0.1; failures of the system are failures of the test.
class SocketClient {
 public:
  struct Message {
    Opcode opcode = Opcode::text;
    std::string payload;
    // Of a closing frame.
    [[nodiscard]] int code() const {
      return payload.size() < 2 ? 1005
                                : static_cast<int>(static_cast<std::uint8_t>(payload[0]) << 8U |
                                                   static_cast<std::uint8_t>(payload[1]));
    }
  };

  // Asks for the path with these further header lines, and reads the answer's head.
  SocketClient(int port, std::string_view path, std::string_view headers = {}, int receive_buffer = 0);
  ~SocketClient();
  SocketClient(const SocketClient&) = delete;
  SocketClient& operator=(const SocketClient&) = delete;

  // 101: it is a WebSocket now.
  [[nodiscard]] int status() const noexcept { return status_; }
  // Of the answer, and the body where it was refused.
  [[nodiscard]] const std::string& head() const noexcept { return head_; }

  // False when the server has closed.
  bool send(Opcode opcode, std::string_view payload, bool last = true);
  bool text(std::string_view payload) { return send(Opcode::text, payload); }
  bool binary(std::string_view payload) { return send(Opcode::binary, payload); }
  bool send_bytes(std::string_view bytes);
  // The next message; pings are answered unless `deaf`. None: the connection is over, or nothing came in
  // time.
  std::optional<Message> next(std::chrono::milliseconds patience = std::chrono::seconds(20));
  void be_deaf() { deaf_ = true; }
  // Whether the server ends the connection within this time; what it sends before is dropped.
  bool is_closed_within(std::chrono::milliseconds patience);

 private:
  bool fill(std::chrono::steady_clock::time_point end);

  int fd_ = -1, status_ = 0;
  bool deaf_ = false, over_ = false;
  std::string head_, unread_;
};

}  // namespace runnel::net::test
