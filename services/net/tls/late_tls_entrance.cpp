// For programs that open OpenSSL when they need TLS.
#include <utility>

#include "base/host/late_library.h"
#include "services/net/tls/tls_entrance.h"

namespace runnel::net {

Result<std::unique_ptr<TlsEntrance>> TlsEntrance::start(Options options) {
  RUNNEL_ASSIGN(const auto* const module, open_module<decltype(TlsEntrance::start)>("tls", "TLS"));
  return module->function(std::move(options));
}

}  // namespace runnel::net
