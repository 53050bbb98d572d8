#include "pipeline/host/live/wake.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace runnel::pipeline {

Wake::Wake() noexcept : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Wake::~Wake() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Wake::up() const noexcept {
  // Fails only when the counter is full, and then the thread wakes anyway.
  [[maybe_unused]] const int result = eventfd_write(descriptor_, 1);
}

void Wake::clear() const noexcept {
  eventfd_t ignored = 0;
  [[maybe_unused]] const int result = eventfd_read(descriptor_, &ignored);
}

}  // namespace runnel::pipeline
