#include "services/net/tls/channel.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace runnel::net {

Channel::Channel(int socket) : socket_(socket) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL, 0) | O_NONBLOCK);
}

void Channel::secure(const TlsIdentity& identity) {
  tls_ = identity.begin();
  broken_ = tls_ == nullptr || SSL_set_fd(tls_.get(), socket_) != 1;
}

Channel::~Channel() {
  tls_.reset();
  ::close(socket_);
}

bool Channel::wait(bool writable, std::chrono::milliseconds patience) const noexcept {
  if (!writable && has_pending()) return true;
  pollfd wanted{socket_, static_cast<short>((writable ? POLLOUT : POLLIN) | also_), 0};
  return poll(&wanted, 1, static_cast<int>(std::clamp<std::int64_t>(patience.count(), 0, INT_MAX))) > 0;
}

Channel::Greeting Channel::greet() noexcept {
  if (broken_) return Greeting::failed;
  if (tls_ == nullptr) return Greeting::done;
  ERR_clear_error();
  const int done = SSL_do_handshake(tls_.get());
  if (done == 1) {
    also_ = 0;
    return Greeting::done;
  }
  return result_of(done) == kOver ? Greeting::failed : Greeting::again;
}

long Channel::result_of(int done) noexcept {
  also_ = 0;
  if (done > 0) return done;
  switch (SSL_get_error(tls_.get(), done)) {
    case SSL_ERROR_WANT_READ:
      return kAgain;
    case SSL_ERROR_WANT_WRITE:
      also_ = POLLOUT;
      return kAgain;
    case SSL_ERROR_ZERO_RETURN:
      return kOver;  // announced: answers can still be sent
    default:
      ERR_clear_error();
      broken_ = true;
      return kOver;
  }
}

long Channel::read(char* to, std::size_t size) noexcept {
  if (broken_) return kOver;
  if (tls_ != nullptr) {
    ERR_clear_error();
    return result_of(SSL_read(tls_.get(), to, static_cast<int>(std::min<std::size_t>(size, 1U << 20U))));
  }
  const ssize_t done = recv(socket_, to, size, 0);
  if (done > 0) return done;
  if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return kAgain;
  broken_ = done < 0;
  return kOver;
}

long Channel::write(const char* from, std::size_t size) noexcept {
  if (broken_) return kOver;
  if (size == 0) return kAgain;
  if (tls_ != nullptr) {
    ERR_clear_error();
    return result_of(SSL_write(tls_.get(), from, static_cast<int>(std::min<std::size_t>(size, 1U << 20U))));
  }
  const ssize_t done = send(socket_, from, size, MSG_NOSIGNAL);
  if (done >= 0) return done;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return kAgain;
  broken_ = true;
  return kOver;
}

bool Channel::has_pending() const noexcept { return tls_ != nullptr && SSL_pending(tls_.get()) > 0; }

void Channel::finish() noexcept {
  if (tls_ != nullptr && !broken_) {
    ERR_clear_error();
    SSL_shutdown(tls_.get());
    ERR_clear_error();
  }
  shutdown(socket_, SHUT_WR);
}

}  // namespace runnel::net
