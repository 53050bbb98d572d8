// Who a server is, as TLS shows it. Included only by what links OpenSSL.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <mutex>
#include <utility>

#include "base/status.h"
#include "services/net/tls/tls_files.h"

namespace runnel::net {

struct FreeTls {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(SSL* tls) const noexcept { SSL_free(tls); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;
using TlsConnection = std::unique_ptr<SSL, FreeTls>;

// TLS 1.2 or newer, without renegotiation and early data. Thread-safe.
class TlsIdentity {
 public:
  // Reads the files. Errors: not_found; invalid_argument for a certificate without its key, or the other way
  // round; invalid_data, for what is not PEM, a key of another certificate, and a certificate that is not
  // valid now. Each names the file and what is wrong.
  static Result<std::unique_ptr<TlsIdentity>> read(const TlsFiles& files);

  // Reads them again, for connections that come later; after an error everything stays as it is.
  Status reload();
  // The server's side of a connection. Null: no memory.
  [[nodiscard]] TlsConnection begin() const;

 private:
  TlsIdentity(TlsFiles files, TlsContext context) : files_(std::move(files)), context_(std::move(context)) {}

  TlsFiles files_;
  mutable std::mutex mutex_;
  TlsContext context_;
};

}  // namespace runnel::net
