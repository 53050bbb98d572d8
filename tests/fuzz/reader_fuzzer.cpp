// The fuzzers of the readers of a group (tests/fuzz/readers/reader.h), which RUNNEL_FUZZ_GROUP names: the
// name of the program, KIND_fuzzer, says which of them it feeds.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "tests/fuzz/frame_mutator.h"
#include "tests/fuzz/readers/reader.h"

using namespace runnel;  // NOLINT(google-build-using-namespace)

namespace {

fuzz::Reader reader;  // set once, before the first input

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
  std::string_view name = (*arguments)[0];
  name.remove_prefix(name.rfind('/') == std::string_view::npos ? 0 : name.rfind('/') + 1);
  name = name.substr(0, name.rfind("_fuzzer"));
  const std::vector<fuzz::Reader> all = fuzz::RUNNEL_FUZZ_GROUP();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const fuzz::Reader& one) { return one.kind == name; });
  if (at == all.end()) {
    std::fprintf(stderr, "%s: this build has no reader of this name\n", (*arguments)[0]);
    std::exit(2);
  }
  reader = *at;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Status status = reader.feed(std::as_bytes(std::span(data, size)));
  fuzz::insist(status.ok() || !status.text().empty(), "a failure without text");
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return fuzz::mutate_kind(reader.kind, data, size, most, seed);
}
