// The C library's memcpy makes unaligned accesses, which trap here (startup.cpp). This one makes none: words
// where both sides have the same alignment, else bytes.
#include <cstddef>
#include <cstdint>

extern "C" void* memcpy(void* __restrict to, const void* __restrict from, std::size_t bytes) {
  using Word [[gnu::may_alias]] = std::uint32_t;
  auto* out = static_cast<std::uint8_t*>(to);
  const auto* in = static_cast<const std::uint8_t*>(from);
  const auto place = reinterpret_cast<std::uintptr_t>(out);
  if (bytes >= 8 && (place ^ reinterpret_cast<std::uintptr_t>(in)) % sizeof(Word) == 0) {
    for (std::size_t head = -place % sizeof(Word); head > 0; --head, --bytes) *out++ = *in++;
    auto* words = reinterpret_cast<Word*>(out);
    const auto* from_words = reinterpret_cast<const Word*>(in);
    for (; bytes >= 4 * sizeof(Word); bytes -= 4 * sizeof(Word)) {
      for (int k = 0; k < 4; ++k) *words++ = *from_words++;
    }
    for (; bytes >= sizeof(Word); bytes -= sizeof(Word)) *words++ = *from_words++;
    out = reinterpret_cast<std::uint8_t*>(words);
    in = reinterpret_cast<const std::uint8_t*>(from_words);
  }
  for (; bytes > 0; --bytes) *out++ = *in++;
  return to;
}
