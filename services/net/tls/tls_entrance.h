// TLS in front of a server that speaks in the clear.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "services/net/access/admission.h"
#include "services/net/tls/tls_files.h"

namespace runnel::net {

// Does handshakes, which no client waits for but the one at hand, in a thread of its own; what is said
// afterwards it carries between each client and a local socket, whose other end the server gets, in another
// one. A client that is not read, or does not read, is held up as without TLS: nothing is buffered but a
// record of each direction. The end of the local socket ends the connection, and the other way round.
class TlsEntrance {
 public:
  struct Options {
    int listener = -1;  // owned; listens, and is non-blocking
    TlsFiles files;
    std::shared_ptr<Admission> admission;  // null: no limits by address
    std::string plain_answer;              // to who speaks no TLS
    // Called with the server's end of the local socket, non-blocking, which it owns from then on; must not
    // wait. Until the place is given up, the client counts.
    std::function<void(int socket, Place place)> enter;
  };
  // Errors: those of the files; unsupported in a build without OpenSSL; not_found where the module with it is
  // missing (base/host/late_library.h); io_error.
  static Result<std::unique_ptr<TlsEntrance>> start(Options options);
  virtual ~TlsEntrance() = default;

  // Reads the files again, for later clients; after an error everything stays as it is.
  virtual Status reload() = 0;
  // No newcomers from now on.
  virtual void close() noexcept = 0;
  // Once the server has closed its ends: waits until the clients have got what was said last, at most for
  // this time. Whether they have.
  virtual bool finish(std::chrono::milliseconds patience) = 0;
};

}  // namespace runnel::net
