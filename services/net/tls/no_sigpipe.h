// OpenSSL writes to sockets in a way that ends the program when the other side has gone.
#pragma once

#include <csignal>

namespace runnel::net {

// For a thread that writes within TLS: it learns of it by an error instead. The rest of the program is left
// as it is.
inline void block_sigpipe() noexcept {
  sigset_t pipes;
  sigemptyset(&pipes);
  sigaddset(&pipes, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipes, nullptr);
}

}  // namespace runnel::net
