// Strided copies: repeats, transposes, reversals; every element size.
#include "kernels/conv/strided.h"

#include <gtest/gtest.h>

#include <vector>

namespace runnel::kernels {
namespace {

template <class T>
void check_size() {
  const std::vector<T> x = {1, 2, 3, 4, 5, 6};
  StridedCopy copy;
  copy.element_size = sizeof(T);
  copy.rank = 3;
  copy.dims = {3, 2, 2};
  copy.strides = {1, 3, 0};  // [2][3] transposed, each element twice
  std::vector<T> y(12);
  strided_copy(copy, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<T>{1, 1, 4, 4, 2, 2, 5, 5, 3, 3, 6, 6}));
  copy.rank = 1;
  copy.dims = {6};
  copy.strides = {-1};
  y.resize(6);
  strided_copy(copy, x.data() + 5, y.data());
  EXPECT_EQ(y, (std::vector<T>{6, 5, 4, 3, 2, 1}));
  copy.rank = 0;
  strided_copy(copy, x.data() + 2, y.data());
  EXPECT_EQ(y[0], 3);
}

TEST(StridedCopy, WalksWithAStridePerAxis) {
  check_size<std::int8_t>();
  check_size<std::int16_t>();
  check_size<std::int32_t>();
  check_size<std::int64_t>();
}

}  // namespace
}  // namespace runnel::kernels
