// One connection, with or without TLS. Included only by what links OpenSSL.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "services/net/tls/tls_identity.h"

namespace runnel::net {

// Not thread-safe; never waits, except in wait().
class Channel {
 public:
  // Owns the socket, and makes it non-blocking.
  explicit Channel(int socket);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // What follows is TLS, of which nothing has been read yet.
  void secure(const TlsIdentity& identity);
  enum class Greeting : std::uint8_t { done, again, failed };
  // The next part of the handshake of TLS; done at once without it.
  Greeting greet() noexcept;
  static constexpr long kAgain = 0, kOver = -1;
  // Bytes; kAgain: none now; kOver: nothing more will come.
  long read(char* to, std::size_t size) noexcept;
  // kOver: the connection is over.
  long write(const char* from, std::size_t size) noexcept;
  // Whether read() has bytes that poll() does not know of.
  [[nodiscard]] bool has_pending() const noexcept;
  // Waits until it is readable, or writable.
  bool wait(bool writable, std::chrono::milliseconds patience) const noexcept;
  // What poll() must wait for besides what the caller wants.
  [[nodiscard]] short also() const noexcept { return also_; }
  [[nodiscard]] int socket() const noexcept { return socket_; }
  // Whether it broke: with TLS, an end that the other side has not announced is a break, too.
  [[nodiscard]] bool is_broken() const noexcept { return broken_; }
  // Tells the other side that nothing follows.
  void finish() noexcept;

 private:
  long result_of(int done) noexcept;

  int socket_;
  TlsConnection tls_;
  short also_ = 0;
  bool broken_ = false;
};

}  // namespace runnel::net
