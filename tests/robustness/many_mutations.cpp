#include "tests/robustness/many_mutations.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/mutate.h"

namespace runnel::test {

constexpr std::int64_t kBatch = 500;

std::int64_t mutation_setting(const char* name, std::int64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoll(value);
}

// Those whose names contain RUNNEL_MUTATION_SUBJECT.
static std::vector<Subject> wanted(const std::vector<Subject>& all) {
  const char* const part = std::getenv("RUNNEL_MUTATION_SUBJECT");
  std::vector<Subject> some;
  for (const Subject& subject : all) {
    if (part == nullptr || subject.name.find(part) != std::string::npos) some.push_back(subject);
  }
  return some;
}

void mutate_many(const std::vector<Subject>& given) {
  const std::vector<Subject> all = wanted(given);
  if (all.empty()) GTEST_SKIP() << "SKIPPED: nothing here is named as RUNNEL_MUTATION_SUBJECT says";
  const std::int64_t count = mutation_setting("RUNNEL_MUTATIONS", 1000000),
                     seconds = mutation_setting("RUNNEL_MUTATION_SECONDS", 420);
  auto seed = static_cast<std::uint64_t>(mutation_setting("RUNNEL_MUTATION_SEED", 1));
  const auto start = std::chrono::steady_clock::now();
  const auto late = [&] { return std::chrono::steady_clock::now() - start > std::chrono::seconds(seconds); };
  std::int64_t done = 0, refused = 0;
  for (; done < count && !late(); ++seed) {
    const Subject& subject = all[static_cast<std::size_t>(seed) % all.size()];
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), subject.name.c_str());
    std::fflush(stdout);
    Mutator mutator(subject.file, seed);
    for (std::int64_t i = 0; i < kBatch && done < count; ++i, ++done) {
      refused += failed_with_a_sentence(subject.feed(mutator.next())) ? 1 : 0;
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
  std::printf("%lld mutations, %lld refused; go on with RUNNEL_MUTATION_SEED=%llu\n",
              static_cast<long long>(done), static_cast<long long>(refused),
              static_cast<unsigned long long>(seed));
  testing::Test::RecordProperty("mutations", static_cast<int>(done));
  EXPECT_GT(done, 0);
  EXPECT_GT(refused, done / 50);
  EXPECT_LT(refused, done);
}

}  // namespace runnel::test
