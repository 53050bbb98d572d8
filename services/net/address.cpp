#include "services/net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace runnel::net {

Result<Address> Address::parse(std::string_view text) {
  const auto wrong = [&] {
    return Status(Code::invalid_argument)
           << "address \"" << text << "\": expected IP:PORT, e.g. 127.0.0.1:9000 or [::1]:9000";
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string host(text.substr(0, colon));
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || digits.empty() || end != digits.data() + digits.size()) return wrong();
  if (host == "localhost") host = "127.0.0.1";
  Address address;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.bytes);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.bytes);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address.size = sizeof *v4;
    return address;
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']' &&
      inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address.size = sizeof *v6;
    return address;
  }
  return wrong();
}

bool Address::is_loopback() const noexcept {
  if (bytes.ss_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in*>(&bytes)->sin_addr.s_addr) >> 24 == 127;
  return bytes.ss_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&bytes)->sin6_addr);
}

std::string Address::text() const {
  char host[INET6_ADDRSTRLEN] = "";
  if (bytes.ss_family == AF_INET6) {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(&bytes);
    inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
    return "[" + std::string(host) + "]:" + std::to_string(ntohs(v6->sin6_port));
  }
  const auto* const v4 = reinterpret_cast<const sockaddr_in*>(&bytes);
  inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
  return std::string(host) + ":" + std::to_string(ntohs(v4->sin_port));
}

Result<int> listen_at(Address& address) {
  const auto failed = [&](std::string_view what) {
    return Status(Code::io_error) << address.text() << ": " << what << ": " << std::strerror(errno);
  };
  const int fd = socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed("no socket");
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  Status status;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0)
    status = failed("cannot listen there");
  else if (listen(fd, 1024) != 0)
    status = failed("cannot listen");
  else if (getsockname(fd, reinterpret_cast<sockaddr*>(&address.bytes), &address.size) != 0)
    status = failed("cannot read the port");
  if (status.ok()) return fd;
  close(fd);
  return status;
}

}  // namespace runnel::net
