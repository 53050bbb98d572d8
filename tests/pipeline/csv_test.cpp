#include <gtest/gtest.h>

#include <fstream>

#include "pipeline/nodes/host/table/csv_reader.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using Floats = std::vector<float>;

class Csv : public testing::Test {
 protected:
  // `csv ! keep` over a file of this text.
  std::unique_ptr<Graph> keep(const std::string& text, const std::string& parameters,
                              std::int64_t tick = 1000) {
    write(text);
    notes_.clear();
    return run_graph(source(parameters) + " ! keep", options(tick));
  }
  std::string failure(const std::string& text, const std::string& parameters) {
    write(text);
    std::string sentence = failure_of(source(parameters) + " ! keep", options(1000));
    for (std::size_t at; (at = sentence.find(folder_.path().string() + "/")) != std::string::npos;)
      sentence.erase(at, folder_.path().string().size() + 1);
    return sentence;
  }
  void write(const std::string& text) const {
    std::ofstream(folder_.path() / "a.csv", std::ios::binary) << text;
  }
  std::string source(const std::string& parameters) const {
    return "csv path=" + (folder_.path() / "a.csv").string() + " " + parameters;
  }
  GraphOptions options(std::int64_t tick) {
    return {.nodes = test_nodes(), .tick = tick, .note = [this](std::string_view note) {
              notes_.emplace_back(note);
            }};
  }
  runnel::test::TemporaryFolder folder_;
  std::vector<std::string> notes_;
};

TEST_F(Csv, ChoosesColumnsByNameAndNumber) {
  const std::string text = "x,y,z\n1,2,3\n4,5,6\n";
  keep(text, "rate=50");
  EXPECT_EQ(Keep::values, (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Keep::format.kind, Kind::audio);
  EXPECT_EQ(Keep::format.channels, 3);
  EXPECT_EQ(Keep::format.clock.rate(), 50);
  EXPECT_EQ(Keep::format.origin, Format::kNoOrigin);
  keep(text, "rate=50 columns=z,x");
  EXPECT_EQ(Keep::values, (Floats{3, 1, 6, 4}));
  keep(text, "rate=50 columns=2-3,1");
  EXPECT_EQ(Keep::values, (Floats{2, 3, 1, 5, 6, 4}));
}

TEST_F(Csv, UnderstandsSeparatorsHeadersAndQuotes) {
  for (const char* text : {"1,2\n3,4\n", "1;2\r\n3;4\r\n", "1\t2\n3\t4", "  1  2 \n\n# remark\n 3   4\n",
                           "\xEF\xBB\xBF\"a b\",b\n\"1\", 2\n3 ,\"4\"\n", "a;b\n+1;2e0\n3.0;4\n"}) {
    keep(text, "rate=1");
    EXPECT_EQ(Keep::values, (Floats{1, 2, 3, 4})) << text;
  }
  keep("a;b\n0,5;1,25\n", "rate=1 decimal=comma");
  EXPECT_EQ(Keep::values, (Floats{0.5F, 1.25F}));
  keep("1,2\n3,4\n", "rate=1 header=yes");  // names that are numbers
  EXPECT_EQ(Keep::values, (Floats{3, 4}));
}

// Within quotes a separator is text, and "" is a quote (RFC 4180).
TEST_F(Csv, QuotesWithinQuotes) {
  write("\"a \"\"b\"\"\",\"\"\"\",\"\", \"c,d\" ,e\"\"f,\"\"\"g\"\n\"1\",2,\"3\"\"\",4,5,6\n\"x\"y,2\n");
  CsvReader reader;
  ASSERT_TRUE(reader.open((folder_.path() / "a.csv").string()).ok());
  using Cells = std::vector<std::string_view>;
  for (const bool again : {false, true}) {
    if (again) reader.again();
    const auto more = reader.next();
    ASSERT_TRUE(more.ok()) << more.status().text();
    EXPECT_EQ(reader.cells(), (Cells{"a \"b\"", "\"", "", "c,d", "e\"\"f", "\"g"})) << again;
  }
  ASSERT_TRUE(reader.next().ok());
  EXPECT_EQ(reader.cells(), (Cells{"1", "2", "3\"", "4", "5", "6"}));
  const std::string sentence(reader.next().status().text());
  EXPECT_NE(sentence.find("a.csv, line 3: expected the separator after the quote, found 'y'"),
            std::string::npos)
      << sentence;
  EXPECT_EQ(failure("x,\"y \"\"\n1,2\n", "rate=1"),
            "csv: a.csv, line 1, column 2: the quote is not closed, expected another \"");
  EXPECT_EQ(failure("a,\"b\"\"c\"\n1,x\n", "rate=1"),
            "csv: a.csv, line 2, column 2 (b\"c): expected a number, found 'x'");
}

TEST_F(Csv, TimeStampsGiveRateAndOrigin) {
  keep("t,x\n10.00,1\n10.02,2\n10.04,3\n", "time=t");
  EXPECT_EQ(Keep::values, (Floats{1, 2, 3}));
  EXPECT_EQ(Keep::format.clock.rate(), 50);
  EXPECT_EQ(Keep::format.origin, 10000000000);
  keep("t,x\n2024-05-01T00:00:00.000Z,1\n2024-05-01T00:00:00.080Z,2\n2024-05-01T00:00:00.160Z,3\n",
       "time=1 time_unit=iso8601");
  EXPECT_EQ(Keep::format.clock.sample_rate, 25);  // 12.5 Hz
  EXPECT_EQ(Keep::format.clock.hop, 2);
  EXPECT_EQ(Keep::format.clock.end_sample(2), 6);
  EXPECT_EQ(describe(Keep::format).view(), "audio 12.5 Hz, 1 channel, float32");
}

TEST_F(Csv, MissingRowsAreGaps) {
  const std::string text = "t,x\n0,1\n10,2\n20,3\n50,4\n60,5\n100,6\n";
  for (const std::int64_t tick : {1, 2, 1000}) {
    const auto graph = keep(text, "time=t time_unit=ms", tick);
    EXPECT_EQ(Keep::values, (Floats{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(Keep::indices, (std::vector<std::int64_t>{0, 1, 2, 5, 6, 10}));
    ASSERT_EQ(Keep::gaps.size(), 2u);
    EXPECT_EQ(Keep::gaps[1].begin, 7);
    EXPECT_EQ(Keep::gaps[1].lost, 3);
    EXPECT_EQ(graph->executor().lost(), 5);
    keep(text, "time=t time_unit=ms gaps=hold", tick);
    EXPECT_EQ(Keep::values, (Floats{1, 2, 3, 3, 3, 4, 5, 5, 5, 5, 6}));
    keep(text, "time=t time_unit=ms gaps=fill fill=-1", tick);
    EXPECT_EQ(Keep::values, (Floats{1, 2, 3, -1, -1, 4, 5, -1, -1, -1, 6}));
    EXPECT_NE(notes_.at(0).find("5 missing rows were made up"), std::string::npos);
  }
  EXPECT_EQ(failure(text, "time=t time_unit=ms gaps=error"),
            "csv: a.csv, line 5, column 1 (t): expected the next row, found '50': 2 rows are missing "
            "(gaps=gap, hold or fill go on)");
  EXPECT_EQ(failure(text, "time=t time_unit=ms max_gap=25ms"),
            "csv: a.csv, line 7, column 1 (t): expected a jump of the time of at most 0.025 s (max_gap), "
            "found '100', 3 rows further than the row above");
}

TEST_F(Csv, MissingCells) {
  const std::string text = "x,y\n1,2\n3,\nnan,6\n7,8\n9\n";
  EXPECT_EQ(
      failure(text, "rate=10"),
      "csv: a.csv, line 3, column 2 (y): expected a number, found '' (missing=gap, hold or fill go on)");
  keep(text, "rate=10 missing=hold");
  EXPECT_EQ(Keep::values, (Floats{1, 2, 3, 2, 3, 6, 7, 8, 9, 8}));
  keep(text, "rate=10 missing=fill fill=0.5");
  EXPECT_EQ(Keep::values, (Floats{1, 2, 3, 0.5F, 0.5F, 6, 7, 8, 9, 0.5F}));
  EXPECT_NE(notes_.at(0).find("3 missing values were made up"), std::string::npos);
  for (const std::int64_t tick : {1, 1000}) {
    const auto graph = keep(text, "rate=10 missing=gap", tick);
    EXPECT_EQ(Keep::values, (Floats{1, 2, 7, 8}));
    EXPECT_EQ(Keep::indices, (std::vector<std::int64_t>{0, 3}));
    EXPECT_EQ(graph->executor().lost(), 3);
    EXPECT_EQ(graph->executor().gaps(), 2);
  }
  keep("x\n1\ninf\n", "rate=1 missing=fill");
  EXPECT_EQ(Keep::values, (Floats{1, 0}));
}

TEST_F(Csv, IrregularAndOutOfOrderRows) {
  const std::string text = "t,x\n0,1\n10,2\n20,3\n26,4\n40,5\n40,6\n50,7\n";
  EXPECT_NE(failure(text, "time=t time_unit=ms rate=100 tolerance=0.2")
                .find("line 5, column 1 (t): expected one row every 10 ms, within 0.2 of that, found '26', "
                      "which is off by -0.4"),
            std::string::npos);
  EXPECT_NE(failure(text, "time=t time_unit=ms rate=100")
                .find("line 7, column 1 (t): expected a time after that of the row above, found '40'"),
            std::string::npos);
  keep(text, "time=t time_unit=ms rate=100 tolerance=0.2 irregular=accept out_of_order=drop");
  EXPECT_EQ(Keep::values, (Floats{1, 2, 3, 4, 5, 7}));
  EXPECT_EQ(Keep::indices.back(), 5);
  EXPECT_NE(notes_.at(0).find("1 rows out of order were left out"), std::string::npos);
}

TEST_F(Csv, WrongFilesGetASentence) {
  EXPECT_EQ(failure("", "rate=1"), "csv: a.csv: is empty, expected rows of numbers");
  EXPECT_EQ(failure("x,y\n", "rate=1"), "csv: a.csv: has no row of numbers");
  EXPECT_EQ(failure("1,2\n3,4,5\n", "rate=1"),
            "csv: a.csv, line 2, column 3: expected 2 columns as in the first row, found 3");
  EXPECT_EQ(failure("x,y\n1,abc\n", "rate=1"),
            "csv: a.csv, line 2, column 2 (y): expected a number, found 'abc'");
  EXPECT_EQ(failure("x,y\n1,1e99\n", "rate=1"),
            "csv: a.csv, line 2, column 2 (y): expected a number that float32 holds, found '1e99'");
  EXPECT_EQ(failure("x,\"y\n1,2\n", "rate=1"),
            "csv: a.csv, line 1, column 2: the quote is not closed, expected another \"");
  EXPECT_EQ(
      failure("x\n1\n", ""),
      "csv: a.csv: how many rows are a second? Expected rate=, or time= with the column of time stamps");
  EXPECT_EQ(failure("time,x\n1\n", "time=tine"),
            "csv: time=tine: a.csv, line 1 has no column of this name, did you mean 'time'?");
  EXPECT_EQ(failure("t,x\n1,2\n", "rate=1 columns=2-3"), "csv: columns=2-3: a.csv has the columns 1 to 2");
  EXPECT_EQ(failure("x,x\n1,2\n", "rate=1 columns=x"),
            "csv: columns=x: a.csv has two columns of this name; say which one by its number");
  EXPECT_EQ(failure("t,x\n1,2\nsoon,3\n", "time=t"),
            "csv: a.csv, line 3, column 1 (t): expected a time stamp (time_unit=s), found 'soon'");
  EXPECT_NE(failure("t,x\n1,2\n", "time=t").find("the first 1 time stamps do not give a rate"),
            std::string::npos);
  EXPECT_NE(failure(std::string(CsvReader::kLongestLine + 1, '1'), "rate=1")
                .find("line 1: more than 1048576 bytes without a line end"),
            std::string::npos);
  EXPECT_NE(failure_of("csv path=" + folder_.path().string() + " rate=1 ! null").find("is a folder"),
            std::string::npos);
  EXPECT_NE(failure_of("csv path=/no/where rate=1 ! null").find("/no/where: there is no such file"),
            std::string::npos);
}

// Blocks are cut at gaps and ticks, lines at the reader's buffer: none of it shows.
TEST_F(Csv, ReadsLongFilesInPieces) {
  std::string text = "t,x,y\n";
  Floats expected;
  for (int i = 0; i < 30000; ++i) {
    if (i % 1000 == 999) continue;
    text += std::to_string(i) + "," + std::to_string(i % 777) + "," + std::to_string(-i) + "\n";
    expected.insert(expected.end(), {static_cast<float>(i % 777), static_cast<float>(-i)});
  }
  for (const std::int64_t tick : {7, 100000}) {
    const auto graph = keep(text, "time=t time_unit=ms", tick);
    EXPECT_EQ(Keep::values, expected);
    EXPECT_EQ(graph->executor().lost(), 29);  // the last row of all is just the end
  }
}

}  // namespace
}  // namespace runnel::pipeline::test
