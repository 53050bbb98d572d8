#include "tests/apps/fleet/link.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace runnel::apps::test {
namespace {

sockaddr_in local(int port) {
  sockaddr_in out = {};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  return out;
}

void make_quick(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

// Two sockets, and what was read of each and not yet written to the other one.
struct Pair {
  int fds[2] = {-1, -1};
  std::string waiting[2];
  bool over = false;

  static constexpr std::size_t kMost = 1 << 20;
  [[nodiscard]] short wanted(int side) const {
    return static_cast<short>((waiting[side].size() < kMost ? POLLIN : 0) |
                              (waiting[1 - side].empty() ? 0 : POLLOUT));
  }
  // What can be done with one of them now.
  void work(int side, short events) {
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && waiting[side].size() < kMost) {
      char bytes[65536];
      const ssize_t count = ::recv(fds[side], bytes, sizeof bytes, 0);
      if (count > 0) waiting[side].append(bytes, static_cast<std::size_t>(count));
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) over = true;
    }
    std::string& out = waiting[1 - side];
    if (out.empty()) return;
    const ssize_t count = ::send(fds[side], out.data(), out.size(), MSG_NOSIGNAL);
    if (count > 0) out.erase(0, static_cast<std::size_t>(count));
    if (count < 0 && errno != EAGAIN && errno != EINTR) over = true;
  }
};

}  // namespace

Link::Link(int to) : to_(to), listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = local(0);
  socklen_t size = sizeof address;
  if (::bind(listening_, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(listening_, 16) == 0 &&
      ::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

Link::~Link() {
  ends_ = true;
  thread_.join();
  ::close(listening_);
}

void Link::run() {
  std::list<Pair> pairs;
  while (!ends_) {
    std::vector<pollfd> polled;
    if (!cut_) {
      polled.push_back({listening_, POLLIN, 0});
      for (const Pair& pair : pairs)
        for (int side = 0; side < 2; ++side) polled.push_back({pair.fds[side], pair.wanted(side), 0});
    }
    if (::poll(polled.data(), polled.size(), 20) <= 0 || cut_) continue;
    std::size_t at = 1;
    for (Pair& pair : pairs)
      for (int side = 0; side < 2; ++side, ++at)
        if (polled[at].revents != 0) pair.work(side, polled[at].revents);
    for (auto pair = pairs.begin(); pair != pairs.end();) {
      if (!pair->over) {
        ++pair;
        continue;
      }
      for (const int fd : pair->fds) ::close(fd);
      pair = pairs.erase(pair);
    }
    if ((polled[0].revents & POLLIN) == 0) continue;
    Pair fresh;
    fresh.fds[0] = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fresh.fds[0] < 0) continue;
    fresh.fds[1] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = local(to_);
    if (::connect(fresh.fds[1], reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      for (const int fd : fresh.fds) ::close(fd);
      continue;
    }
    for (const int fd : fresh.fds) make_quick(fd);
    pairs.push_back(std::move(fresh));
  }
  for (const Pair& pair : pairs)
    for (const int fd : pair.fds) ::close(fd);
}

}  // namespace runnel::apps::test
