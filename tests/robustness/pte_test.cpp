// Damaged .pte and .bpte files.
#include <gtest/gtest.h>

#include "tests/compiler/import/pte/program_maker.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/mutate.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

Bytes tiny_bundle() { return tiny_program().bundle({{{{{4}, {1, 2, 3, 4}}}, {{{4}, {1, 0, 6, 1}}}}}); }

void refuses_every_truncation(const Bytes& file, std::size_t step) {
  for (std::size_t size = 0; size < file.size(); size += size < 4096 ? 1 : step) {
    const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    // A file may end with padding that nothing needs.
    ASSERT_TRUE(failed_with_a_sentence(feed_foreign(cut)) || size + 32 > file.size()) << size << " bytes";
  }
}

int refused_mutations(const Bytes& file, std::uint64_t seed, int count) {
  Mutator mutator(file, seed);
  int refused = 0;
  for (int i = 0; i < count; ++i) refused += failed_with_a_sentence(feed_foreign(mutator.next())) ? 1 : 0;
  return refused;
}

TEST(DamagedPte, SmallProgram) {
  const Bytes file = tiny_program().file();
  refuses_every_truncation(file, 1);
  const int refused = refused_mutations(file, 21, 5000);
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 5000);
}

TEST(DamagedPte, SmallBundle) {
  refuses_every_truncation(tiny_bundle(), 1);
  EXPECT_GT(refused_mutations(tiny_bundle(), 22, 5000), 1000);
}

TEST(DamagedPte, RealPrograms) {
  RUNNEL_NEEDS_DATA();
  for (const char* name : {"mbedtfo_lstm.pte", "et_arduino_kws.pte", "armex_ethosu_minimal_0ff7865c.pte",
                           "et_bundled_program.bpte"}) {
    const Bytes file = read_file(data_folder() / "executorch" / name);
    ASSERT_FALSE(file.empty());
    EXPECT_EQ(feed_foreign(file).text(), "") << name;
    refuses_every_truncation(file, 997);
    EXPECT_GT(refused_mutations(file, 23, 1000), 50) << name;
  }
}

}  // namespace
}  // namespace runnel::test
