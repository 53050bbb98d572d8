// The child's side: limits, locks, the work, and its answer.
#pragma once

#include <sys/types.h>

#include "services/sandbox/sandbox.h"

namespace runnel::sandbox {

// What the child begins with; negative: it keeps that of the parent.
struct ChildEnds {
  int channel = -1;  // frames
  int verdict = -1;  // the number of a system call that was not allowed
  int out = -1, err = -1;
  pid_t parent = -1;
};

// Reads files itself.
class Unlocked final : public Inside {
 public:
  Result<std::vector<std::byte>> read(const std::filesystem::path& path) override;
};

// The exit code of a child that was stopped at a system call.
inline constexpr int kBlockedExit = 121;
// Where sanitizers are compiled in, address space says nothing: only what the parent sees in use counts.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kWatchedMemory = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
inline constexpr bool kWatchedMemory = true;
#else
inline constexpr bool kWatchedMemory = false;
#endif
#else
inline constexpr bool kWatchedMemory = false;
#endif

// Does the work, answers, and ends the process. Called directly after fork().
[[noreturn]] void be_child(const Request& request, const Work& work, ChildEnds ends) noexcept;

}  // namespace runnel::sandbox
