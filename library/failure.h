// Failures at the border to C: codes, and the sentence of the calling thread.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include "base/status.h"
#include "library/runnel_host.h"

namespace runnel::library {

// Store the sentence for runnel_last_failure() of this thread; return the code.
runnel_code fail(runnel_code code, std::string_view text) noexcept;
// RUNNEL_OK without a sentence when there is no failure.
runnel_code fail(const Status& status) noexcept;

// Calls `work`, which returns a Status or a runnel_code, and lets no exception out.
template <class Work>
runnel_code guarded(const Work& work) noexcept {
  try {
    const auto outcome = work();
    if constexpr (std::is_same_v<decltype(work()), runnel_code>)
      return outcome;
    else
      return fail(outcome);
  } catch (const std::bad_alloc&) {
    return fail(RUNNEL_OUT_OF_MEMORY, "the system has no memory left");
  } catch (const std::length_error&) {
    return fail(RUNNEL_OUT_OF_MEMORY, "more memory than there can be");
  } catch (const std::exception& reason) {
    return fail(RUNNEL_UNSUPPORTED, reason.what());
  } catch (...) {
    return fail(RUNNEL_UNSUPPORTED, "an exception without a reason");
  }
}

}  // namespace runnel::library
