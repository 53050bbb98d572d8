// What device code takes from the standard library's archive, which Debian's compiler for RISC-V comes
// without: the numbers in the settings of nodes, and the end of its checks.
#include <charconv>
#include <cstddef>
#include <cstdlib>

namespace std {

[[noreturn]] void __throw_out_of_range_fmt(const char*, ...);
void __throw_out_of_range_fmt(const char*, ...) {
  abort();
  __builtin_unreachable();
}

// By strtof, which takes more than from_chars does: neither spaces nor a plus sign may come first.
from_chars_result from_chars(const char* first, const char* last, float& value, chars_format) noexcept {
  char text[64];
  std::size_t length = 0;
  for (const char* at = first; at != last && length + 1 < sizeof text; ++at) text[length++] = *at;
  text[length] = '\0';
  const char lead = text[0];
  if (lead != '-' && lead != '.' && (lead < '0' || lead > '9')) return {first, errc::invalid_argument};
  char* end = nullptr;
  const float read = strtof(text, &end);
  if (end == text) return {first, errc::invalid_argument};
  value = read;
  return {first + (end - text), errc{}};
}

}  // namespace std
