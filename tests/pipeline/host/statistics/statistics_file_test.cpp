// cmvn file=...: JSON and Kaldi's forms give the numbers of training, and what is stored has no file.
#include "pipeline/host/statistics/statistics_file.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pipeline/host/front_end.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

std::string failure_of(std::string_view bytes, std::string_view section = {}) {
  const auto read = read_statistics(bytes, section);
  return read.ok() ? "none" : std::string(read.status().text());
}

// Two dimensions, four frames: means 2 and -1, variances 4 and 0.25.
constexpr double kSums[2][3] = {{8, -4, 4}, {32, 5, 0}};

template <class T>
std::string binary_matrix(std::string_view token, std::int32_t rows = 2, std::int32_t columns = 3) {
  std::string bytes("\0B", 2);
  bytes += token;
  for (const std::int32_t count : {rows, columns}) {
    bytes += '\4';
    bytes.append(reinterpret_cast<const char*>(&count), 4);
  }
  for (const auto& row : kSums) {
    for (const double sum : row) {
      const T value = static_cast<T>(sum);
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  return bytes;
}

void expect_right(const Result<TrainingStatistics>& read) {
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_THAT(read->mean, ElementsAre(DoubleEq(2), DoubleEq(-1)));
  EXPECT_THAT(read->deviation, ElementsAre(DoubleEq(2), DoubleEq(0.5)));
}

TEST(StatisticsFile, KaldiTextAndBinary) {
  const std::string text = " [\n  8 -4 4 \n  32 5.0e0 0 ]\n";
  expect_right(read_statistics(text, ""));
  expect_right(read_statistics("global " + text, ""));
  expect_right(read_statistics("other  [\n 1 1 \n 1 0 ]\nglobal " + text, "global"));
  expect_right(read_statistics(binary_matrix<double>("DM "), ""));
  expect_right(read_statistics(binary_matrix<float>("FM "), ""));
  expect_right(
      read_statistics("a " + binary_matrix<float>("FM ") + "b " + binary_matrix<double>("DM "), "b"));
}

TEST(StatisticsFile, Json) {
  const std::string one = R"({"mean": [2, -1], "std": [2, 0.5]})";
  expect_right(read_statistics(one, ""));
  expect_right(read_statistics("\n{\"note\": \"x\", \"fbank\": " + one + "}", ""));
  expect_right(read_statistics("{\"mfcc\": {\"mean\": [1], \"std\": [1]}, \"fbank\": " + one + "}", "fbank"));
}

TEST(StatisticsFile, SaysWhatIsWrong) {
  EXPECT_EQ(failure_of(""), "no matrix in it");
  EXPECT_EQ(failure_of("{\"a\""), "neither a JSON object nor a matrix of Kaldi");
  EXPECT_EQ(failure_of("{}"), "no object with mean and std in it");
  EXPECT_EQ(failure_of(R"({"mean": [1, 2], "std": [1]})"), "1 numbers in std, expected 2 as in mean");
  EXPECT_EQ(failure_of(R"({"mean": [1, "2"], "std": [1, 1]})"), "mean, entry 1: expected a number");
  EXPECT_EQ(failure_of(R"({"mean": [1], "std": [0]})"), "std, entry 0: expected a number above 0");
  EXPECT_EQ(failure_of(R"({"mean": [1e300], "std": [1]})"),
            "the statistics of dimension 0 are beyond single precision");
  const std::string two = R"({"a": {"mean": [1], "std": [1]}, "b": {"mean": [1], "std": [1]}})";
  EXPECT_EQ(failure_of(two), "several sections, say which with section=: a, b");
  EXPECT_EQ(failure_of(two, "c"), "no section 'c'; there are: a, b");
  EXPECT_EQ(failure_of("k [ 1 2\n3 4 ]", "c"), "no key 'c'; there are: k");
  EXPECT_EQ(failure_of("[ 1 2\n3 ]"), "byte 8: expected rows of equal length");
  EXPECT_EQ(failure_of("[ 1 x ]"), "byte 4: expected a number");
  EXPECT_EQ(failure_of("[ 1 2"), "byte 5: expected ] at the end of the matrix");
  EXPECT_EQ(failure_of("[ 1 2 ]"),
            "a matrix of 1 x 2, expected two rows: sums and the count of frames, sums of squares and 0");
  EXPECT_EQ(failure_of("[ 1 0\n1 0 ]"), "statistics of less than one frame");
  EXPECT_EQ(failure_of(std::string("\0BCM ", 5)),
            "byte 2: expected FM or DM, a matrix of floats that is not compressed");
  EXPECT_THAT(failure_of(binary_matrix<double>("DM ", 2, 1 << 30)),
              HasSubstr("as many numbers as rows and columns say"));
  // Cut anywhere, it is refused and nothing is read after the end.
  const std::string whole = binary_matrix<double>("DM ");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(failure_of(whole.substr(0, size)), "none") << size;
}

TEST(StatisticsFile, BecomesNumbersWhereAFrontEndIsStored) {
  const runnel::test::TemporaryFolder folder;
  const std::string path = (folder.path() / "cmvn.json").string();
  std::ofstream(path) << R"({"fbank": {"mean": [1.5, 2.25], "std": [0.1, 4]}})";
  const auto resolved = resolve_front_end("fbank num_mel_bins=2 ! cmvn file=" + path);
  ASSERT_TRUE(resolved.ok()) << resolved.status().text();
  EXPECT_THAT(resolved->text, HasSubstr("mean=1.5,2.25 deviation=0.1,4"));
  EXPECT_THAT(resolved->text, testing::Not(HasSubstr("cmvn.json")));
  const auto mean_only = resolve_front_end("fbank num_mel_bins=2 ! cmvn variance=false file=" + path);
  EXPECT_THAT(mean_only->text, HasSubstr("mean=1.5,2.25 deviation=1 "));
  EXPECT_THAT(std::string(resolve_front_end("fbank ! cmvn mean=1 file=" + path).status().text()),
              HasSubstr("line 1, column 21: cmvn: file= and mean=: expected one of them"));
  EXPECT_THAT(std::string(resolve_front_end("fbank ! cmvn mode=utterance file=" + path).status().text()),
              HasSubstr("expected mode=fixed"));
  EXPECT_THAT(std::string(resolve_front_end("fbank ! cmvn file=/nowhere").status().text()),
              HasSubstr("/nowhere: cannot be read"));
}

// The statistics of the digits networks: the normalised features that they were trained with.
TEST(StatisticsFile, NormalisesAsInTraining) {
  RUNNEL_NEEDS_DATA();
  const auto file = runnel::test::data_folder() / "trained" / "cmvn.json";
  const auto read = read_statistics_file(file.string(), "fbank");
  ASSERT_TRUE(read.ok()) << read.status().text();
  const auto expected = nlohmann::json::parse(std::ifstream(file))["fbank"];
  EXPECT_EQ(read->mean, expected["mean"].get<std::vector<double>>());
  EXPECT_EQ(read->deviation, expected["std"].get<std::vector<double>>());
  const auto wav = runnel::test::data_folder() / "features/wav/espdl_test_16k.wav";
  const std::string fbank = "fbank preset=kaldi num_mel_bins=40 high_freq=7600";
  const auto plain = run_front_end(fbank, wav),
             normal = run_front_end(fbank + " ! cmvn section=fbank file=" + file.string(), wav);
  ASSERT_TRUE(normal.ok()) << normal.status().text();
  ASSERT_EQ(normal->data.size(), plain->data.size());
  std::vector<float> x(plain->data.size() / sizeof(float)), z(x.size());
  std::memcpy(x.data(), plain->data.data(), plain->data.size());
  std::memcpy(z.data(), normal->data.data(), normal->data.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(z[i], (static_cast<double>(x[i]) - read->mean[i % 40]) / read->deviation[i % 40], 2e-6) << i;
  }
}

}  // namespace
}  // namespace runnel::pipeline::test
