// The C library moves byte by byte. Histories of streams slide by this function at every step: words, where
// both sides have the same alignment.
#include <cstddef>
#include <cstdint>

extern "C" void* memmove(void* to, const void* from, std::size_t bytes) {
  using Word [[gnu::may_alias]] = std::uint32_t;
  auto* out = static_cast<std::uint8_t*>(to);
  const auto* in = static_cast<const std::uint8_t*>(from);
  const auto place = reinterpret_cast<std::uintptr_t>(out), origin = reinterpret_cast<std::uintptr_t>(in);
  const bool words = bytes >= 8 && (place ^ origin) % sizeof(Word) == 0;
  if (place - origin >= bytes) {  // forwards: nothing that is still to be read is overwritten
    if (words) {
      for (std::size_t head = -place % sizeof(Word); head > 0; --head, --bytes) *out++ = *in++;
      for (; bytes >= 4 * sizeof(Word);
           bytes -= 4 * sizeof(Word), out += 4 * sizeof(Word), in += 4 * sizeof(Word)) {
        for (std::size_t k = 0; k < 4; ++k)
          reinterpret_cast<Word*>(out)[k] = reinterpret_cast<const Word*>(in)[k];
      }
      for (; bytes >= sizeof(Word); bytes -= sizeof(Word), out += sizeof(Word), in += sizeof(Word))
        *reinterpret_cast<Word*>(out) = *reinterpret_cast<const Word*>(in);
    }
    for (; bytes > 0; --bytes) *out++ = *in++;
    return to;
  }
  out += bytes, in += bytes;
  if (words) {
    for (; reinterpret_cast<std::uintptr_t>(out) % sizeof(Word) != 0; --bytes) *--out = *--in;
    for (; bytes >= sizeof(Word); bytes -= sizeof(Word)) {
      out -= sizeof(Word), in -= sizeof(Word);
      *reinterpret_cast<Word*>(out) = *reinterpret_cast<const Word*>(in);
    }
  }
  for (; bytes > 0; --bytes) *--out = *--in;
  return to;
}
