// One connection of the HTTP server, with or without TLS. Included only by what links OpenSSL.
#pragma once

#include <openssl/ssl.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/status.h"

namespace runnel::net {

struct FreeTls {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(SSL* tls) const noexcept { SSL_free(tls); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;

// From PEM files. Errors: not_found, invalid_data; each names the file and what is wrong.
Result<TlsContext> make_tls(const std::string& certificate, const std::string& key);

// Not thread-safe; never waits, except in wait() and greet().
class Channel {
 public:
  // Owns the socket. `tls` may be null; it outlives the channel.
  Channel(int socket, SSL_CTX* tls);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // The handshake of TLS; true at once without it. False: it failed, or took too long.
  bool greet(std::chrono::milliseconds patience);
  static constexpr long kAgain = 0, kOver = -1;
  // Bytes; kAgain: none now; kOver: the connection is over.
  long read(char* to, std::size_t size) noexcept;
  long write(const char* from, std::size_t size) noexcept;
  // Whether read() has bytes that poll() does not know of.
  [[nodiscard]] bool has_pending() const noexcept;
  // Waits until it is readable, or writable.
  bool wait(bool writable, std::chrono::milliseconds patience) const noexcept;
  // What poll() must wait for besides what the caller wants.
  [[nodiscard]] short also() const noexcept { return also_; }
  [[nodiscard]] int socket() const noexcept { return socket_; }
  // Tells the other side that nothing follows.
  void finish() noexcept;

 private:
  long result_of(int done) noexcept;

  int socket_;
  std::unique_ptr<SSL, FreeTls> tls_;
  short also_ = 0;
  bool broken_ = false;
};

}  // namespace runnel::net
