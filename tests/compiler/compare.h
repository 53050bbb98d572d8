// Comparing recorded tensors.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "base/dtype.h"
#include "tests/compiler/run_graph.h"

namespace runnel::test {

// Element `index` as a number; NaN for types that nobody compares.
inline double element(const Bytes& bytes, DType type, std::size_t index) {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return static_cast<double>(value);
  };
  switch (type) {
    case DType::int8:
      return read(std::int8_t{});
    case DType::int16:
      return read(std::int16_t{});
    case DType::int32:
      return read(std::int32_t{});
    case DType::int64:
      return read(std::int64_t{});
    case DType::float32:
      return read(float{});
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

// The largest difference of two tensors; infinite when their sizes differ or a number is none.
inline double largest_difference(const Bytes& a, const Bytes& b, DType type) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size() / size_of(type); ++i) {
    const double difference = std::abs(element(a, type, i) - element(b, type, i));
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

}  // namespace runnel::test
