// The files of a server's TLS.
#pragma once

#include <string>

namespace runnel::net {

// PEM files. Empty `certificate`: no TLS.
struct TlsFiles {
  std::string certificate;  // and what leads from it to its authority
  std::string key;          // without a passphrase
  std::string client_ca;    // if not empty, clients need a certificate of one of these authorities

  [[nodiscard]] bool empty() const noexcept {
    return certificate.empty() && key.empty() && client_ca.empty();
  }
};

}  // namespace runnel::net
