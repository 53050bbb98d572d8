#include "firmware/startup/semihosting.h"

namespace runnel::firmware {
namespace {

enum class Operation : std::uint32_t {
  open = 0x01,
  close = 0x02,
  write_character = 0x03,
  write = 0x05,
  read = 0x06,
  command_line = 0x15,
  end = 0x20
};

// What the debugger reads: words of the processor's size.
using Word = std::uintptr_t;

#if defined(__riscv)
std::uint32_t call(Operation operation, const void* argument) noexcept {
  register Word result __asm("a0") = static_cast<Word>(operation);
  register const void* with __asm("a1") = argument;
  // These three tell a debugger that the breakpoint is a call; not compressed, and not across a page.
  __asm volatile(
      ".balign 16\n .option push\n .option norvc\n"
      " slli x0, x0, 0x1f\n ebreak\n srai x0, x0, 7\n"
      ".option pop"
      : "+r"(result)
      : "r"(with)
      : "memory");
  return static_cast<std::uint32_t>(result);
}
#else
std::uint32_t call(Operation operation, const void* argument) noexcept {
  std::uint32_t result = static_cast<std::uint32_t>(operation);
  __asm volatile("mov r0, %0\n mov r1, %1\n bkpt 0xab\n mov %0, r0"
                 : "+l"(result)
                 : "l"(argument)
                 : "r0", "r1", "memory");
  return result;
}
#endif

Word address(const void* p) noexcept { return reinterpret_cast<Word>(p); }

std::uint32_t length(const char* text) noexcept {
  std::uint32_t count = 0;
  while (text[count] != '\0') ++count;
  return count;
}

}  // namespace

HostFile::~HostFile() {
  if (handle_ < 0) return;
  const Word block[] = {static_cast<Word>(handle_)};
  call(Operation::close, block);
}

bool HostFile::open(const char* path, std::uint32_t mode) noexcept {
  const Word block[] = {address(path), mode, length(path)};
  handle_ = static_cast<std::int32_t>(call(Operation::open, block));
  return handle_ >= 0;
}
bool HostFile::open_to_read(const char* path) noexcept { return open(path, 1); }   // "rb"
bool HostFile::open_to_write(const char* path) noexcept { return open(path, 5); }  // "wb"

std::size_t HostFile::read(void* to, std::size_t bytes) noexcept {
  const Word block[] = {static_cast<Word>(handle_), address(to), bytes};
  return bytes - call(Operation::read, block);
}
bool HostFile::write(const void* from, std::size_t bytes) noexcept {
  const Word block[] = {static_cast<Word>(handle_), address(from), bytes};
  return call(Operation::write, block) == 0;
}

void print(std::string_view text) noexcept {
  for (const char& one : text) call(Operation::write_character, &one);
}

std::size_t command_line(std::span<char> buffer, std::span<const char*> words) noexcept {
  const Word block[] = {address(buffer.data()), buffer.size()};
  if (buffer.empty() || call(Operation::command_line, block) != 0) return 0;
  std::size_t count = 0;
  bool inside = false;
  for (char& one : buffer) {
    if (one == '\0') break;
    if (one == ' ') {
      one = '\0';
      inside = false;
    } else if (!inside) {
      if (count == words.size()) break;
      words[count++] = &one;
      inside = true;
    }
  }
  return count;
}

void end(std::uint32_t status) noexcept {
  const Word block[] = {0x20026, status};  // ended by the program itself
  call(Operation::end, block);
  for (;;) {
  }
}

}  // namespace runnel::firmware
