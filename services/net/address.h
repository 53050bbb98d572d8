// The address that a server listens on.
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

  // "127.0.0.1:9000", "[::1]:9000", "localhost:9000" (127.0.0.1); port 0: any free port. Error:
  // invalid_argument.
  static Result<Address> parse(std::string_view text);
  // Whether it is a loopback address.
  [[nodiscard]] bool is_loopback() const noexcept;
  [[nodiscard]] std::string text() const;
};

// A listening, non-blocking, close-on-exec socket. `address` is set to the bound address. Error: io_error.
Result<int> listen_at(Address& address);

}  // namespace runnel::net
