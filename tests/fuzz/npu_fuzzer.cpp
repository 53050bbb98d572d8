// Driver payloads of the Ethos-U, with the constants and memory of one that is in order.
#include "tests/fuzz/fuzzer.h"
#include "tests/npu/feed.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const runnel::test::Program beside = runnel::test::made_programs().front();
  runnel::test::insist_on_a_sentence(runnel::test::feed_payload(beside, runnel::test::as_input(data, size)));
  return 0;
}
