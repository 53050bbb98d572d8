// .pte and .bpte files.
#include "tests/fuzz/fuzzer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  runnel::test::insist_on_a_sentence(runnel::test::feed_foreign(runnel::test::as_input(data, size)));
  return 0;
}
