// What a server of streams has for browsers and programs over HTTP: its page, its metrics, streams over
// WebSocket.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "services/net/address.h"
#include "services/serve/server.h"

namespace runnel::serve {

// In threads of its own, until destroyed:
//     GET /          the page
//     GET /metrics   as metrics_page.h
//     GET /socket    WebSocket: the server's streams as JSON, for the page
//     GET /stream    WebSocket: one stream (docs/serve.md); it becomes a client of the server like others, so
//                    that all of its limits and its back-pressure apply
//     POST /drain    ends the server as SIGTERM does; POST /reload reads files again, as SIGHUP does
class WebPage {
 public:
  struct Options {
    net::Address address;
    net::Tokens tokens{};                         // if there are some, one with the right scope is required
    net::TlsFiles tls{};                          // without a certificate: HTTP
    std::shared_ptr<net::Admission> admission{};  // limits by address; null: none
    std::vector<std::string> names{};             // further host names of the server
    int most_streams = 64;                        // over WebSocket at a time: each has a thread
    // What those who may manage can ask for, called by threads of the page; null: nothing.
    std::function<void()> drain{};
    std::function<Status()> reload{};
  };
  // `server` outlives the page. Errors as in services/net/http_server.h.
  static Result<std::unique_ptr<WebPage>> start(const Options& options, Server& server);
  virtual ~WebPage() = default;
  // "http://IP:PORT", or with https.
  [[nodiscard]] virtual std::string origin() const = 0;
  // Reads the files of TLS again.
  virtual Status reload() = 0;
};

}  // namespace runnel::serve
