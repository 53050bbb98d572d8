// Damaged .espdl files.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/compiler/import/espdl/tiny_model.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/mutate.h"
#include "tests/robustness/originals.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using Bytes = std::vector<std::byte>;
using compiler::EspdlTarget;

// Every truncation, unchanged and with an adjusted header, so that the structure after the header must
// be found short.
void refuses_every_truncation(const Bytes& file, std::size_t step) {
  const std::size_t header = std::memcmp(file.data(), "EDL1", 4) == 0 ? 12 : 16;
  for (std::size_t size = 0; size < file.size(); size += size < 4096 ? 1 : step) {
    Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    // The file ends with padding that nothing needs.
    const bool may_pass = size + 32 > file.size();
    const Status as_it_is = feed_espdl(cut, EspdlTarget::c);
    ASSERT_TRUE(failed_with_a_sentence(as_it_is) || may_pass) << size << " bytes";
    if (size < header) continue;
    const auto length = static_cast<std::uint32_t>(size - header);
    std::memcpy(cut.data() + 8, &length, 4);
    const Status admitted = feed_espdl(cut, EspdlTarget::c);
    ASSERT_TRUE(failed_with_a_sentence(admitted) || may_pass) << size << " bytes, admitted";
  }
}

// Detecting the target runs the embedded test values: done only now and then.
int refused_mutations(const Bytes& file, std::uint64_t seed, int count) {
  Mutator mutator(file, seed);
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    refused += failed_with_a_sentence(
                   feed_espdl(mutator.next(), i % 16 == 0 ? EspdlTarget::automatic : EspdlTarget::c))
                   ? 1
                   : 0;
  }
  return refused;
}

TEST(DamagedEspdl, EveryTruncationIsRefused) { refuses_every_truncation(digits_espdl(), 1); }

TEST(DamagedEspdl, Mutations) {
  const int refused = refused_mutations(digits_espdl(), 11, 20000);
  EXPECT_GT(refused, 5000);
  EXPECT_LT(refused, 20000);
}

TEST(DamagedEspdl, SmallModel) {
  const Bytes file = tiny_conv().file();
  refuses_every_truncation(file, 1);
  EXPECT_GT(refused_mutations(file, 12, 20000), 5000);
}

TEST(DamagedEspdl, StreamingModel) {
  RUNNEL_NEEDS_DATA();
  for (const char* name : {"h1__c_s8__stream4.espdl", "h1__c_s16__stream8.espdl"}) {
    const Bytes file = read_file(data_folder() / "conformance" / "models" / name);
    ASSERT_FALSE(file.empty());
    refuses_every_truncation(file, 5);
    EXPECT_GT(refused_mutations(file, 13, 10000), 1000) << name;
  }
}

}  // namespace
}  // namespace runnel::test
