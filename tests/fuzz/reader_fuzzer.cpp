// The fuzzer of one reader (tests/fuzz/readers/reader.h): RUNNEL_FUZZ_GROUP has it, RUNNEL_FUZZ_KIND names it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "tests/fuzz/frame_mutator.h"
#include "tests/fuzz/readers/reader.h"

using namespace runnel;  // NOLINT(google-build-using-namespace)

namespace {

const fuzz::Reader& reader() {
  static const fuzz::Reader found = [] {
    const auto all = fuzz::RUNNEL_FUZZ_GROUP();
    const auto at = std::find_if(all.begin(), all.end(),
                                 [](const fuzz::Reader& one) { return one.kind == RUNNEL_FUZZ_KIND; });
    if (at == all.end()) {
      std::fputs("this build has no " RUNNEL_FUZZ_KIND "\n", stderr);
      std::exit(0);
    }
    return *at;
  }();
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Status status = reader().feed(std::as_bytes(std::span(data, size)));
  fuzz::insist(status.ok() || !status.text().empty(), "a failure without text");
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return fuzz::mutate_kind(RUNNEL_FUZZ_KIND, data, size, most, seed);
}
