// The page of a running graph: a self-contained document that shows a stream of messages (feed.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/status.h"
#include "pipeline/host/graph.h"
#include "services/net/address.h"

namespace runnel::page {

// Serves in its own threads until destroyed; at most 50 readers at a time, which never block the graph:
//     GET /                     the page
//     GET /messages             server-sent events
//     GET /socket               the same as a WebSocket, which takes the sound of a microphone
//     (page_socket.h) GET /recordings/NUMBER    a file of a `record` of the graph, by the number in its
//     message
class LivePage {
 public:
  struct Options {
    net::Address address;
    std::string token{};                       // if not empty, it is required
    std::string tls_certificate{}, tls_key{};  // PEM files; empty: HTTP
  };
  // Errors as in services/net/http_server.h.
  static Result<std::unique_ptr<LivePage>> start(const Options& options);
  virtual ~LivePage() = default;

  // The address of the page, without the token.
  [[nodiscard]] virtual std::string url() const = 0;
  // Call with the graph that will run, built after add_watches(). The thread that runs it reports its steps
  // until the graph is destroyed.
  virtual void show(pipeline::Graph& graph) = 0;
};

}  // namespace runnel::page
