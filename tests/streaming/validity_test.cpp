#include "streaming/validity.h"

#include <gtest/gtest.h>

namespace runnel::streaming {
namespace {

TEST(Validity, AgreesWithTheDefinitionFrameByFrame) {
  for (std::int64_t first = -9; first <= 9; ++first) {
    for (std::int64_t length = 0; length <= 9; ++length) {
      for (std::int64_t frames = 0; frames <= 6; ++frames) {
        const Range range = data_range(first, length, frames);
        ASSERT_TRUE(0 <= range.from && range.from <= range.to && range.to <= frames);
        for (std::int64_t f = 0; f < frames; ++f) {
          const bool is_data = first + f >= 0 && first + f < length;
          EXPECT_EQ(is_data, f >= range.from && f < range.to) << first << ' ' << length << ' ' << f;
        }
      }
    }
  }
}

}  // namespace
}  // namespace runnel::streaming
