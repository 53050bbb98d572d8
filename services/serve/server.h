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
#include "services/net/access/admission.h"
#include "services/net/access/inbox.h"
#include "services/net/access/tokens.h"
#include "services/net/address.h"
#include "services/net/tls/tls_entrance.h"
#include "services/net/tls/tls_files.h"
#include "services/serve/metrics.h"

namespace runnel::serve {

struct ServerOptions {
  using Milliseconds = std::chrono::milliseconds;

  std::string around;  // graph text between samples and events: "fbank ! infer model=a.rnl ! detect"
  pipeline::GraphOptions graph;  // models and operators; models must be usable from any thread
  net::Address address;
  net::Tokens tokens;   // required from clients: one with the scope stream. Without any, only loopback
                        // addresses are allowed
  net::TlsFiles tls{};  // without a certificate: no TLS
  std::shared_ptr<net::Admission> admission{};  // limits by address; null: none
  int max_streams = 256;                        // at a time, 1 .. 65536
  double most_load = 0.8;  // share of a thread's time that its streams may take when all send in real time;
                           // streams beyond it are refused; 0: no limit
  int max_others = 256;    // connections that are not streams (before the greeting, or ending); beyond
                           // that and max_streams, new clients wait until the oldest is a quarter of a second
                           // old and is closed
  int threads = 1;         // that process streams, 1 .. 32
  bool receive_together = true;  // with one call of the system for many clients, where the kernel can
  std::size_t longest_message = std::size_t{1} << 18;  // bytes
  std::size_t most_unsent =
      std::size_t{1} << 16;  // bytes of answers that a client has not taken, beyond which its stream waits
  Milliseconds gather{10};   // least time between the starts of two steps, so that many streams share one; a
                             // single packet never waits
  Milliseconds greeting{5000};  // to the whole first message
  Milliseconds idle{30000};     // without a byte from a client, or without progress in sending answers to it
  Milliseconds drain{10000};    // after stop(), to flush streams and send their answers
  Milliseconds linger{2000};    // after the last answer, for the client to close
};

class Loop;

// Not thread-safe, except for stop() and metrics().
class Server {
 public:
  // Checks the graph, binds and listens. Errors: those of Stream::make and of the files of TLS;
  // invalid_argument for an address that is not loopback without a token; io_error for one that cannot be
  // bound.
  static Result<std::unique_ptr<Server>> make(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The bound address, with its port.
  [[nodiscard]] const net::Address& address() const noexcept { return options_.address; }
  [[nodiscard]] const ServerOptions& options() const noexcept { return options_; }

  // Serves until stop(), then flushes every stream as at the end of a recording, sends the answers and
  // returns. Error: io_error when streams were cut off because `drain` had passed. Call once.
  Status run();
  // Callable from any thread or a signal handler.
  void stop() noexcept;

  // A client without an address of its own, whose token has been shown already: its end of a local socket,
  // which the caller owns. From any thread. Error: io_error.
  [[nodiscard]] Result<int> connect();
  // Reads the files of TLS again, for later clients; after an error everything stays as it is. The tokens are
  // a handle that the caller has as well.
  Status reload();

  [[nodiscard]] const Metrics& metrics() const noexcept { return metrics_; }
  // The final record, one line of JSON without newline.
  [[nodiscard]] std::string summary() const;

 private:
  explicit Server(ServerOptions options);
  void admit(net::Newcomer newcomer);
  Status listen();

  ServerOptions options_;
  Metrics metrics_;
  int listener_ = -1, wake_ = -1;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::unique_ptr<net::TlsEntrance> entrance_;  // destroyed before the loops, to which it gives clients
  double processor_before_ = 0;
};

}  // namespace runnel::serve
