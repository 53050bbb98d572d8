// Messages of the Wyoming protocol, from anybody who may connect.
#include "tests/fuzz/frame_mutator.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/services/net/feed.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  runnel::test::insist_on_a_sentence(runnel::net::test::feed_wyoming(runnel::test::as_input(data, size)));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return runnel::fuzz::mutate_kind("wyoming", data, size, most, seed);
}
