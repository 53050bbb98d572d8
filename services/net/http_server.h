// A small HTTP server with its own threads, for status pages and their WebSockets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "services/net/address.h"
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
};

// Serves until destroyed. Access from other machines requires a token; without one, requests with another
// host name are refused (against DNS rebinding). A WebSocket is opened only for pages of this server itself
// (the request's Origin), and for programs, which name none.
class HttpServer {
 public:
  struct Options {
    Address address;      // port 0: any free port
    std::string token{};  // empty: none
    int threads = 1;      // that serve requests; a long request or a WebSocket occupies one of them
    std::string tls_certificate{}, tls_key{};  // PEM files; empty: no TLS
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
};

}  // namespace runnel::net
