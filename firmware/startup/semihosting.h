// Semihosting: files, text and program exit through a debugger or QEMU (Arm semihosting). A board without
// either stops at the first call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace runnel::firmware {

// A file on the machine that runs the debugger.
class HostFile {
 public:
  HostFile() noexcept = default;
  ~HostFile();
  HostFile(const HostFile&) = delete;
  HostFile& operator=(const HostFile&) = delete;

  // The path ends with a zero byte. False when the file cannot be opened.
  bool open_to_read(const char* path) noexcept;
  bool open_to_write(const char* path) noexcept;
  // Bytes read, fewer at the end of the file.
  std::size_t read(void* to, std::size_t bytes) noexcept;
  // False unless all of it was written.
  bool write(const void* from, std::size_t bytes) noexcept;

 private:
  bool open(const char* path, std::uint32_t mode) noexcept;
  std::int32_t handle_ = -1;
};

void print(std::string_view text) noexcept;
// The words of the command line, zero-terminated in `buffer`; as many as fit.
std::size_t command_line(std::span<char> buffer, std::span<const char*> words) noexcept;
[[noreturn]] void end(std::uint32_t status) noexcept;

}  // namespace runnel::firmware
