// What a server of streams has for browsers and programs over HTTP: its page, its metrics, streams over
// WebSocket.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "services/net/address.h"
#include "services/serve/server.h"

namespace runnel::serve {

// In threads of its own, until destroyed:
//     GET /          the page
//     GET /metrics   as metrics_page.h
//     GET /socket    WebSocket: the server's streams as JSON, for the page
//     GET /stream    WebSocket: one stream (docs/serve.md); it becomes a client of the server's own address,
//     so
//                    that all of its limits and its back-pressure apply
class WebPage {
 public:
  struct Options {
    net::Address address;
    std::string token{};                       // if not empty, it is required
    std::string tls_certificate{}, tls_key{};  // PEM files; empty: HTTP
    int most_streams = 64;                     // over WebSocket at a time: each has a thread
  };
  // `server` outlives the page. Errors as in services/net/http_server.h.
  static Result<std::unique_ptr<WebPage>> start(const Options& options, const Server& server);
  virtual ~WebPage() = default;
  // "http://IP:PORT", or with https.
  [[nodiscard]] virtual std::string origin() const = 0;
};

}  // namespace runnel::serve
