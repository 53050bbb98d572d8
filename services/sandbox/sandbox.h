// Work on files that nobody vouches for, in a child process: with limits of memory and time and, locked,
// without network, without files and without rights.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/status.h"

namespace runnel::sandbox {

// What the work may take; 0: no limit.
struct Limits {
  std::uint64_t memory_bytes = 0;  // beyond what the program has when the work begins
  std::uint32_t cpu_seconds = 0;   // processor time of all threads together
  std::uint32_t wall_seconds = 0;  // by the clock, for work that waits; 0: thirty times cpu_seconds

  std::uint64_t text_bytes = limits::kSandboxTextBytes;  // that a locked child prints

  [[nodiscard]] bool any() const noexcept { return memory_bytes > 0 || cpu_seconds > 0 || wall_seconds > 0; }
};

// The limits of a file of this size where nobody says others (base/limits.h): none for large files.
Limits limits_of_file(std::uint64_t bytes) noexcept;
// The same where large files have limits, too, which grow with them.
Limits growing_limits(std::uint64_t bytes) noexcept;

// What the work sees of the world.
class Inside {
 public:
  // A whole file. In a locked child it is asked of the parent, which decides. Errors: io_error.
  virtual Result<std::vector<std::byte>> read(const std::filesystem::path& path) = 0;

 protected:
  ~Inside() = default;
};

// The work. What it returns goes to the parent as bytes, which are as trustworthy as the file that they came
// from. What a locked child prints arrives on the parent's stdout and stderr without control characters.
using Work = std::function<Result<std::vector<std::byte>>(Inside& inside)>;

struct Request {
  std::string name;  // of the file; begins the sentences of this interface
  Limits limits;
  bool locked = false;
  // Files that a locked child gets, decided by the parent each time; empty: none.
  std::function<bool(const std::filesystem::path& path)> may_read;
  // Files that a locked child may open itself, for libraries that take names; they need Landlock.
  std::vector<std::filesystem::path> opened;
  // Called in the child before it is locked: opens libraries that the work will need.
  std::function<void()> prepare;
  // Called in the parent once the child runs; may be empty.
  std::function<void()> started;
  // Which locks there were, one sentence, and what the machine lacks; may be empty.
  std::function<void(std::string_view)> say;
  const std::atomic<bool>* stop = nullptr;  // ends the child when true
};

// Whether a child can be locked here, which is tried. Error: unsupported, saying what is missing.
Status can_lock();

// Runs the work in a child, or here when the request has neither limits nor locks. The calling process should
// have one thread. Errors: those of the work; out_of_memory, for the limit of memory; io_error when the child
// was ended by a limit of time, a signal, or a system call that is not allowed, in a sentence that says
// which; unsupported for a locked child where neither seccomp nor Landlock can be had.
Result<std::vector<std::byte>> run(const Request& request, const Work& work);

}  // namespace runnel::sandbox
