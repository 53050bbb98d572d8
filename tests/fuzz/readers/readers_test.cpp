// A short run of every reader of one group (RUNNEL_FUZZ_GROUP): its seeds are taken, damaged ones are taken
// or refused with a sentence, and so is what the fuzzers found (tests/corpus).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/frames.h"
#include "tests/fuzz/readers/reader.h"
#include "tests/robustness/mutate.h"
#include "tests/support/data.h"

namespace runnel::fuzz {
namespace {

using test::Mutator;

class Readers : public testing::Test {
 protected:
  static const std::vector<Reader>& all() {
    static const std::vector<Reader> made = RUNNEL_FUZZ_GROUP();
    return made;
  }
  // Whether it was refused.
  static bool feed(const Reader& reader, std::span<const std::byte> bytes) {
    const Status status = reader.feed(bytes);
    EXPECT_TRUE(status.ok() || !status.text().empty()) << reader.kind;
    return !status.ok();
  }
};

TEST_F(Readers, TakeWhatIsRight) {
  for (const Reader& reader : all()) {
    EXPECT_FALSE(reader.seeds.empty()) << reader.kind;
    for (std::size_t i = 0; i < reader.seeds.size(); ++i) {
      const Status status = reader.feed(bytes_of(reader.seeds[i]));
      EXPECT_TRUE(status.ok()) << reader.kind << ", seed " << i << ": " << status.text();
    }
  }
}

TEST_F(Readers, TakeNothingToo) {
  for (const Reader& reader : all()) feed(reader, {});
}

// So many that it is quick; kinds whose every input is a connection get fewer.
TEST_F(Readers, TakeOrRefuseWhatIsDamaged) {
  std::uint64_t number = 1;
  for (const Reader& reader : all()) {
    const int count = reader.kind == "mqtt" ? 10 : 400;
    int refused = 0;
    const FrameFormat* const format = frame_format(reader.kind);
    for (const std::string& seed : reader.seeds) {
      Mutator mutator(bytes_of(seed), number++);
      for (int i = 0; i < count; ++i) {
        if (format == nullptr || i % 2 == 0) {
          refused += feed(reader, mutator.next()) ? 1 : 0;
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
        refused += feed(reader, bytes_of(changed)) ? 1 : 0;
      }
    }
    // Whoever refuses nothing looks at nothing. What a broker or a server says is never an error of the
    // reader.
    const std::set<std::string_view> silent = {"mqtt", "jetstream", "queue"};
    if (!silent.contains(reader.kind)) {
      EXPECT_GT(refused, 0) << reader.kind;
    }
  }
}

TEST_F(Readers, OfBracketsAlone) {
  for (const Reader& reader : all()) {
    if (reader.kind == "mqtt") continue;
    for (const std::string& seed : reader.seeds) {
      // In place of the first value, behind the first colon, and by themselves.
      const std::size_t colon = std::min(seed.find(':'), seed.size() - 1);
      const std::string deep(200000, '[');
      feed(reader, bytes_of(deep));
      feed(reader, bytes_of(seed.substr(0, colon + 1) + deep));
      const std::string closed = deep + std::string(200000, ']');
      feed(reader, bytes_of(seed.substr(0, colon + 1) + closed +
                            seed.substr(std::min(seed.find(',', colon), seed.size()))));
      break;
    }
  }
}

TEST_F(Readers, OfTheCorpus) {
  namespace fs = std::filesystem;
  for (const Reader& reader : all()) {
    const fs::path folder = fs::path(RUNNEL_CORPUS) / reader.kind;
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      SCOPED_TRACE(entry.path().string());
      feed(reader, test::read_file(entry.path()));
    }
  }
}

}  // namespace
}  // namespace runnel::fuzz
