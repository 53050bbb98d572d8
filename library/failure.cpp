#include "library/failure.h"

#include <algorithm>
#include <iterator>

namespace runnel::library {
namespace {

// Longer than a Status.
constexpr std::size_t kMaxFailure = 4096;
thread_local char last_failure[kMaxFailure] = "";

runnel_code c_code(Code code) noexcept {
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

constexpr const char* kTexts[] = {"ok",
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

}  // namespace

runnel_code fail(runnel_code code, std::string_view text) noexcept {
  const std::size_t size = std::min(text.size(), kMaxFailure - 1);
  std::copy_n(text.data(), size, last_failure);
  last_failure[size] = '\0';
  return code;
}

runnel_code fail(const Status& status) noexcept {
  return status.ok() ? RUNNEL_OK : fail(c_code(status.code()), status.text());
}

}  // namespace runnel::library

const char* runnel_code_text(runnel_code code) {
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(runnel::library::kTexts) ? runnel::library::kTexts[index] : "unknown code";
}

const char* runnel_last_failure(void) { return runnel::library::last_failure; }
