// A client of TLS.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "services/net/address.h"
#include "services/net/tls/tls_files.h"

namespace runnel::net::test {

// One connection, whose calls wait for at most 20 seconds.
class TlsClient {
 public:
  struct Wish {
    std::string trusts{};  // the file of a certificate; empty: everything
    TlsFiles own{};        // its certificate; empty: none
    int version = 0;       // the newest one that it speaks; 0: any
    std::string from{};    // its address, e.g. 127.0.0.2; empty: any
  };
  TlsClient(const Address& server, const Wish& wish);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // Whether the handshake went well. With TLS 1.3 a server refuses a client's certificate after it.
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  // False: the connection is over.
  bool send(const std::string& bytes);
  // Up to and without the next line feed; "" at the end of the connection.
  std::string line();
  // All that comes to the end.
  std::string rest();
  // Nothing more will be sent, in the way of TLS.
  void finish();
  // Whether the end of the connection was announced.
  [[nodiscard]] bool ended_well() const noexcept { return ended_well_; }
  [[nodiscard]] int socket() const noexcept { return socket_; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
    void operator()(SSL* tls) const noexcept { SSL_free(tls); }
  };
  bool fill();

  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> tls_;
  int socket_ = -1;
  bool open_ = false, ended_well_ = false;
  std::string unread_;
};

// A plain connection from an address of this machine (127.0.0.2, ...), or -1; reads of it wait for at most 20
// seconds.
int connect_from(const Address& server, const std::string& from = "");

}  // namespace runnel::net::test
