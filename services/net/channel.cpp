#include "services/net/channel.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace runnel::net {
namespace {

// Why a file was refused, as OpenSSL says it.
Status refused(const std::string& path, std::string_view what) {
  const unsigned long error = ERR_peek_last_error();
  const char* const reason = error != 0 ? ERR_reason_error_string(error) : nullptr;
  Status status(Code::invalid_data);
  status << path << ": not " << what << (reason != nullptr ? ": " : "") << (reason != nullptr ? reason : "");
  ERR_clear_error();
  return status;
}

Status check_readable(const std::string& path) {
  if (access(path.c_str(), R_OK) == 0) return {};
  return Status(Code::not_found) << path << ": cannot be read: " << std::strerror(errno);
}

}  // namespace

Result<TlsContext> make_tls(const std::string& certificate, const std::string& key) {
  RUNNEL_TRY(check_readable(certificate));
  RUNNEL_TRY(check_readable(key));
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return Status(Code::out_of_memory, "no memory for TLS");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  // A key with a passphrase is refused; the default would ask at the terminal.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1)
    return refused(certificate, "a certificate in PEM format");
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1)
    return refused(key, "a key in PEM format without a passphrase that belongs to " + certificate);
  if (SSL_CTX_check_private_key(context.get()) != 1) return refused(key, "the key of " + certificate);
  return context;
}

Channel::Channel(int socket, SSL_CTX* tls) : socket_(socket) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL, 0) | O_NONBLOCK);
  if (tls == nullptr) return;
  tls_.reset(SSL_new(tls));
  if (tls_ == nullptr || SSL_set_fd(tls_.get(), socket) != 1) {
    broken_ = true;
    return;
  }
  SSL_set_accept_state(tls_.get());
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

bool Channel::greet(std::chrono::milliseconds patience) {
  if (tls_ == nullptr) return !broken_;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!broken_) {
    ERR_clear_error();
    const int done = SSL_do_handshake(tls_.get());
    if (done == 1) {
      also_ = 0;
      return true;
    }
    if (result_of(done) == kOver) return false;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    wait(also_ == POLLOUT, left);
  }
  return false;
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
  return done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? kAgain : kOver;
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
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? kAgain : kOver;
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
