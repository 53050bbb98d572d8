// Damaged tables of sensor data, and damaged arrays as recordings.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <random>

#include "base/host/npy.h"
#include "pipeline/host/graph.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/mutate.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

class DamagedTable : public testing::Test {
 protected:
  Status run(const std::string& node, const std::string& parameters, std::string_view bytes) {
    const std::filesystem::path path = folder_.path() / "a";
    std::ofstream(path, std::ios::binary) << bytes;
    RUNNEL_ASSIGN(
        const auto graph,
        pipeline::Graph::build(node + " path='" + path.string() + "' " + parameters + " ! null", {}));
    return graph->run();
  }
  TemporaryFolder folder_;
};

std::string table() {
  std::string text = "time,ax,ay,\"a z\"\n";
  for (int i = 0; i < 30; ++i)
    text += std::to_string(1000 + 20 * i + i % 2) + "," + std::to_string(i * 0.25) + "," +
            std::to_string(-i) + ",1e-3\n";
  return text;
}

TEST_F(DamagedTable, Mutations) {
  static constexpr std::string_view kPieces[] = {",",
                                                 ",,",
                                                 ";",
                                                 "\t",
                                                 "\n",
                                                 "\r\n",
                                                 "\"",
                                                 "\"\"",
                                                 "#",
                                                 "nan",
                                                 "inf",
                                                 "-",
                                                 "+",
                                                 "e",
                                                 "e999",
                                                 "-1",
                                                 "99999999999999999999",
                                                 "9223372036854775807",
                                                 "-9223372036854775808",
                                                 "1e18",
                                                 "0",
                                                 ".",
                                                 "2024-05-01T00:00:00Z",
                                                 "\xEF\xBB\xBF",
                                                 " ",
                                                 "time",
                                                 "1e-400"};
  static const std::string kParameters[] = {
      "time=time time_unit=ms",
      "time=1 time_unit=us columns=2-4 missing=hold gaps=hold irregular=accept out_of_order=drop max_gap=10",
      "rate=50 columns=ax,ay missing=gap",
      "rate=50 header=no separator=comma missing=fill",
      "time=time time_unit=ms missing=gap gaps=fill separator=auto",
      "time=time time_unit=iso8601 rate=50"};
  const std::string original = table();
  ASSERT_TRUE(run("csv", kParameters[0], original).ok());
  std::mt19937_64 random(51);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = original;
    for (std::size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
      const std::size_t at = below(text.size());
      const std::string_view piece = kPieces[below(std::size(kPieces))];
      switch (below(6)) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + below(30));
          break;
        case 2:
          text.insert(at, piece);
          break;
        case 3:
          text.replace(at, piece.size(), piece);
          break;
        case 4:
          text.resize(at);
          break;
        default:
          text.insert(at, text.substr(below(text.size()), 1 + below(60)));
      }
    }
    refused += failed_with_a_sentence(run("csv", kParameters[below(std::size(kParameters))], text)) ? 1 : 0;
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 2000);
}

TEST_F(DamagedTable, MutationsOfArrays) {
  const std::array<std::int64_t, 2> shape = {20, 3};
  const std::vector<std::byte> data(60 * sizeof(float));
  const std::filesystem::path path = folder_.path() / "a.npy";
  ASSERT_TRUE(write_npy(path, DType::float32, shape, data).ok());
  const std::vector<std::byte> file = read_file(path);
  const auto feed = [&](std::span<const std::byte> bytes) {
    return run("npy", "rate=50", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  ASSERT_TRUE(feed(file).ok());
  for (std::size_t size = 0; size < file.size(); ++size)
    ASSERT_TRUE(failed_with_a_sentence(feed(std::span(file).first(size)))) << size;
  Mutator mutator(file, 52);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) refused += failed_with_a_sentence(feed(mutator.next())) ? 1 : 0;
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 1000);
}

}  // namespace
}  // namespace runnel::test
