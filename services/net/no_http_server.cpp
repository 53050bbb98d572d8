// In builds without cpp-httplib.
#include "services/net/http_server.h"

namespace runnel::net {

Result<std::unique_ptr<HttpServer>> HttpServer::start(const Options&, std::vector<HttpRoute>,
                                                      std::vector<SocketRoute>) {
  return Status(Code::unsupported,
                "this program was built without cpp-httplib (Debian package libcpp-httplib-dev): it has no "
                "pages over HTTP");
}

}  // namespace runnel::net
