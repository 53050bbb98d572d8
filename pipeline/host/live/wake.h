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

  // Poll it for POLLIN; -1: the system refused a descriptor.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // From any thread.
  void up() const noexcept;
  // Resets it; called by the thread that waited.
  void clear() const noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace runnel::pipeline
