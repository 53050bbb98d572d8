#include "kernels/movement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace runnel::kernels {
namespace {

std::int64_t elements(int rank, const Dims& dims) {
  return std::accumulate(dims.begin(), dims.begin() + rank, std::int64_t{1}, std::multiplies<>());
}

Dims index_of(int rank, const Dims& dims, std::int64_t flat) {
  Dims index{};
  for (int axis = rank - 1; axis >= 0; --axis) {
    index[static_cast<std::size_t>(axis)] =
        static_cast<std::int32_t>(flat % dims[static_cast<std::size_t>(axis)]);
    flat /= dims[static_cast<std::size_t>(axis)];
  }
  return index;
}

std::int64_t flat_of(int rank, const Dims& dims, const Dims& index) {
  std::int64_t flat = 0;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis)
    flat = flat * dims[axis] + index[axis];
  return flat;
}

template <class T>
class Movement : public ::testing::Test {
 protected:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  Dims dims(int rank) {
    Dims dims{};
    for (int axis = 0; axis < rank; ++axis) dims[static_cast<std::size_t>(axis)] = pick(1, 4);
    return dims;
  }
  std::vector<T> numbers(std::int64_t count) {
    std::vector<T> x(static_cast<std::size_t>(count));
    for (T& v : x) v = static_cast<T>(engine_());
    return x;
  }
  std::mt19937_64 engine_{11};
};
using Elements = ::testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Movement, Elements);

TYPED_TEST(Movement, TransposeMovesEveryElement) {
  for (int repeat = 0; repeat < 300; ++repeat) {
    const int rank = this->pick(0, kMaxRank);
    const Dims x_dims = this->dims(rank);
    std::vector<std::uint8_t> perm;
    for (int axis = 0; axis < rank; ++axis) perm.push_back(static_cast<std::uint8_t>(axis));
    std::shuffle(perm.begin(), perm.end(), this->engine_);
    Dims y_dims{};
    for (std::size_t axis = 0; axis < perm.size(); ++axis) y_dims[axis] = x_dims[perm[axis]];
    const auto x = this->numbers(elements(rank, x_dims));
    std::vector<TypeParam> y(x.size());
    transpose(sizeof(TypeParam), rank, x_dims, perm, x.data(), y.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const Dims at = index_of(rank, y_dims, static_cast<std::int64_t>(i));
      Dims from{};
      for (std::size_t axis = 0; axis < perm.size(); ++axis) from[perm[axis]] = at[axis];
      ASSERT_EQ(y[i], x[static_cast<std::size_t>(flat_of(rank, x_dims, from))]);
    }
  }
}

// Bytes move in tiles of eight by eight where there are as many.
TYPED_TEST(Movement, RowsBecomeColumns) {
  for (const int rows : {1, 7, 8, 9, 16, 17, 24, 31}) {
    for (const int columns : {1, 7, 8, 9, 16, 17, 24, 31}) {
      const Dims x_dims = {2, rows, columns};
      const std::vector<std::uint8_t> perm = {0, 2, 1};
      const auto x = this->numbers(elements(3, x_dims));
      std::vector<TypeParam> y(x.size());
      transpose(sizeof(TypeParam), 3, x_dims, perm, x.data(), y.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto r = static_cast<std::size_t>(rows), c = static_cast<std::size_t>(columns);
        ASSERT_EQ(y[i / (r * c) * r * c + i % c * r + i / c % r], x[i]) << rows << " x " << columns;
      }
    }
  }
}

TYPED_TEST(Movement, SliceTakesStepsInBothDirections) {
  for (int repeat = 0; repeat < 300; ++repeat) {
    const int rank = this->pick(1, kMaxRank);
    const Dims x_dims = this->dims(rank);
    Dims begin{}, step{}, y_dims{};
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis) {
      begin[axis] = this->pick(0, x_dims[axis] - 1);
      step[axis] = this->pick(0, 1) == 0 ? this->pick(1, 2) : -this->pick(1, 2);
      const int room =
          step[axis] > 0 ? (x_dims[axis] - 1 - begin[axis]) / step[axis] : begin[axis] / -step[axis];
      y_dims[axis] = this->pick(1, room + 1);
    }
    const auto x = this->numbers(elements(rank, x_dims));
    std::vector<TypeParam> y(static_cast<std::size_t>(elements(rank, y_dims)));
    slice(sizeof(TypeParam), rank, x_dims, begin, step, y_dims, x.data(), y.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      Dims at = index_of(rank, y_dims, static_cast<std::int64_t>(i));
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis)
        at[axis] = begin[axis] + at[axis] * step[axis];
      ASSERT_EQ(y[i], x[static_cast<std::size_t>(flat_of(rank, x_dims, at))]);
    }
  }
}

TYPED_TEST(Movement, ConcatenatedPartsAreSlicesOfTheWhole) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    const int rank = this->pick(1, kMaxRank);
    const int axis = this->pick(0, rank - 1);
    const auto on = static_cast<std::size_t>(axis);
    Dims a = this->dims(rank), b = a, y_dims = a;
    b[on] = this->pick(1, 4);
    y_dims[on] = a[on] + b[on];
    const auto x = this->numbers(elements(rank, a)), z = this->numbers(elements(rank, b));
    std::vector<TypeParam> y(static_cast<std::size_t>(elements(rank, y_dims)));
    concat_into(sizeof(TypeParam), rank, axis, a, y_dims, 0, x.data(), y.data());
    concat_into(sizeof(TypeParam), rank, axis, b, y_dims, a[on], z.data(), y.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      Dims at = index_of(rank, y_dims, static_cast<std::int64_t>(i));
      const bool second = at[on] >= a[on];
      if (second) at[on] -= a[on];
      ASSERT_EQ(y[i], second ? z[static_cast<std::size_t>(flat_of(rank, b, at))]
                             : x[static_cast<std::size_t>(flat_of(rank, a, at))]);
    }
  }
}

TYPED_TEST(Movement, PadPutsTheValueAround) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    const int rank = this->pick(1, kMaxRank);
    const Dims x_dims = this->dims(rank);
    Dims before{}, y_dims{};
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis) {
      before[axis] = this->pick(0, 2);
      y_dims[axis] = before[axis] + x_dims[axis] + this->pick(0, 2);
    }
    const auto x = this->numbers(elements(rank, x_dims));
    const auto value = static_cast<TypeParam>(this->engine_());
    std::vector<TypeParam> y(static_cast<std::size_t>(elements(rank, y_dims)));
    pad_constant(sizeof(TypeParam), rank, x_dims, before, y_dims, &value, x.data(), y.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      Dims at = index_of(rank, y_dims, static_cast<std::int64_t>(i));
      bool inside = true;
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis) {
        at[axis] -= before[axis];
        inside = inside && at[axis] >= 0 && at[axis] < x_dims[axis];
      }
      ASSERT_EQ(y[i], inside ? x[static_cast<std::size_t>(flat_of(rank, x_dims, at))] : value);
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
