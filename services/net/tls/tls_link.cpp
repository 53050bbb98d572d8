#include "services/net/tls/tls_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace runnel::net {
namespace {

bool is_for_now(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

TlsLink::~TlsLink() { ::close(local_); }

// From the client to the server.
bool TlsLink::carry_in(std::span<char> room, bool& moved) {
  while (true) {
    if (!inward_.empty()) {
      const ssize_t count = send(local_, inward_.data(), inward_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      // A server that takes nothing more may still have something to say.
      if (count < 0 && !is_for_now(errno)) {
        inward_.clear();
        return true;
      }
      if (count <= 0) return true;
      inward_.erase(0, static_cast<std::size_t>(count));
      moved = true;
      continue;
    }
    if (heard_all_) {
      if (!std::exchange(told_server_, true)) shutdown(local_, SHUT_WR);
      return true;
    }
    const long count = outside_->read(room.data(), room.size());
    if (count == Channel::kAgain) return true;
    if (count == Channel::kOver) {
      if (outside_->is_broken()) return false;
      heard_all_ = true;
      continue;
    }
    const auto size = static_cast<std::size_t>(count);
    const ssize_t sent = send(local_, room.data(), size, MSG_NOSIGNAL | MSG_DONTWAIT);
    const std::size_t taken = sent > 0 ? static_cast<std::size_t>(sent) : 0;
    if (sent >= 0 || is_for_now(errno)) inward_.assign(room.data() + taken, size - taken);
    moved = true;
    if (!inward_.empty()) return true;
  }
}

// From the server to the client.
bool TlsLink::carry_out(std::span<char> room, bool& moved) {
  while (true) {
    if (!outward_.empty()) {
      const long count = outside_->write(outward_.data(), outward_.size());
      if (count == Channel::kOver) return false;
      if (count == Channel::kAgain) return true;
      outward_.erase(0, static_cast<std::size_t>(count));
      moved = true;
      continue;
    }
    if (said_all_) {
      if (!std::exchange(told_client_, true)) outside_->finish();
      return true;
    }
    const ssize_t count = recv(local_, room.data(), room.size(), MSG_DONTWAIT);
    if (count < 0 && is_for_now(errno)) return true;
    if (count <= 0) {
      said_all_ = true;
      continue;
    }
    outward_.assign(room.data(), static_cast<std::size_t>(count));
    moved = true;
  }
}

bool TlsLink::carry(std::span<char> room, Time now) {
  bool moved = false;
  const bool goes_on = carry_in(room, moved) && carry_out(room, moved);
  if (moved || moved_ == Time{}) moved_ = now;
  return goes_on && !(told_client_ && heard_all_);
}

short TlsLink::outside_events() const noexcept {
  const bool reads = inward_.empty() && !heard_all_;
  const short wanted = outside_->also() != 0 && (reads || !outward_.empty()) ? outside_->also() : short{0};
  return static_cast<short>((reads ? POLLIN : 0) | (!outward_.empty() ? POLLOUT : 0) | wanted);
}

short TlsLink::local_events() const noexcept {
  return static_cast<short>((outward_.empty() && !said_all_ ? POLLIN : 0) | (!inward_.empty() ? POLLOUT : 0));
}

bool TlsLink::is_late(Time now) const noexcept { return said_all_ && now - moved_ > kLinger; }

}  // namespace runnel::net
