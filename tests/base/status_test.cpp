#include "base/status.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace runnel {
namespace {

TEST(Status, IsOkByDefaultAndSaysNothing) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.text(), "");
}

TEST(Status, BuildsASentence) {
  const Status status = Status(Code::invalid_data)
                        << "tensor " << 3 << ": rank " << std::size_t{9} << ", expected at most " << 6;
  EXPECT_EQ(status.code(), Code::invalid_data);
  EXPECT_EQ(status.text(), "tensor 3: rank 9, expected at most 6");
  EXPECT_EQ(status.at("model.rnl").text(), "model.rnl: tensor 3: rank 9, expected at most 6");
}

TEST(Status, WritesTheExtremesOfIntegers) {
  const Status status = Status(Code::ok) << std::numeric_limits<std::int64_t>::min() << ' '
                                         << std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(status.text(), "-9223372036854775808 18446744073709551615");
}

TEST(Status, MarksWhatDidNotFit) {
  Status status(Code::invalid_data, std::string(5000, 'x'));
  EXPECT_EQ(status.text().size(), RUNNEL_STATUS_CAPACITY - 1);
  EXPECT_TRUE(status.text().ends_with("x..."));
  status << "more";
  EXPECT_TRUE(status.text().ends_with("..."));
}

Result<int> half(int value) {
  if (value % 2 != 0) return Status(Code::invalid_argument) << value << " is odd";
  return value / 2;
}
Result<int> quarter(int value) {
  RUNNEL_ASSIGN(const int first, half(value));
  RUNNEL_ASSIGN(const int second, half(first));
  return second;
}

TEST(Result, CarriesAValueOrTheReason) {
  EXPECT_EQ(quarter(12).value(), 3);
  const auto failed = quarter(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().text(), "3 is odd");
}

}  // namespace
}  // namespace runnel
