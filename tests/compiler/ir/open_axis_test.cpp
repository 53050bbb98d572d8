#include "compiler/ir/open_axis.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace runnel::compiler {
namespace {

std::int64_t length(const std::vector<std::int64_t>& dims, std::int64_t elements) {
  return open_length(dims, elements);
}

TEST(OpenAxis, HasTheLengthThatTheDataGives) {
  EXPECT_EQ(length({1, -1, 40}, 3920), 98);
  EXPECT_EQ(length({-1}, 7), 7);
  EXPECT_EQ(length({1, -1, 40}, 3921), 0);
  EXPECT_EQ(length({1, -1, 40}, 0), 0);
  EXPECT_EQ(length({1, 98, 40}, 3920), 0) << "none is open";
  EXPECT_EQ(length({-1, -1, 40}, 3920), 0) << "two are";
  EXPECT_EQ(length({0, -1}, 5), 0);
}

// Multiplied without looking, these give 1.
TEST(OpenAxis, DimensionsOfAFileMayBeAnything) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(length({kMax, kMax, -1}, 98), 0);
  EXPECT_EQ(length({kMax, -1}, kMax), 1);
}

}  // namespace
}  // namespace runnel::compiler
