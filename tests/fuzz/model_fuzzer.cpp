// Model files, without checksums: nobody would get far otherwise.
#include "tests/fuzz/fuzzer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  runnel::test::insist_on_a_sentence(runnel::test::feed_model(runnel::test::as_input(data, size), false));
  return 0;
}
