// The page of a running graph: one self-contained document, and a stream of messages (feed.h) that it shows.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/status.h"
#include "pipeline/host/graph.h"
#include "services/net/address.h"

namespace runnel::page {

// Answers in threads of its own until destroyed; at most 6 readers at a time, who never hold up the graph:
//     GET /                     the page
//     GET /messages             server-sent events
//     GET /recordings/NUMBER    sound that a `record` of the graph has kept, by the number in its message
class LivePage {
 public:
  // `token`, when not empty, must be shown (services/net/http_server.h). Errors: invalid_argument for
  // an address that others can reach without a token; io_error; unsupported in a build without cpp-httplib.
  static Result<std::unique_ptr<LivePage>> start(const net::Address& address, std::string token);
  virtual ~LivePage() = default;

  // Where to look at it, without the token.
  [[nodiscard]] virtual std::string url() const = 0;
  // The graph that is going to run, built from a text that add_watches() has seen. Its steps are told from
  // the thread that runs it, until the graph is destroyed.
  virtual void show(pipeline::Graph& graph) = 0;
};

}  // namespace runnel::page
