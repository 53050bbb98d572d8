#include "tests/services/net/tls/tls_client.h"

#include <openssl/err.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <utility>

namespace runnel::net::test {

int connect_from(const Address& server, const std::string& from) {
  const int fd = ::socket(server.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const auto own = from.empty() ? Result<Address>(Address()) : Address::parse(from + ":0");
  if ((!from.empty() && bind(fd, reinterpret_cast<const sockaddr*>(&own->bytes), own->size) != 0) ||
      connect(fd, reinterpret_cast<const sockaddr*>(&server.bytes), server.size) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

TlsClient::TlsClient(const Address& server, const Wish& wish)
    : context_(SSL_CTX_new(TLS_client_method())), socket_(connect_from(server, wish.from)) {
  signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that are closed
  if (!wish.trusts.empty()) {
    SSL_CTX_load_verify_locations(context_.get(), wish.trusts.c_str(), nullptr);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  }
  if (!wish.own.certificate.empty()) {
    SSL_CTX_use_certificate_chain_file(context_.get(), wish.own.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context_.get(), wish.own.key.c_str(), SSL_FILETYPE_PEM);
  }
  if (wish.version != 0) {
    // Old versions are off in Debian's OpenSSL at its usual level.
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_min_proto_version(context_.get(), 0);
    SSL_CTX_set_max_proto_version(context_.get(), wish.version);
  }
  tls_.reset(SSL_new(context_.get()));
  SSL_set_fd(tls_.get(), socket_);
  open_ = socket_ >= 0 && SSL_connect(tls_.get()) == 1;
  ERR_clear_error();
}

TlsClient::~TlsClient() {
  tls_.reset();
  if (socket_ >= 0) close(socket_);
}

bool TlsClient::send(const std::string& bytes) {
  ERR_clear_error();
  return open_ && (bytes.empty() || SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0);
}

bool TlsClient::fill() {
  std::array<char, 16384> room{};
  ERR_clear_error();
  const int count = open_ ? SSL_read(tls_.get(), room.data(), static_cast<int>(room.size())) : -1;
  if (count > 0) {
    unread_.append(room.data(), static_cast<std::size_t>(count));
    return true;
  }
  ended_well_ = open_ && SSL_get_error(tls_.get(), count) == SSL_ERROR_ZERO_RETURN;
  return false;
}

std::string TlsClient::line() {
  std::size_t end = 0;
  while ((end = unread_.find('\n')) == std::string::npos) {
    if (!fill()) return {};
  }
  std::string text = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return text;
}

std::string TlsClient::rest() {
  while (fill()) {
  }
  return std::exchange(unread_, {});
}

void TlsClient::finish() {
  if (open_) SSL_shutdown(tls_.get());
}

}  // namespace runnel::net::test
