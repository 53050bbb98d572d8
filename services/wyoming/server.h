// The Wyoming protocol over TCP: Home Assistant and others ask for words, voices and texts
// (docs/smart-home.md).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/status.h"
#include "pipeline/host/graph.h"
#include "services/net/access/admission.h"
#include "services/net/address.h"
#include "services/net/tls/tls_files.h"

namespace runnel::wyoming {

struct ServerModel {
  std::string name;    // as clients call it
  std::string around;  // graph text between samples and events: "fbank ! infer model=a.rnl ! detect"
};

struct ServerOptions {
  using Milliseconds = std::chrono::milliseconds;

  std::vector<ServerModel> models;
  pipeline::GraphOptions graph;  // models and operators; models must be usable from any thread
  net::Address address;
  // Without certificates of clients, addresses that other machines can reach are refused unless `open`: the
  // protocol has no password.
  bool open = false;
  net::TlsFiles tls{};                          // without a certificate: no TLS
  std::shared_ptr<net::Admission> admission{};  // limits by address; null: none
  std::string language = "en";                  // of the models
  int max_clients = limits::kWyomingClients;    // at a time, 1 .. 1024; further ones get an error
  std::size_t longest_message = limits::kWyomingMessageBytes;  // bytes of sound in one message
  std::size_t most_unsent = limits::kUnsentBytes;  // bytes of answers that a client has not taken, beyond
                                                   // which nothing more is read from it
  Milliseconds idle{30000};   // without a byte from a client, or without progress in sending answers to it
  Milliseconds drain{10000};  // after stop(), to send answers
  Milliseconds linger{2000};  // after an error that ends the connection, for the client to close
};

// Not thread-safe, except for stop().
class Server {
 public:
  // Checks the graphs, binds and listens. Errors: those of Catalogue::make; invalid_argument for an address
  // that is not loopback; io_error for one that cannot be bound; those of the files of TLS.
  static Result<std::unique_ptr<Server>> make(ServerOptions options);
  virtual ~Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The bound address, with its port.
  [[nodiscard]] virtual const net::Address& address() const noexcept = 0;
  // Serves in this thread until stop(), then flushes all sound, sends the answers and returns. Call once.
  virtual Status run() = 0;
  // Callable from any thread or a signal handler.
  virtual void stop() noexcept = 0;
  // Reads the files of TLS again, for later clients; after an error everything stays as it is.
  virtual Status reload() = 0;
  // The final record, one line of JSON without newline; after run().
  [[nodiscard]] virtual std::string summary() const = 0;

 protected:
  Server() = default;
};

}  // namespace runnel::wyoming
