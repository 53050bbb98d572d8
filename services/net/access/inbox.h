// Clients on their way from the thread that let them in to the one that serves them.
#pragma once

#include <memory>
#include <optional>

#include "base/status.h"
#include "services/net/access/admission.h"

namespace runnel::net {

struct Newcomer {
  int socket = -1;
  Place place;
  bool trusted = false;  // it has shown its token elsewhere
};

// A queue of a limited size in the system, whose other end can be waited for.
class Inbox {
 public:
  Inbox() = default;
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // `admission`: of the places; may be null. Error: io_error.
  Status open(std::shared_ptr<Admission> admission);
  // Readable when there is somebody.
  [[nodiscard]] int descriptor() const noexcept { return ends_[0]; }
  // From any thread. False: it is full, and the client has been hung up on.
  bool put(Newcomer newcomer) noexcept;
  // By one thread. None: nobody is there.
  std::optional<Newcomer> take() noexcept;

 private:
  int ends_[2] = {-1, -1};
  std::shared_ptr<Admission> admission_;
};

}  // namespace runnel::net
