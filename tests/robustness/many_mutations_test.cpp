// A great many damaged files, for as long as there is time. Each batch has a seed of its own, printed before it begins, so that what
// goes wrong can be made again and a run can go on where another one stopped:
//
//   RUNNEL_MUTATIONS          how many in all (default: 1,000,000)
//   RUNNEL_MUTATION_SECONDS   when to stop, done or not (default: 420)
//   RUNNEL_MUTATION_SEED      the first batch's seed (default: 1)
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "tests/compiler/espdl/tiny_model.h"
#include "compiler/writer.h"
#include "tests/compiler/pte/program_maker.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/mutate.h"
#include "tests/robustness/originals.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::int64_t kBatch = 500;

std::int64_t setting(const char* name, std::int64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoll(value);
}

struct Subject {
  std::string name;
  Bytes file;
  std::function<Status(const Bytes&)> feed;
};

Bytes written(const Bytes& espdl) {
  const auto imported = compiler::import_espdl(espdl);
  const auto model = imported.ok() ? compiler::write_model(imported->graph) : Result<compiler::WrittenModel>(imported.status());
  EXPECT_TRUE(model.ok()) << model.status().text();
  return model.ok() ? model->bytes : Bytes{};
}

std::vector<Subject> subjects() {
  const auto espdl = [](const Bytes& bytes) { return feed_espdl(bytes, compiler::EspdlTarget::c); };
  const auto model = [](const Bytes& bytes) { return feed_model(bytes, false); };
  std::vector<Subject> all = {{"tiny.espdl", tiny_conv().file(), espdl}, {"tiny.rnl", written(tiny_conv().file()), model}, {"digits.espdl", digits_espdl(), espdl},
                              {"digits.rnl", digits_rnl(), model}};
  const auto pte = [](const Bytes& bytes) { return feed_pte(bytes); };
  all.push_back({"tiny.pte", tiny_program().file(), pte});
  // With recordings of other operators, and caches that stay operators, where the test data is there.
  if (!data_folder().empty()) {
    for (const char* name : {"conformance/models/h1__c_s16__stream4.espdl", "conformance/models/m3__c_s8.espdl", "espdl/models/esp32p4/streaming/streaming_model.espdl"}) {
      const Bytes file = read_file(data_folder() / name);
      all.push_back({name, file, espdl});
      all.push_back({std::string(name) + ", written", written(file), model});
    }
  }
  if (!data_folder().empty()) {
    for (const char* name : {"mbedtfo_lstm.pte", "et_arduino_kws.pte", "armex_ethosu_minimal_0ff7865c.pte", "et_bundled_program.bpte"}) {
      all.push_back({name, read_file(data_folder() / "executorch" / name), pte});
    }
  }
  return all;
}

TEST(ManyMutations, EveryOneIsReadOrRefused) {
  const std::int64_t count = setting("RUNNEL_MUTATIONS", 1000000), seconds = setting("RUNNEL_MUTATION_SECONDS", 420);
  auto seed = static_cast<std::uint64_t>(setting("RUNNEL_MUTATION_SEED", 1));
  const auto all = subjects();
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
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  std::printf("%lld mutations, %lld refused; go on with RUNNEL_MUTATION_SEED=%llu\n", static_cast<long long>(done), static_cast<long long>(refused),
              static_cast<unsigned long long>(seed));
  RecordProperty("mutations", static_cast<int>(done));
  EXPECT_GT(done, 0);
  EXPECT_GT(refused, done / 50);
  EXPECT_LT(refused, done);
}

// Every cut of every file, as it is and with the length of its header made to admit it.
TEST(ManyMutations, EveryTruncationIsReadOrRefused) {
  const std::int64_t seconds = setting("RUNNEL_MUTATION_SECONDS", 420);
  const auto start = std::chrono::steady_clock::now();
  for (const Subject& subject : subjects()) {
    for (std::size_t size = 0; size < subject.file.size(); ++size) {
      if (std::chrono::steady_clock::now() - start > std::chrono::seconds(seconds)) {
        std::printf("time is up at byte %zu of %s\n", size, subject.name.c_str());
        return;
      }
      // The files end with padding that nothing needs.
      const bool may_pass = size + 32 > subject.file.size();
      Bytes cut(subject.file.begin(), subject.file.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_TRUE(failed_with_a_sentence(subject.feed(cut)) || may_pass) << subject.name << ", " << size << " bytes";
      if (size < 16 || std::memcmp(cut.data(), "EDL2", 4) != 0) continue;
      const auto length = static_cast<std::uint32_t>(size - 16);
      std::memcpy(cut.data() + 8, &length, 4);
      ASSERT_TRUE(failed_with_a_sentence(subject.feed(cut)) || may_pass) << subject.name << ", " << size << " bytes, admitted";
    }
  }
}

}  // namespace
}  // namespace runnel::test
