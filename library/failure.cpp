#include "library/failure.h"

#include <algorithm>

#include "embed/codes.h"

namespace runnel::library {
namespace {

// Longer than a Status.
constexpr std::size_t kMaxFailure = 4096;
thread_local char last_failure[kMaxFailure] = "";

}  // namespace

runnel_code fail(runnel_code code, std::string_view text) noexcept {
  const std::size_t size = std::min(text.size(), kMaxFailure - 1);
  std::copy_n(text.data(), size, last_failure);
  last_failure[size] = '\0';
  return code;
}

runnel_code fail(const Status& status) noexcept {
  return status.ok() ? RUNNEL_OK : fail(embed::c_code(status.code()), status.text());
}

}  // namespace runnel::library

const char* runnel_code_text(runnel_code code) { return runnel::embed::text_of(code); }

const char* runnel_last_failure(void) { return runnel::library::last_failure; }
