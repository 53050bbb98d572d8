// What graphs may share when one thread runs them in turn.
#pragma once

#include <cstddef>

#include "base/cpu.h"
#include "base/status.h"
#include "features/fbank/fbank.h"

namespace runnel::pipeline {

// Scratch memory that is used within a step only, and constant tables. A thousand streams with their own
// copies would evict each other from the nearest caches. Outlives the graphs; not thread-safe.
class SharedWork {
 public:
  // `bytes` for the output of the stage with this index in its graph, aligned for vectors: the same memory
  // for every graph that requests the same size. Null: out of memory.
  virtual std::byte* buffer(int stage, std::size_t bytes) noexcept = 0;
  // A front end whose tables others share (features::Fbank::make_like). Errors: those of Fbank::make();
  // unsupported when its transform is not runnel's own.
  virtual Result<const features::Fbank*> front_end(const features::FbankOptions& options,
                                                   Isa isa) noexcept = 0;

 protected:
  ~SharedWork() = default;
};

}  // namespace runnel::pipeline
