#include <gtest/gtest.h>

#include <limits>

#include "base/host/npy.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

using Floats = std::vector<float>;

class NpyRecording : public testing::Test {
 protected:
  template <class T>
  void write(DType type, const std::vector<std::int64_t>& shape, const std::vector<T>& values) {
    ASSERT_TRUE(write_npy(path_, type, shape, std::as_bytes(std::span(values))).ok());
  }
  void keep(const std::string& parameters, std::int64_t tick = 1000) {
    run_graph(source(parameters) + " ! keep", {.nodes = test_nodes(), .tick = tick});
  }
  std::string failure(const std::string& parameters) {
    return failure_of(source(parameters) + " ! keep", {.nodes = test_nodes()});
  }
  std::string source(const std::string& parameters) const {
    return "npy path=" + path_.string() + " " + parameters;
  }
  runnel::test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a.npy";
};

TEST_F(NpyRecording, GivesRowsOfEveryType) {
  write<float>(DType::float32, {3, 2}, {1, 2, 3, 4, 5, 6});
  for (const std::int64_t tick : {1, 2, 100}) {
    keep("rate=50", tick);
    EXPECT_EQ(Keep::values, (Floats{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(Keep::format.channels, 2);
    EXPECT_EQ(Keep::format.clock.rate(), 50);
  }
  write<std::int16_t>(DType::int16, {4}, {-32768, 0, 1, 32767});
  keep("rate=12.5");
  EXPECT_EQ(Keep::values, (Floats{-32768, 0, 1, 32767}));
  EXPECT_EQ(Keep::format.clock.sample_rate, 25);
  write<double>(DType::float64, {1, 2}, {0.25, -1e10});
  keep("rate=1");
  EXPECT_EQ(Keep::values, (Floats{0.25F, -1e10F}));
}

TEST_F(NpyRecording, WrongFilesGetASentence) {
  write<float>(DType::float32, {1, 2, 2}, {1, 2, 3, 4});
  EXPECT_NE(failure("rate=1").find("an array of 3 dimensions, expected [time, channels] or [time]"),
            std::string::npos);
  write<float>(DType::float32, {0, 2}, {});
  EXPECT_NE(failure("rate=1").find("has no rows"), std::string::npos);
  write<float>(DType::float32, {2, 2}, {1, 2, std::numeric_limits<float>::quiet_NaN(), 4});
  EXPECT_NE(failure("rate=1").find("row 1 of channel 0 is not a number"), std::string::npos);
  keep("rate=1 missing=fill");
  EXPECT_EQ(Keep::values, (Floats{1, 2, 0, 4}));
  EXPECT_NE(failure("").find("npy needs rate="), std::string::npos);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  EXPECT_NE(failure("rate=1").find("15 bytes of data, expected 16"), std::string::npos);
}

}  // namespace
}  // namespace runnel::pipeline::test
