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

TEST_F(NpyRecording, ExtremesOfTheIntegers) {
  const auto expect_ends = [&]<class T>(DType type, T) {
    using Limits = std::numeric_limits<T>;
    write<T>(type, {3}, {Limits::lowest(), 1, Limits::max()});
    keep("rate=1");
    EXPECT_EQ(Keep::values,
              (Floats{static_cast<float>(Limits::lowest()), 1, static_cast<float>(Limits::max())}))
        << name_of(type);
  };
  expect_ends(DType::int8, std::int8_t{});
  expect_ends(DType::uint8, std::uint8_t{});
  expect_ends(DType::uint16, std::uint16_t{});
  expect_ends(DType::int32, std::int32_t{});
  expect_ends(DType::int64, std::int64_t{});
  write<std::uint8_t>(DType::boolean, {3}, {1, 0, 1});
  keep("rate=1");
  EXPECT_EQ(Keep::values, (Floats{1, 0, 1}));
}

TEST_F(NpyRecording, WhatIsNoFileGetsASentence) {
  const std::string name = path_.string();
  EXPECT_EQ(failure("rate=1"), "npy: " + name + ": there is no such file");
  std::filesystem::create_directory(path_);
  EXPECT_EQ(failure("rate=1"), "npy: " + name + ": is a folder, expected a .npy file");
}

TEST_F(NpyRecording, ChannelsHaveALimit) {
  const std::string name = path_.string();
  write<std::int8_t>(DType::int8, {1, 4096}, std::vector<std::int8_t>(4096, 3));
  keep("rate=1");
  EXPECT_EQ(Keep::values, Floats(4096, 3));
  write<std::int8_t>(DType::int8, {1, 4097}, std::vector<std::int8_t>(4097));
  EXPECT_EQ(failure("rate=1"), "npy: " + name + ": 4097 channels, expected 1 to 4096");
  write<std::int8_t>(DType::int8, {2, 0}, {});
  EXPECT_EQ(failure("rate=1"), "npy: " + name + ": 0 channels, expected 1 to 4096");
}

TEST_F(NpyRecording, RatesAreFractions) {
  write<float>(DType::float32, {2}, {1, 2});
  EXPECT_EQ(failure("rate=0.0000123456"),
            "npy: rate=1.23456e-05 Hz: expected a rate that is a fraction with a denominator up to 100000");
}

// The size of the file was right when it was opened.
TEST_F(NpyRecording, AFileThatIsCutWhileItIsReadGetsASentence) {
  write<float>(DType::float32, {100'000}, Floats(100'000, 0.5F));
  auto graph = Graph::build(source("rate=1000") + " ! keep", {.nodes = test_nodes(), .tick = 1000});
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  bool done = false;
  ASSERT_TRUE((*graph)->step(done).ok());
  EXPECT_EQ(Keep::values, Floats(1000, 0.5F));
  std::filesystem::resize_file(path_, 300'000);
  const Status status = (*graph)->run();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::io_error);
  const std::string text(status.text());
  EXPECT_NE(text.find(path_.string() + ": cannot be read after row 74000"), std::string::npos) << text;
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
