// Lets clients in: accepts them, does the handshakes of TLS, and waits for a first request, for all of them
// at once. Included only by what links OpenSSL.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "services/net/access/admission.h"
#include "services/net/tls/channel.h"

namespace runnel::net {

// In a thread of its own, until destroyed. A client that is slow, silent, wrong or gone costs a place for at
// most the times of limits.h, and no other client waits for it.
class Door {
 public:
  struct Visitor {
    std::unique_ptr<Channel> channel;  // greeted
    std::string begun;                 // bytes that have come
    std::size_t request = 0;           // of them, those of the request
    Place place;
  };
  struct Options {
    int listener = -1;                     // owned; listens, and is non-blocking
    const TlsIdentity* tls = nullptr;      // null: none. Outlives the door
    std::shared_ptr<Admission> admission;  // null: no limits by address
    // Whether visitors come in with a whole request of HTTP (request_head.h); otherwise after the handshake.
    bool reads_request = false;
    std::string plain_answer;  // to who speaks no TLS, with TLS
    // Called by the door's thread with each one that may come in; must not wait.
    std::function<void(Visitor&&)> enter;
  };
  // Error: io_error.
  static Result<std::unique_ptr<Door>> open(Options options);
  virtual ~Door() = default;
  // No newcomers from now on; those who wait go on.
  virtual void close() noexcept = 0;
};

// An answer of HTTP without anything else.
std::string http_refusal(int status, std::string_view sentence);

}  // namespace runnel::net
