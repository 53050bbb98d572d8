// Reads a word from an address that is not a multiple of 4, which faults (99). With the argument "without" it
// removes the trap first and ends with 0, which proves that only the trap ends the other run.
#include <cstdint>
#include <string_view>

#include "firmware/startup/image.h"
#include "firmware/startup/semihosting.h"
#include "firmware/startup/traps.h"

int runnel::firmware::image_main() noexcept {
  static char text[200];
  static const char* words[4];
  const std::size_t count = command_line(text, words);
  if (count > 1 && std::string_view(words[1]) == "without") trap_unaligned(false);
  alignas(4) static const unsigned char bytes[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::uint32_t value = 0;
  __asm volatile("ldr %0, [%1]" : "=r"(value) : "r"(bytes + 1) : "memory");
  return value == 0x04030201 ? 0 : 1;
}
