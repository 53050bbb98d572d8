// Many streams over TCP, each with a session of its own, stepped together (docs/serve.md).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/host/graph.h"
#include "services/net/address.h"
#include "services/serve/metrics.h"

namespace runnel::serve {

struct ServerOptions {
  using Milliseconds = std::chrono::milliseconds;

  std::string around;  // graph text between samples and events: "fbank ! infer model=a.rnl ! detect"
  pipeline::GraphOptions graph;  // models and operators; models must be usable from any thread
  net::Address address;
  std::string
      token;  // that clients must show; empty: none. Without one only loopback addresses are listened at
  int max_streams = 256;  // at a time, 1 .. 65536
  int max_others = 256;   // connections that are no streams (not greeted yet, or on their way out); beyond
                          // that and max_streams, newcomers wait until the oldest was here for a quarter of a
                          // second, and it is closed
  int threads = 1;        // that process streams, 1 .. 32
  std::size_t longest_message = std::size_t{1} << 18;  // bytes
  std::size_t most_unsent =
      std::size_t{1} << 16;     // bytes of answers that a client has not taken, beyond which its stream waits
  Milliseconds gather{10};      // between the starts of two steps at least, so that many streams share one; a
                                // sole packet never waits
  Milliseconds greeting{5000};  // to the whole first message
  Milliseconds idle{
      30000};  // without a byte from a client, or without one to a client who has answers to take
  Milliseconds drain{10000};  // after stop(), for streams to be brought out and answers to be taken
  Milliseconds linger{2000};  // after the last answer, for the client to close
};

class Loop;

// Not thread-safe, except for stop() and metrics().
class Server {
 public:
  // Checks the graph, binds and listens. Errors: those of Stream::make; invalid_argument for an address that
  // others can reach without a token; io_error for one that cannot be had.
  static Result<std::unique_ptr<Server>> make(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // As it was bound, with its port.
  [[nodiscard]] const net::Address& address() const noexcept { return options_.address; }
  [[nodiscard]] const ServerOptions& options() const noexcept { return options_; }

  // Serves until stop(), then ends every stream as if its recording had ended, sends the answers and returns.
  // Error: io_error when streams were cut off because `drain` was over. Once.
  Status run();
  // From any thread or a signal handler.
  void stop() noexcept;

  [[nodiscard]] const Metrics& metrics() const noexcept { return metrics_; }
  // The record at the end, one line of JSON without newline.
  [[nodiscard]] std::string summary() const;

 private:
  explicit Server(ServerOptions options);

  ServerOptions options_;
  Metrics metrics_;
  int listener_ = -1, wake_ = -1;
  std::vector<std::unique_ptr<Loop>> loops_;
  double processor_before_ = 0;
};

}  // namespace runnel::serve
