#include "pipeline/host/live/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace runnel::pipeline {
namespace {

constexpr int kBacklog = 16;

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

std::string shown(const SocketAddress& address) {
  return address.is_unix ? "unix:" + address.path : "tcp:" + address.host + ":" + address.port;
}

Status refused(const SocketAddress& address, const char* what, int error) {
  return Status(error == ENOENT ? Code::not_found : Code::io_error)
         << shown(address) << ": cannot " << what << ": " << std::strerror(error);
}

Result<Addresses> look_up(const SocketAddress& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                                    address.port.c_str(), &hints, &list);
      error != 0) {
    return Status(Code::not_found) << shown(address) << ": " << gai_strerror(error);
  }
  return Addresses(list);
}

sockaddr_un unix_address(const SocketAddress& address) {
  sockaddr_un result{};
  result.sun_family = AF_UNIX;
  address.path.copy(result.sun_path, sizeof result.sun_path - 1);
  return result;
}

// 0 or an errno.
int finish_connecting(int socket, int milliseconds, int cancel) {
  pollfd polled[2] = {{socket, POLLOUT, 0}, {cancel, POLLIN, 0}};
  const int ready = poll(polled, 2, milliseconds);
  if (ready < 0) return errno;
  if (ready == 0) return ETIMEDOUT;
  if (polled[1].revents != 0) return ECANCELED;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ? errno : error;
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

void Descriptor::close() noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Result<SocketAddress> SocketAddress::parse(std::string_view text) {
  SocketAddress address;
  std::string_view rest = text;
  if (rest.starts_with("unix:")) {
    address.is_unix = true;
    address.path = rest.substr(5);
    if (address.path.empty() || address.path.size() >= sizeof(sockaddr_un::sun_path)) {
      return Status(Code::invalid_argument) << text << ": expected unix:PATH with a path of 1 to "
                                            << sizeof(sockaddr_un::sun_path) - 1 << " bytes";
    }
    return address;
  }
  if (rest.starts_with("tcp:")) rest.remove_prefix(4);
  const std::size_t colon = rest.rfind(':');
  std::string_view host = rest.substr(0, colon == std::string_view::npos ? 0 : colon);
  const std::string_view port = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (port.empty() || host.empty() || (!bracketed && host.find(':') != std::string_view::npos)) {
    return Status(Code::invalid_argument)
           << text << ": expected tcp:HOST:PORT or unix:PATH, e.g. tcp:127.0.0.1:7000 or tcp:[::1]:7000";
  }
  address.host = host;
  address.port = port;
  return address;
}

Result<Descriptor> connect_to(const SocketAddress& address, int milliseconds, int cancel) {
  if (address.is_unix) {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un to = unix_address(address);
    if (!socket.is_open() || connect(socket.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      return refused(address, "connect", errno);
    return socket;
  }
  RUNNEL_ASSIGN(const Addresses list, look_up(address, 0));
  int error = EHOSTUNREACH;
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    Descriptor socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open()) {
      error = errno;
      continue;
    }
    error = connect(socket.number(), one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) error = finish_connecting(socket.number(), milliseconds, cancel);
    if (error == 0) {
      const int yes = 1;
      setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      return socket;
    }
    if (error == ECANCELED) break;
  }
  return refused(address, "connect", error);
}

Result<Descriptor> listen_at(const SocketAddress& address) {
  if (address.is_unix) {
    struct stat there {};
    if (lstat(address.path.c_str(), &there) == 0) {
      if (!S_ISSOCK(there.st_mode))
        return Status(Code::io_error) << shown(address) << ": there is something else of this name";
      unlink(address.path.c_str());
    }
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un at = unix_address(address);
    if (!socket.is_open() || bind(socket.number(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
        listen(socket.number(), kBacklog) != 0) {
      return refused(address, "listen", errno);
    }
    return socket;
  }
  RUNNEL_ASSIGN(const Addresses list, look_up(address, AI_PASSIVE));
  int error = EADDRNOTAVAIL;
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    Descriptor socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    if (socket.is_open()) setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (socket.is_open() && bind(socket.number(), one->ai_addr, one->ai_addrlen) == 0 &&
        listen(socket.number(), kBacklog) == 0)
      return socket;
    error = errno;
  }
  return refused(address, "listen", error);
}

std::string local_address(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  if (address.ss_family == AF_UNIX)
    return "unix:" + std::string(reinterpret_cast<const sockaddr_un*>(&address)->sun_path);
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  return address.ss_family == AF_INET6 ? "tcp:[" + std::string(host) + "]:" + port
                                       : "tcp:" + std::string(host) + ":" + port;
}

bool is_own_machine(const Descriptor& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.ss_family == AF_UNIX) return true;
  if (address.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr) != 0;
  constexpr std::uint32_t kLoopbackNet = 127;
  return address.ss_family == AF_INET &&
         ntohl(reinterpret_cast<const sockaddr_in*>(&address)->sin_addr.s_addr) >> 24 == kLoopbackNet;
}

std::string peer_host(const Descriptor& connection) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(connection.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  char host[NI_MAXHOST];
  if (address.ss_family == AF_UNIX || getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host,
                                                  sizeof host, nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  // A sender with an old address, at a socket that takes both kinds.
  constexpr std::string_view kMapped = "::ffff:";
  const std::string_view text = host;
  return std::string(text.starts_with(kMapped) ? text.substr(kMapped.size()) : text);
}

}  // namespace runnel::pipeline
