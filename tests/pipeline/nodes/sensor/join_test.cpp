// Two sources on one clock.
#include "pipeline/nodes/sensor/join.h"

#include <gtest/gtest.h>

#include <fstream>

#include "pipeline/host/text.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

using Floats = std::vector<float>;
using Indices = std::vector<std::int64_t>;

class Joined : public testing::Test {
 protected:
  // A table of times in ms and values.
  std::string table(const std::string& name, const std::vector<std::pair<int, float>>& rows,
                    const std::string& rate) {
    const std::string path = (folder_.path() / name).string();
    std::ofstream file(path);
    file << "t,x\n";
    for (const auto& [time, value] : rows) file << time << ',' << value << '\n';
    return "csv path=" + path + " time=t time_unit=ms rate=" + rate;
  }
  static std::vector<std::pair<int, float>> ramp(int start, int step, int count, float scale) {
    std::vector<std::pair<int, float>> rows;
    for (int i = 0; i < count; ++i) rows.emplace_back(start + i * step, scale * static_cast<float>(i));
    return rows;
  }
  std::unique_ptr<Graph> keep(const std::string& a, const std::string& b, const std::string& join,
                              std::int64_t tick = 1000) {
    return run_graph(a + " ! join " + join + " name=j ! keep " + b + " ! j.",
                     {.nodes = test_nodes(), .tick = tick});
  }
  runnel::test::TemporaryFolder folder_;
};

TEST_F(Joined, EqualRatesStandSideBySide) {
  const std::string a = table("a", ramp(0, 20, 50, 1), "50"), b = table("b", ramp(0, 20, 60, -1), "50");
  for (const std::int64_t tick : {1, 7, 1000}) {
    keep(a, b, "", tick);
    ASSERT_EQ(Keep::format.channels, 2);
    EXPECT_EQ(Keep::format.clock.rate(), 50);
    ASSERT_EQ(Keep::values.size(), 100u);  // as long as the shorter one
    for (std::size_t i = 0; i < 50; ++i) {
      EXPECT_EQ(Keep::indices[i], static_cast<std::int64_t>(i));
      EXPECT_EQ(Keep::values[2 * i], static_cast<float>(i));
      EXPECT_EQ(Keep::values[2 * i + 1], -static_cast<float>(i));
    }
  }
}

TEST_F(Joined, HoldAndLinear) {
  const std::string fast = table("a", ramp(0, 10, 12, 1), "100"),
                    slow = table("b", ramp(0, 40, 4, 100), "25");
  for (const std::int64_t tick : {1, 3, 1000}) {
    keep(fast, slow, "method=hold", tick);
    ASSERT_EQ(Keep::values.size(), 24u);
    for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(Keep::values[2 * i + 1], static_cast<float>(i / 4 * 100));
    keep(fast, slow, "method=linear", tick);
    ASSERT_EQ(Keep::values.size(), 24u);
    for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(Keep::values[2 * i + 1], static_cast<float>(i) * 25);
    keep(slow, fast, "method=hold", tick);  // the first one is the clock
    EXPECT_EQ(Keep::values, (Floats{0, 0, 100, 4, 200, 8}));
  }
}

// Rates with little in common: the place of every frame is exact, however far.
TEST_F(Joined, PositionsAreExact) {
  const Clock slow{.sample_rate = 1042, .hop = 10, .span = 10}, fast{.sample_rate = 44100};
  Result<FramePosition> position = FramePosition::make(slow, fast, -123456789);
  ASSERT_TRUE(position.ok()) << position.status().text();
  for (std::int64_t i = 0; i < 100000; ++i, position->advance()) {
    const long double at = static_cast<long double>(i) * 441000 / 1042 + 0.123456789L * 44100;
    if (i % 997 != 0) continue;
    EXPECT_EQ(position->floor(), static_cast<std::int64_t>(at)) << i;
    EXPECT_NEAR(position->fraction(), static_cast<double>(at - static_cast<std::int64_t>(at)), 1e-9);
  }
  EXPECT_FALSE(FramePosition::make({.sample_rate = 999999937, .hop = 999983},
                                   {.sample_rate = 999999929, .hop = 999979}, 987654321987654321)
                   .ok());
}

TEST_F(Joined, TimeStampsAlign) {
  const std::string a = table("a", ramp(1000, 20, 10, 1), "50"),
                    later = table("b", ramp(1060, 20, 10, -1), "50"),
                    between = table("c", ramp(950, 20, 20, 10), "50");
  auto graph = keep(a, later, "align=time");
  EXPECT_EQ(Keep::indices, (Indices{3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(Keep::values, (Floats{3, 0, 4, -1, 5, -2, 6, -3, 7, -4, 8, -5, 9, -6}));
  EXPECT_EQ(graph->executor().lost(), 3);  // before the common start
  EXPECT_EQ(Keep::format.origin, 1000000000);
  keep(a, between, "align=time method=linear");
  EXPECT_EQ(Keep::values[1], 25.0F);
  EXPECT_EQ(Keep::values[3], 35.0F);
  const std::string text = failure_of(a + " ! join align=time name=j ! null " + between + " ! j.");
  EXPECT_NE(text.find("between its frames; method=exact wants them at the same times"), std::string::npos)
      << text;
}

TEST_F(Joined, GapsOfAnyInputAreGaps) {
  auto with_gap = ramp(0, 20, 20, -1);
  with_gap.erase(with_gap.begin() + 5, with_gap.begin() + 8);
  const std::string a = table("a", ramp(0, 20, 20, 1), "50"), b = table("b", with_gap, "50");
  const Indices expected = {0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  for (const std::int64_t tick : {1, 4, 1000}) {
    for (const bool first : {true, false}) {
      const auto graph = keep(first ? a : b, first ? b : a, "", tick);
      EXPECT_EQ(Keep::indices, expected);
      ASSERT_EQ(Keep::gaps.size(), 1u);
      EXPECT_EQ(Keep::gaps[0].begin, 5);
      EXPECT_EQ(Keep::gaps[0].lost, 3);
    }
    // Later nodes are reset.
    run_graph(a + " ! join name=j ! framing window=4 hop=4 ! keep " + b + " ! j.",
              {.nodes = test_nodes(), .tick = tick});
    EXPECT_EQ(Keep::indices, (Indices{0, 2, 3, 4}));
  }
}

TEST_F(Joined, WhenOneEnds) {
  const std::string a = table("a", ramp(0, 20, 8, 1), "50"), b = table("b", ramp(0, 20, 5, -1), "50");
  keep(a, b, "end=hold");
  EXPECT_EQ(Keep::values, (Floats{0, 0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -4, 6, -4, 7, -4}));
  keep(a, b, "end=zeros");
  EXPECT_EQ(Keep::values, (Floats{0, 0, 1, -1, 2, -2, 3, -3, 4, -4, 5, 0, 6, 0, 7, 0}));
  keep(b, a, "end=hold");  // the first one is the clock
  EXPECT_EQ(Keep::indices.size(), 5u);
}

TEST_F(Joined, BranchesOfOneSourceAndOfThree) {
  const std::string a = table("a", ramp(0, 20, 40, 1), "50"), b = table("b", ramp(0, 20, 40, 2), "50"),
                    c = table("c", ramp(0, 20, 40, 3), "50");
  for (const std::int64_t tick : {1, 1000}) {
    run_graph(a + " name=s ! statistics window=8 hop=4 statistics=mean ! join name=j ! keep  s. ! statistics "
                  "window=8 hop=4 statistics=peak ! j.",
              {.nodes = test_nodes(), .tick = tick});
    ASSERT_EQ(Keep::values.size(), 18u);
    EXPECT_EQ(Keep::format.kind, Kind::frames);
    EXPECT_EQ(Keep::values[2], 7.5F);
    EXPECT_EQ(Keep::values[3], 11.0F);
    run_graph(a + " ! join name=j ! join name=k ! keep " + b + " ! j. " + c + " ! k.",
              {.nodes = test_nodes(), .tick = tick});
    EXPECT_EQ(Keep::format.channels, 3);
    EXPECT_EQ((Floats{Keep::values[3], Keep::values[4], Keep::values[5]}), (Floats{1, 2, 3}));
    run_graph(a + " ! join name=j ! keep " + b + " ! j. " + c + " ! j.",
              {.nodes = test_nodes(), .tick = tick});
    EXPECT_EQ((Floats{Keep::values[3], Keep::values[4], Keep::values[5]}), (Floats{1, 2, 3}));
  }
}

// An input may be resampled on its way, and sinks before a join are complete.
TEST_F(Joined, ResampledAndWritten) {
  const std::string a = table("a", ramp(0, 10, 400, 0.01F), "100"),
                    b = table("b", ramp(0, 20, 200, 0.02F), "50");
  const std::string path = (folder_.path() / "b.npy").string();
  run_graph(a + " ! join name=j ! keep " + b + " name=slow ! resample rate=100 ! j. slow. ! npy path=" + path,
            {.nodes = test_nodes(), .tick = 16});
  ASSERT_EQ(Keep::indices.size(), 400u);
  for (std::size_t i = 100; i < 300; ++i)
    EXPECT_NEAR(Keep::values[2 * i], Keep::values[2 * i + 1], 0.02) << i;
  EXPECT_EQ(read_npy(path).rows, 200);
}

TEST_F(Joined, MemoryIsBounded) {
  const std::string a = table("a", ramp(0, 20, 2000, 1), "50");
  // A window of 20 s holds its branch back by more than the buffer.
  const std::string text = failure_of(a + " name=s ! join method=hold buffer=1 name=j ! null  s. ! "
                                          "statistics window=1000 hop=1 statistics=mean ! j.",
                                      {.nodes = test_nodes(), .tick = 10});
  EXPECT_NE(text.find("s is more than 1 s ahead of another input of the join (buffer= allows more)"),
            std::string::npos)
      << text;
  run_graph(a + " name=s ! join method=hold buffer=30 name=j ! keep  s. ! statistics window=1000 hop=1 "
                "statistics=mean ! j.",
            {.nodes = test_nodes(), .tick = 10});
  EXPECT_EQ(Keep::indices.size(), 1001u);
}

TEST_F(Joined, WrongGraphsAreRefused) {
  const std::string a = table("a", ramp(0, 20, 5, 1), "50"), b = table("b", ramp(0, 10, 5, 1), "100");
  const auto failure = [&](const std::string& text) { return failure_of(text, {.nodes = test_nodes()}); };
  EXPECT_NE(failure(a + " ! join name=j ! null " + b + " ! j.")
                .find("csv gives audio 50 Hz, 1 channel, float32, csv gives audio 100 Hz, 1 channel, "
                      "float32; method=exact wants one rate: "
                      "put `resample` before the join, or take method=hold or method=linear"),
            std::string::npos);
  EXPECT_NE(failure(a + " ! join ! null").find("join has 1 input, expected 2 or more"), std::string::npos);
  EXPECT_NE(failure("join ! null").find("join needs an input"), std::string::npos);
  EXPECT_NE(failure("csv path=x rate=1 ! join name=j ! null name=n j. ! j.").find("part of a loop"),
            std::string::npos);
  EXPECT_NE(failure(a + " name=s ! join name=j ! join name=k ! null " + b + " ! j. s. ! k.")
                .find("s runs into two joins"),
            std::string::npos);
  std::ofstream(folder_.path() / "c") << "1\n2\n";
  EXPECT_NE(failure(a + " ! join align=time name=j ! null csv name=c rate=50 path=" +
                    (folder_.path() / "c").string() + " ! j.")
                .find("align=time: c has no time stamps"),
            std::string::npos);
  std::ofstream(folder_.path() / "a") << "t,x\n0,1\n20,2\n40,oops\n";
  EXPECT_NE(failure(a + " ! join method=hold name=j ! null " + b + " ! j.")
                .find("line 4, column 2 (x): expected a number, found 'oops'"),
            std::string::npos);
}

TEST(GraphText, JoinsAreWrittenAndReadAgain) {
  const std::string text = "csv path=a ! join name=j ! null csv path=b ! resample ! j. csv path=c ! j.";
  const Result<GraphText> graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  EXPECT_EQ(graph->nodes[1].more_inputs.size(), 2u);
  const std::string written = to_text(*graph);
  EXPECT_EQ(written,
            "csv path=a ! join name=j ! null csv path=b ! resample name=resample1 csv path=c name=csv1 "
            "resample1. ! j. csv1. ! j.");
  EXPECT_EQ(to_text(*parse_graph(written)), written);
}

}  // namespace
}  // namespace runnel::pipeline::test
