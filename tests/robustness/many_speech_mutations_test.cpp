// A great many damaged files of tokens, words, commands and hotwords (many_mutations.h): each is refused with
// a sentence, or a search with its tables stays within them. What feeds them are the readers of the fuzzers.
#include <gtest/gtest.h>

#include "tests/fuzz/readers/reader.h"
#include "tests/robustness/many_mutations.h"

namespace runnel::test {
namespace {

TEST(ManySpeechMutations, EveryOneIsUsedOrRefused) {
  std::vector<Subject> all;
  for (const fuzz::Reader& reader : fuzz::speech_readers()) {
    for (const std::string& seed : reader.seeds) {
      const auto bytes = fuzz::bytes_of(seed);
      all.push_back({std::string(reader.kind) + " " + std::to_string(all.size()),
                     {bytes.begin(), bytes.end()},
                     [feed = reader.feed](const std::vector<std::byte>& file) { return feed(file); }});
    }
  }
  mutate_many(all);
}

}  // namespace
}  // namespace runnel::test
