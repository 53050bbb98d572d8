// For programs that open cpp-httplib when they start a server.
#include <utility>

#include "base/host/late_library.h"
#include "services/net/http_server.h"

namespace runnel::net {

Result<std::unique_ptr<HttpServer>> HttpServer::start(const Options& options, std::vector<HttpRoute> routes,
                                                      std::vector<SocketRoute> sockets) {
  RUNNEL_ASSIGN(const auto* const module,
                open_module<decltype(HttpServer::start)>("http", "pages over HTTP"));
  return module->function(options, std::move(routes), std::move(sockets));
}

}  // namespace runnel::net
