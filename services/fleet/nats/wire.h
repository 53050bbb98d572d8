// A connection to a NATS server, as far as a fleet needs it: messages out, and those of one inbox in. What
// implements it is a module (base/host/late_library.h), so that libnats is opened only when it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/fleet/exchange.h"

namespace runnel::fleet {

struct WireMessage {
  std::string subject, reply;
  Headers headers;
  int status =
      0;  // of the server instead of a message: 100 idle heartbeat or flow control, 503 nobody listens
  std::string description;
  std::vector<std::byte> data;
};

class Wire {
 public:
  struct Settings {
    std::string urls;         // "nats://127.0.0.1:4222", several with commas
    std::string name;         // of the client, for the server's lists
    std::string credentials;  // a file with JWT and seed; empty: none
    std::string nkey;         // a file with public key and seed, one a line; empty: none
    std::string user, password_file, token_file;
    std::string password, token;   // from the environment only: a command line can be read by others
    std::string certificates;      // authorities, a PEM file; empty: the system's. TLS is used where the URL
                                   // or this says so
    std::string certificate, key;  // of the client, PEM files; empty: none
    std::string server_name;       // in the servers' certificates; empty: the host of the URL
    std::string inbox;             // subjects of answers begin with it; empty: _INBOX
    int timeout = 5;               // s, to connect at the start
    // ms that messages gather in the system before they are read, all at once and by one thread:
    // for many small ones, each of which would wake three threads. 0: each is read as it comes
    int gather = 0;
  };
  virtual ~Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Takes messages, which it may move from. Called in a thread of the library.
  using Arrives = std::function<void(std::vector<WireMessage>& messages)>;

  // Connects, and from then on stays connected as far as it can. `arrives` gets every message for a subject
  // that starts with inbox() and "a.", in order: those that have gathered at once. Errors: invalid_argument;
  // io_error, which may be better later; mismatch for a user whom the server does not know, unsupported for
  // TLS that fails.
  virtual Status open(const Settings& settings, Arrives arrives) = 0;
  // Subjects that come back here start with it; it ends with a dot.
  [[nodiscard]] virtual std::string_view inbox() const noexcept = 0;
  // Connections so far: a higher number than before says that what was under way may be lost.
  [[nodiscard]] virtual std::uint64_t connections() const noexcept = 0;
  [[nodiscard]] virtual bool connected() const noexcept = 0;
  // It will never be connected again: the server refuses this user now. A new Wire may.
  [[nodiscard]] virtual bool closed() const noexcept = 0;
  // What the server said since the last call about what it did not accept, for instance the subject that
  // this user may not publish to; "" if nothing.
  virtual std::string take_complaint() = 0;
  // Messages for inbox() and these tokens come, too. Each such subject is asked for by itself: servers give
  // the messages of a log only to a subject that somebody listens to by its whole name. Error: io_error.
  virtual Status listen(std::string_view tokens) = 0;
  virtual void unlisten(std::string_view tokens) noexcept = 0;
  // Error: io_error when it cannot be sent now.
  virtual Status publish(std::string_view subject, std::string_view reply, const Headers& headers,
                         std::string_view data) = 0;
  // Sends what waits, at most so many milliseconds.
  virtual void flush(int milliseconds) = 0;

 protected:
  Wire() = default;
};

// Error: not_found where runnel was built or installed without NATS.
Result<std::unique_ptr<Wire>> make_wire();

}  // namespace runnel::fleet
