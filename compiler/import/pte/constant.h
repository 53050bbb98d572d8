// Constants of a program, folded while importing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "compiler/ir/perm.h"

namespace runnel::compiler::pte_source {

using Dims = std::vector<std::int32_t>;
Dims permuted(const Dims& dims, const Perm& perm);

// Dense, axes in order, little endian.
struct Constant {
  DType dtype = DType::none;
  Dims dims;
  std::vector<std::byte> data;

  [[nodiscard]] std::size_t count() const { return data.size() / size_of(dtype); }
  // Element i of a constant of this type.
  template <class T>
  [[nodiscard]] T at(std::size_t i) const {
    T value;
    std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
    return value;
  }
};
using ConstantPtr = std::shared_ptr<const Constant>;

// Axes rearranged: axis i of the result is axis perm[i] of x.
Constant transposed(const Constant& x, const Perm& perm);
// float32 from numbers.
Constant floats(Dims dims, std::span<const float> values);
Constant integers(Dims dims, std::span<const std::int32_t> values);
// Elements of int8 to int64 constants. Errors: unsupported for others.
Result<std::vector<std::int64_t>> integers_of(const Constant& x);
// Elements of float32 and float64 constants. Errors: unsupported for others.
Result<std::vector<double>> numbers_of(const Constant& x);

}  // namespace runnel::compiler::pte_source
