#include "pipeline/host/live/sample_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace runnel::pipeline {
namespace {

TEST(SampleCode, ThereAndBack) {
  for (const SampleCode code : kSampleCodes) {
    std::vector<float> values;
    for (int i = -128; i < 128; ++i) values.push_back(static_cast<float>(i) / 128);
    std::vector<std::byte> bytes(values.size() * bytes_of(code));
    from_float(code, values, bytes.data());
    std::vector<float> back(values.size());
    to_float(code, bytes.data(), back);
    EXPECT_EQ(back, values) << name_of(code);
  }
}

TEST(SampleCode, IntegersSaturate) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const SampleCode code : {SampleCode::s16, SampleCode::s32, SampleCode::s24, SampleCode::s24_3}) {
    const std::vector<float> values = {1, 2, infinity, -1.5f, -infinity, std::nanf("")};
    std::vector<std::byte> bytes(values.size() * bytes_of(code));
    from_float(code, values, bytes.data());
    std::vector<float> back(values.size());
    to_float(code, bytes.data(), back);
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(back[static_cast<std::size_t>(i)], 1, 4e-5) << name_of(code);
    EXPECT_EQ(back[3], -1);
    EXPECT_EQ(back[4], -1);
    EXPECT_EQ(back[5], 0);
  }
}

}  // namespace
}  // namespace runnel::pipeline
