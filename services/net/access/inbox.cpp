#include "services/net/access/inbox.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace runnel::net {
namespace {

// What goes through the pipe, which writes it completely or not at all.
struct Item {
  int socket;
  bool trusted;
  ClientKey key;
};

}  // namespace

Inbox::~Inbox() {
  while (ends_[0] >= 0) {
    const auto newcomer = take();
    if (!newcomer) break;
    ::close(newcomer->socket);
  }
  for (const int end : ends_) {
    if (end >= 0) ::close(end);
  }
}

Status Inbox::open(std::shared_ptr<Admission> admission) {
  admission_ = std::move(admission);
  if (pipe2(ends_, O_NONBLOCK | O_CLOEXEC) == 0) return {};
  return Status(Code::io_error) << "no means to wait for clients: " << std::strerror(errno);
}

bool Inbox::put(Newcomer newcomer) noexcept {
  const Item item{newcomer.socket, newcomer.trusted, newcomer.place.key()};
  if (::write(ends_[1], &item, sizeof item) == sizeof item) {
    newcomer.place.release();
    return true;
  }
  ::close(newcomer.socket);
  return false;
}

std::optional<Newcomer> Inbox::take() noexcept {
  Item item{};
  if (::read(ends_[0], &item, sizeof item) != sizeof item) return std::nullopt;
  return Newcomer{item.socket, admission_ == nullptr ? Place() : Place(admission_, item.key), item.trusted};
}

}  // namespace runnel::net
