// Wakes a thread that waits in poll().
#pragma once

#include <cstdint>

namespace runnel::pipeline {

class Wake {
 public:
  Wake() noexcept;
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  // To be polled for POLLIN; -1: the system had none to give.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // From any thread.
  void up() const noexcept;
  // The thread that waited takes note.
  void clear() const noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace runnel::pipeline
