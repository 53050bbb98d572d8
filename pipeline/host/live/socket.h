// Stream sockets by address: tcp:HOST:PORT and unix:PATH.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace runnel::pipeline {

struct SocketAddress {
  bool is_unix = false;
  std::string host, port;  // tcp
  std::string path;        // unix

  // "tcp:127.0.0.1:7000", "tcp:[::1]:7000", "unix:/run/x.sock"; without "tcp:", HOST:PORT. Error:
  // invalid_argument.
  static Result<SocketAddress> parse(std::string_view text);
};

// An open file descriptor; closes itself. Move only.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
  void close() noexcept;

 private:
  int number_ = -1;
};

// Connected, non-blocking. Waits up to `milliseconds`, or until the descriptor `cancel` (-1: none) is
// readable. Errors: io_error, not_found.
Result<Descriptor> connect_to(const SocketAddress& address, int milliseconds, int cancel = -1);
// Listening, non-blocking; a stale Unix socket at that path is replaced. Port 0: the system chooses one.
// Errors: io_error, not_found.
Result<Descriptor> listen_at(const SocketAddress& address);
// The address that it is bound to.
std::string local_address(const Descriptor& socket);
// Whether only this machine can connect to it: a Unix socket, or a loopback address.
bool is_own_machine(const Descriptor& listener);
// The address of the other end as a number, 192.0.2.7 or 2001:db8::7; "" where it has none.
std::string peer_host(const Descriptor& connection);

}  // namespace runnel::pipeline
