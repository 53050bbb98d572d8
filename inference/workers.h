// Who runs the parts of one operator at the same time. Device code only knows this interface; hosts bring
// threads (inference/host/thread_pool.h), and without it everything runs in the calling thread.
#pragma once

namespace runnel {

class Workers {
 public:
  // Calls task(argument, part) once for each part in [0, parts), in any order and on any thread, and returns
  // when all are done. What the tasks wrote is visible to the caller.
  virtual void run(int parts, void (*task)(const void* argument, int part) noexcept,
                   const void* argument) noexcept = 0;

 protected:
  ~Workers() = default;
};

}  // namespace runnel
