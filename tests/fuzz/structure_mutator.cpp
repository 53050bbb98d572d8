// How a fuzzer of a kind whose structure is known (tests/robustness/structure/structure.h) makes new inputs:
// mostly with the structure, else as libFuzzer does with bytes. RUNNEL_FUZZ_KIND names the kind.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "tests/robustness/structure/structure.h"

using runnel::test::Bytes;
using runnel::test::Random;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

// The bytes, if there is something to take: libFuzzer has room for `most`.
std::size_t take(const std::optional<Bytes>& made, std::uint8_t* to, std::size_t most) {
  if (!made || made->empty() || made->size() > most) return 0;
  std::memcpy(to, made->data(), made->size());
  return made->size();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  static const runnel::test::ChangeStructure change = runnel::test::structure_of(RUNNEL_FUZZ_KIND);
  Random random(seed);
  if (!random.one_in(4)) {
    const std::size_t taken = take(change(std::as_bytes(std::span(data, size)), {}, random), data, most);
    if (taken != 0) return taken;
  }
  return LLVMFuzzerMutate(data, size, most);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second, std::size_t second_size,
                                                 std::uint8_t* out, std::size_t most, unsigned seed) {
  static const runnel::test::ChangeStructure change = runnel::test::structure_of(RUNNEL_FUZZ_KIND);
  Random random(seed);
  // Parts are taken from the other one in some of the changes only: a few tries.
  for (int tries = 0; tries < 3; ++tries) {
    const std::size_t taken = take(change(std::as_bytes(std::span(first, first_size)),
                                          std::as_bytes(std::span(second, second_size)), random),
                                   out, most);
    if (taken != 0) return taken;
  }
  // The beginning of one and the end of the other.
  const std::size_t head = std::min(random.below(first_size + 1), most);
  const std::size_t from = random.below(second_size + 1), tail = std::min(second_size - from, most - head);
  if (head != 0) std::memcpy(out, first, head);
  if (tail != 0) std::memcpy(out + head, second + from, tail);
  return head + tail;
}
