#include "base/number_text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

namespace runnel {
namespace {

template <class T>
std::string of_library(T value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

TEST(NumberText, WritesWhatPeopleWrite) {
  for (const double value :
       {0.0, 1.0,  -1.0,   0.5,  0.97,         25.0,       16000.0, 44100.0,   0.001, 0.0001, 1e-5,  1e-10,
        1e6, 1e20, 7600.0, 0.85, 1.1920929e-7, 123456.789, -0.25,   2097152.0, 1e300, 1e-300, 5e-324}) {
    EXPECT_EQ(shortest_text(value).view(), of_library(value));
    EXPECT_EQ(shortest_text(static_cast<float>(value)).view(), of_library(static_cast<float>(value)));
  }
  EXPECT_EQ(shortest_text(std::numeric_limits<double>::quiet_NaN()).view(), "nan");
  EXPECT_EQ(shortest_text(-std::numeric_limits<float>::infinity()).view(), "-inf");
}

template <class T, class Bits>
void reads_back() {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto bits = static_cast<Bits>(random());
    T value = 0, back = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value)) continue;
    // Every other one in the range of parameters.
    if (i % 2 == 0)
      value = std::ldexp(static_cast<T>(static_cast<std::int32_t>(bits)), -static_cast<int>(random() % 40));
    const auto text = shortest_text(value);
    const auto read = std::from_chars(text.view().data(), text.view().data() + text.view().size(), back);
    ASSERT_EQ(read.ec, std::errc()) << text.view();
    ASSERT_EQ(read.ptr, text.view().data() + text.view().size());
    if (std::abs(value) > std::numeric_limits<T>::min() * 1e6f || value == 0) {
      ASSERT_EQ(back, value) << text.view() << ", expected " << of_library(value);
    }
    ASSERT_LE(text.view().size(), of_library(value).size() + 2);
  }
}
TEST(NumberText, ReadsBackTheSameDouble) { reads_back<double, std::uint64_t>(); }
TEST(NumberText, ReadsBackTheSameFloat) { reads_back<float, std::uint32_t>(); }

}  // namespace
}  // namespace runnel
