// What a program does with the WebSocket connections of an HTTP server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "services/net/access/tokens.h"

namespace runnel::net {

// What goes to the client of a connection; used by its thread only.
class SocketOut {
 public:
  // A message of well-formed UTF-8.
  virtual void text(std::string_view message) = 0;
  // Ends the connection after what has been sent. `code`: of web_socket_frames.h; `reason`: at most 123 bytes
  // of it are sent.
  virtual void close(std::uint16_t code, std::string_view reason) = 0;
  // Bytes that the client has not taken yet: with many, send less or later.
  [[nodiscard]] virtual std::size_t unsent() const noexcept = 0;

 protected:
  ~SocketOut() = default;
};

// The program's side of one connection. All functions are called by the connection's thread, and must not
// wait; another thread makes the descriptor ready when there is something to send.
class SocketPeer {
 public:
  virtual ~SocketPeer() = default;

  // As for poll(): -1 and 0 for none.
  struct Interest {
    int descriptor = -1;
    short events = 0;
  };
  [[nodiscard]] virtual Interest interest() const = 0;
  // Whether heard() may be called. While it may not, the client is not read: TCP slows it down.
  [[nodiscard]] virtual bool takes_messages() const { return true; }
  // A whole message, valid during the call.
  virtual void heard(bool is_text, std::string_view message, SocketOut& out) = 0;
  // Called at the start, when the descriptor is ready, after messages, and when the client has taken what was
  // unsent; four times a second at least.
  virtual void work(SocketOut& out) = 0;
};

struct SocketRoute {
  std::string path;  // exactly
  // Called by several threads, with what the client may do. Null with a sentence in `refusal`: answered with
  // status 503.
  std::function<std::unique_ptr<SocketPeer>(Scopes scopes, std::string& refusal)> open;
  Scope scope = Scope::watch;                                 // that it takes
  std::size_t longest_message = limits::kSocketMessageBytes;  // bytes
  // A client that is not heard for this time, pings included, is gone; it is asked after a third of it. So is
  // one that takes nothing of what is unsent.
  std::chrono::milliseconds idle{15000};
};

}  // namespace runnel::net
