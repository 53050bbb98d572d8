// Reads the connection of libnats in one thread, at most every so many milliseconds, instead of in two of the
// library's for each message: what the library calls an event loop. What is sent goes out at once.
#pragma once

#include <nats/nats.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/status.h"

namespace runnel::fleet {

class Gathering {
 public:
  explicit Gathering(std::chrono::milliseconds every);
  // The connection must be closed.
  ~Gathering();
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  // Before the connection is made. Error: io_error.
  Status attach_to(natsOptions* options);
  // `came`: called in the thread when messages may have come.
  void start(std::function<void()> came);
  // Ends the thread, after which the connection may be closed: nothing is read or sent any more.
  void stop();

 private:
  void hurry() const noexcept;
  void send();
  static natsStatus attached(void** data, void* self, natsConnection* connection, natsSock socket);
  static natsStatus reads(void* self, bool add);
  static natsStatus writes(void* self, bool add);
  static natsStatus detached(void* self);
  void run();

  std::chrono::milliseconds every_;
  std::function<void()> came_;
  int wake_ = -1;  // an eventfd
  // Set by threads of the library that hold its lock, so nothing here is locked while the library is called.
  std::atomic<natsConnection*> connection_{nullptr};
  std::atomic<natsSock> socket_{-1};  // -1: the library reads it alone, or there is none
  std::atomic<bool> writes_{false}, ends_{false};
  std::thread thread_;
};

}  // namespace runnel::fleet
