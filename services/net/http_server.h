// A small HTTP server with its own threads, for status pages and their WebSockets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "services/net/access/admission.h"
#include "services/net/access/tokens.h"
#include "services/net/address.h"
#include "services/net/tls/tls_files.h"
#include "services/net/web_socket.h"

namespace runnel::net {

// The answer to a GET request. Either `body` is all of it, or `next` gives it in pieces.
struct HttpReply {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string type = "text/plain";  // of the body
  std::string body;
  // Sets the next piece, which may be empty; false: it was the last one. Called from the thread of the
  // request, until the reader leaves.
  std::function<bool(std::string& piece)> next;
  // Called once after the last piece, also when the reader has left.
  std::function<void()> ended;
};

// What a path answers; handlers are called from several threads.
struct HttpRoute {
  std::string path;                                                        // a regular expression
  std::function<HttpReply(const std::vector<std::string>& groups)> reply;  // groups[0]: the whole path
  Scope scope = Scope::watch;                                              // that it takes
  std::string method = "GET";                                              // or POST
};

// Serves until destroyed. Access from other machines requires a token. Requests with another host name are
// refused (against DNS rebinding), and so are those of other pages (the request's Origin); programs name
// none. A browser without a token is asked for it by a page, and keeps it in a cookie that pages cannot read.
class HttpServer {
 public:
  struct Options {
    Address address;  // port 0: any free port
    Tokens tokens{};  // none: everybody on this machine may do everything
    int threads = 1;  // that serve requests; a long request or a WebSocket occupies one of them
    TlsFiles tls{};   // without a certificate: no TLS
    std::shared_ptr<Admission> admission{};  // limits by address; null: none
    std::vector<std::string> names{};        // further host names of this server
  };
  // Errors: invalid_argument for an address that is not loopback without a token; io_error; unsupported in a
  // build without cpp-httplib; those of the files for TLS; not_found where the module with it is missing
  // (base/host/late_library.h).
  static Result<std::unique_ptr<HttpServer>> start(const Options& options, std::vector<HttpRoute> routes,
                                                   std::vector<SocketRoute> sockets);
  virtual ~HttpServer() = default;

  [[nodiscard]] virtual const Address& address() const noexcept = 0;
  // "http://IP:PORT", or "https://IP:PORT".
  [[nodiscard]] virtual std::string origin() const = 0;
  // Reads the files of TLS again (TlsIdentity::reload()).
  virtual Status reload() = 0;
};

}  // namespace runnel::net
