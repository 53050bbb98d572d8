// What graphs may have in common when one thread runs them, one after the other.
#pragma once

#include <cstddef>

#include "base/cpu.h"
#include "base/status.h"
#include "features/fbank/fbank.h"

namespace runnel::pipeline {

// Memory that holds nothing between two steps, and what is never written: a thousand streams that each had
// their own would push each other out of the nearest caches. Outlives the graphs; not thread-safe.
class SharedWork {
 public:
  // `bytes` for the output of the stage with this index in its graph, aligned for vectors: the same memory in
  // every graph that asks for as many. Null: out of memory.
  virtual std::byte* buffer(int stage, std::size_t bytes) noexcept = 0;
  // A front end that others are made like (features::Fbank::make_like). Errors: those of Fbank::make();
  // unsupported when its transform is not runnel's own.
  virtual Result<const features::Fbank*> front_end(const features::FbankOptions& options,
                                                   Isa isa) noexcept = 0;

 protected:
  ~SharedWork() = default;
};

}  // namespace runnel::pipeline
