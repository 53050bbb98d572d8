// The page of a running graph: a self-contained document that shows a stream of messages (feed.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "pipeline/host/graph.h"
#include "services/net/access/admission.h"
#include "services/net/access/tokens.h"
#include "services/net/address.h"
#include "services/net/tls/tls_files.h"

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
    // If there are some, one with the scope watch is required, and stream to speak.
    net::Tokens tokens{};
    net::TlsFiles tls{};                          // without a certificate: HTTP
    std::shared_ptr<net::Admission> admission{};  // limits by address; null: none
    std::vector<std::string> names{};             // further host names of the server
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
