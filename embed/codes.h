// The codes of the C interfaces, of firmware and of hosts alike: which code a failure has, and what it is
// called.
#pragma once

#include <cstddef>
#include <iterator>

#include "base/status.h"
#include "embed/runnel_stream.h"

namespace runnel::embed {

// The code of the same meaning; RUNNEL_OK for Code::ok.
inline runnel_code c_code(Code code) noexcept {
  switch (code) {
    case Code::ok:
      return RUNNEL_OK;
    case Code::invalid_argument:
      return RUNNEL_INVALID_ARGUMENT;
    case Code::invalid_data:
      return RUNNEL_INVALID_DATA;
    case Code::unsupported:
      return RUNNEL_UNSUPPORTED;
    case Code::not_found:
      return RUNNEL_NOT_FOUND;
    case Code::out_of_memory:
      return RUNNEL_OUT_OF_MEMORY;
    case Code::io_error:
      return RUNNEL_IO_ERROR;
    case Code::mismatch:
      return RUNNEL_MISMATCH;
  }
  return RUNNEL_INVALID_ARGUMENT;
}

// By number. A few words each, without a capital or a full stop.
inline constexpr const char* kTexts[] = {"ok",
                                         "invalid argument",
                                         "invalid data",
                                         "unsupported",
                                         "not found",
                                         "out of memory",
                                         "input or output failed",
                                         "mismatch",
                                         "misaligned memory",
                                         "made for another processor",
                                         "made for another version",
                                         "self-test failed",
                                         "overrun",
                                         "stopped"};
static_assert(std::size(kTexts) == RUNNEL_STOPPED + 1);

// Constant text; "unknown code" for a number that is none.
inline const char* text_of(runnel_code code) noexcept {
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(kTexts) ? kTexts[index] : "unknown code";
}

}  // namespace runnel::embed
