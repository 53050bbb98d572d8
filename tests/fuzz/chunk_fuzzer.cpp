// Messages of a fleet: headers and samples from anybody who may publish.
#include "tests/fuzz/fuzzer.h"
#include "tests/services/fleet/feed.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  runnel::test::insist_on_a_sentence(runnel::fleet::test::feed_message(runnel::test::as_input(data, size)));
  return 0;
}
