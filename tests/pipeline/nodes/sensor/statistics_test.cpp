// The nodes that cut sensor streams into windows.
#include "pipeline/nodes/sensor/statistics.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/host/heap_memory.h"
#include "pipeline/nodes/sensor/framing.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

using Floats = std::vector<float>;

class Windows : public testing::Test {
 protected:
  // `csv ! chain ! keep` over `rows` rows of two channels at 50 Hz without the rows from..to.
  void keep(const std::string& chain, int rows, std::int64_t tick, int from = 0, int to = 0, int start = 0) {
    std::ofstream file(path_);
    file << "t,a,b\n";
    for (int i = start; i < rows; ++i) {
      if (i < from || i >= to) file << i * 20 << ',' << (i * 37) % 101 << ',' << -i % 13 << '\n';
    }
    file.close();
    run_graph("csv path=" + path_.string() + " time=t time_unit=ms ! " + chain + " ! keep",
              {.nodes = test_nodes(), .tick = tick});
  }
  std::string failure(const std::string& chain) {
    std::ofstream(path_) << "1,2\n3,4\n";
    return failure_of("csv path=" + path_.string() + " rate=50 ! " + chain + " ! keep",
                      {.nodes = test_nodes()});
  }
  runnel::test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a.csv";
};

TEST_F(Windows, FramingGivesTheSamplesOfEveryWindow) {
  for (const std::int64_t tick : {1, 3, 1000}) {
    for (const char* lengths : {"window=4 hop=3", "window=80ms hop=0.06s"}) {
      keep(std::string("framing ") + lengths, 11, tick);
      ASSERT_EQ(Keep::format.channels, 8);
      ASSERT_EQ(Keep::indices, (std::vector<std::int64_t>{0, 1, 2}));
      EXPECT_EQ(Keep::format.clock.first_sample(2), 6);
      EXPECT_EQ(Keep::format.clock.end_sample(2), 10);
      for (int j = 0; j < 3; ++j) {
        for (int i = 0; i < 4; ++i) {
          EXPECT_EQ(Keep::values[static_cast<std::size_t>(8 * j + 2 * i)],
                    static_cast<float>((3 * j + i) * 37 % 101));
          EXPECT_EQ(Keep::values[static_cast<std::size_t>(8 * j + 2 * i + 1)],
                    static_cast<float>(-(3 * j + i) % 13));
        }
      }
    }
  }
}

// After a gap, windows stay on the same grid, and equal those of the part alone.
TEST_F(Windows, StartAfreshBehindAGap) {
  const std::string chain = "statistics window=16 hop=5 statistics=mean,std,band_power bands=0-5,5-25";
  for (const std::int64_t tick : {1, 17, 1000}) {
    keep(chain, 200, tick, 60, 83);
    const std::vector<std::int64_t> indices = Keep::indices;
    const Floats values = Keep::values;
    keep(chain, 60, tick);
    std::vector<std::int64_t> expected = Keep::indices;
    Floats all = Keep::values;
    keep(chain, 200, tick, 0, 0, 85);  // the first point of the grid after the gap
    for (const std::int64_t index : Keep::indices) expected.push_back(index + 17);
    all.insert(all.end(), Keep::values.begin(), Keep::values.end());
    EXPECT_EQ(indices, expected);
    EXPECT_EQ(values, all);
  }
}

TEST_F(Windows, CountBeyond32Bits) {
  const std::int64_t far = (std::int64_t{1} << 40) + 1;
  Floats samples(40);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<float>(i % 7);
  const auto first_of = [&](auto& node, const char* type) {
    HeapMemory memory;
    Format format;
    format.kind = Kind::audio;
    format.dtype = DType::float32;
    format.channels = 1;
    format.clock.sample_rate = 50;
    NodeContext context{.memory = memory,
                        .label = type,
                        .input_label = "test",
                        .input = format,
                        .max_input = 40,
                        .operators = {},
                        .fast = {},
                        .output = format,
                        .fix = {}};
    EXPECT_TRUE(node.prepare(context).ok());
    std::vector<float> room(static_cast<std::size_t>(context.max_output * context.output.channels));
    Output out{.data = reinterpret_cast<std::byte*>(room.data()), .capacity = context.max_output};
    EXPECT_EQ(node.reset(far), (far + 9) / 10);
    EXPECT_TRUE(node.process({reinterpret_cast<const std::byte*>(samples.data()), 40, far}, out).ok());
    EXPECT_EQ(out.first, (far + 9) / 10);
    EXPECT_EQ(context.output.clock.first_sample(out.first), (far + 9) / 10 * 10);
    return room[0];
  };
  const auto skipped = static_cast<std::size_t>((far + 9) / 10 * 10 - far);
  HeapMemory nodes;
  auto* framing = static_cast<Framing*>(Framing::type.make(nodes));
  framing->window = framing->hop = "10";
  EXPECT_EQ(first_of(*framing, "framing"), samples[skipped]);
  auto* statistics = static_cast<Statistics*>(Statistics::type.make(nodes));
  statistics->window = statistics->hop = "10";
  statistics->statistics = "peak";
  EXPECT_EQ(first_of(*statistics, "statistics"), 6.0F);
}

TEST_F(Windows, NormaliseSamplesOfSeveralChannels) {
  keep("cmvn mean=50,-6 deviation=2,4", 5, 1000);
  EXPECT_EQ(Keep::format.kind, Kind::audio);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(Keep::values[2 * i], (static_cast<float>(i * 37 % 101) - 50) / 2);
    EXPECT_EQ(Keep::values[2 * i + 1], (-static_cast<float>(i) + 6) / 4);
  }
}

TEST_F(Windows, WrongParametersAreNamed) {
  EXPECT_EQ(failure("framing window=0"),
            "framing: window=0: expected 1 to 1048576 frames of the input, as a whole number or as a time "
            "(2.56s, 40ms)");
  EXPECT_EQ(failure("framing hop=1ms"),
            "framing: hop=1ms: expected 1 to 1048576 frames of the input, as a whole number or as a time "
            "(2.56s, 40ms)");
  EXPECT_EQ(failure("statistics window=1.5"),
            "statistics: window=1.5: expected 1 to 1048576 frames of the input, as a whole number or as a "
            "time (2.56s, 40ms)");
  EXPECT_EQ(failure("statistics statistics=mean,rsm"),
            "statistics: statistics: there is no 'rsm', did you mean 'rms'?");
  EXPECT_EQ(failure("statistics statistics=band_power bands=1-2,5"),
            "statistics: bands: '5' is not a band; expected LOW-HIGH in Hz, such as 0.5-5");
  EXPECT_EQ(failure("statistics statistics=band_power bands=0-50"),
            "statistics: bands=0-50: expected 0 <= low < high <= 25 Hz, half the rate");
}

// A rate of 12.5 Hz: gaps and events are still reported in seconds.
TEST_F(Windows, EventsAndGapsOfFractionalRates) {
  std::ofstream(path_) << "t,x\n0,1\n0.08,2\n0.40,3\n0.48,4\n0.56,5\n";
  const std::string out = (folder_.path() / "out.jsonl").string();
  run_graph("csv path=" + path_.string() +
            " time=t ! framing window=1 hop=1 ! detect mode=clip labels=a ! jsonl source=x path=" + out);
  EXPECT_EQ(read_text(out),
            "{\"type\":\"event\",\"source\":\"x\",\"label\":\"a\",\"score\":1.0000,\"start\":0.000,\"end\":0."
            "160,\"frame\":1}\n"
            "{\"type\":\"gap\",\"source\":\"x\",\"start\":0.160,\"end\":0.400,\"lost_samples\":3}\n"
            "{\"type\":\"event\",\"source\":\"x\",\"label\":\"a\",\"score\":1.0000,\"start\":0.400,\"end\":0."
            "640,\"frame\":7}\n");
}

}  // namespace
}  // namespace runnel::pipeline::test
