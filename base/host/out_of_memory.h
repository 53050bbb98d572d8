// Running out of heap as a value: libraries do not throw across their interfaces.
#pragma once

#include <new>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace runnel {

// Returns the result of `work` (a Status or a Result), or `out_of_memory` when the heap is exhausted.
// `doing`: "importing the model".
template <class Work>
auto catching_bad_alloc(std::string_view doing, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory) << doing << " needs more memory than there is";
  }
}

}  // namespace runnel
