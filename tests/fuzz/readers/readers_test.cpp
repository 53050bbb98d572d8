// A short run of every reader of one group (RUNNEL_FUZZ_GROUP): its seeds are taken, damaged ones are taken
// or refused with a sentence, and so is what the fuzzers found (tests/corpus).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/frames.h"
#include "tests/fuzz/readers/reader.h"
#include "tests/robustness/mutate.h"
#include "tests/support/data.h"

namespace runnel::fuzz {

// For names of tests.
static void PrintTo(const Reader& reader, std::ostream* out) { *out << reader.kind; }

namespace {

using test::Mutator;

std::vector<Reader> all_readers() {
  std::vector<Reader> all;
  for (const auto group : {RUNNEL_FUZZ_GROUPS}) {
    for (Reader& reader : group()) all.push_back(std::move(reader));
  }
  return all;
}

class Readers : public testing::TestWithParam<Reader> {
 protected:
  // Whether it was refused.
  static bool feed(std::span<const std::byte> bytes) {
    const Status status = GetParam().feed(bytes);
    EXPECT_TRUE(status.ok() || !status.text().empty());
    return !status.ok();
  }
};

TEST_P(Readers, TakeWhatIsRight) {
  EXPECT_FALSE(GetParam().seeds.empty());
  for (std::size_t i = 0; i < GetParam().seeds.size(); ++i) {
    const Status status = GetParam().feed(bytes_of(GetParam().seeds[i]));
    EXPECT_TRUE(status.ok()) << "seed " << i << ": " << status.text();
  }
}

TEST_P(Readers, TakeOrRefuseNothing) { feed({}); }

// So many that it is quick; kinds whose every input is a connection get fewer.
TEST_P(Readers, TakeOrRefuseWhatIsDamaged) {
  const Reader& reader = GetParam();
  const int count = reader.kind == "mqtt" ? 10 : 400;
  const FrameFormat* const format = frame_format(reader.kind);
  std::uint64_t number = 1;
  int refused = 0;
  for (const std::string& seed : reader.seeds) {
    Mutator mutator(bytes_of(seed), number++);
    for (int i = 0; i < count; ++i) {
      if (format == nullptr || i % 2 == 0) {
        refused += feed(mutator.next()) ? 1 : 0;
        continue;
      }
      const auto plain = [&](const std::string& bytes, std::size_t most) {
        Mutator inner(bytes_of(bytes), number++);
        std::string out(text_of(inner.next()));
        out.resize(std::min(out.size(), most));
        return out;
      };
      const std::string changed =
          mutate_frames(seed, 1 << 16, static_cast<std::uint32_t>(number++), *format, plain);
      refused += feed(bytes_of(changed)) ? 1 : 0;
    }
  }
  // Whoever refuses nothing looks at nothing. What a broker or a server says is no error of the reader.
  const std::set<std::string_view> silent = {"mqtt", "jetstream", "queue"};
  if (!silent.contains(reader.kind)) {
    EXPECT_GT(refused, 0);
  }
}

// By themselves, and in place of the first value: open, and closed with what follows it.
TEST_P(Readers, OfBracketsAlone) {
  if (GetParam().kind == "mqtt") return;  // which has no texts
  const std::string& seed = GetParam().seeds.front();
  const std::size_t colon = std::min(seed.find(':'), seed.size() - 1);
  const std::string deep(200000, '[');
  feed(bytes_of(deep));
  feed(bytes_of(seed.substr(0, colon + 1) + deep));
  feed(bytes_of(seed.substr(0, colon + 1) + deep + std::string(200000, ']') +
                seed.substr(std::min(seed.find(',', colon), seed.size()))));
}

TEST_P(Readers, OfTheCorpus) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(RUNNEL_CORPUS) / GetParam().kind;
  if (!fs::exists(folder)) return;  // nothing is kept
  for (const auto& entry : fs::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    feed(test::read_file(entry.path()));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Readers, testing::ValuesIn(all_readers()),
                         [](const auto& reader) { return std::string(reader.param.kind); });

}  // namespace
}  // namespace runnel::fuzz
