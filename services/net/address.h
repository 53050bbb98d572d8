// Where a server listens.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace runnel::net {

// An IP address and a port.
struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  // "127.0.0.1:9000", "[::1]:9000", "localhost:9000" (127.0.0.1); port 0: any that is free. Error:
  // invalid_argument.
  static Result<Address> parse(std::string_view text);
  // Whether only this machine can reach it.
  [[nodiscard]] bool is_loopback() const noexcept;
  [[nodiscard]] std::string text() const;
};

// A socket that listens there, does not block and is closed when a program is started. `address` becomes what
// it was bound to. Error: io_error.
Result<int> listen_at(Address& address);

}  // namespace runnel::net
