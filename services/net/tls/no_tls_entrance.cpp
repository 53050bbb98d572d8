// For builds without OpenSSL.
#include "services/net/tls/tls_entrance.h"

namespace runnel::net {

Result<std::unique_ptr<TlsEntrance>> TlsEntrance::start(Options) {
  return Status(Code::unsupported, "this build has no TLS: it was made without cpp-httplib and OpenSSL");
}

}  // namespace runnel::net
