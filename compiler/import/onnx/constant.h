// Values that are known while importing: initializers, attributes, and what is computed from them and from
// shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/limits.h"
#include "base/status.h"
#include "compiler/import/onnx/integers/grid.h"

namespace runnel::compiler::onnx_source {

using Dims = std::vector<std::int64_t>;

inline constexpr std::int64_t kMaxElements = limits::kImportedElements;  // of one tensor
inline constexpr std::size_t kMaxAxes =
    limits::kImportedAxes;  // of one value; tensors of the runtime have at most 6

// Dense, little endian, in the order of ONNX. Dimensions may be 0 (an empty list of axes is a constant, too).
struct Constant {
  DType dtype = DType::none;
  Dims dims;
  std::vector<std::byte> data;
  GridPtr grid = nullptr;  // of float32 that was dequantized

  [[nodiscard]] std::int64_t count() const {
    return static_cast<std::int64_t>(size_of(dtype) == 0 ? 0 : data.size() / size_of(dtype));
  }
};
using ConstantPtr = std::shared_ptr<const Constant>;

// Number of elements. Errors: invalid_data for negative dimensions, more than kMaxAxes of them, or more than
// kMaxElements elements.
Result<std::int64_t> checked_count(const Dims& dims);
std::string text_of(const Dims& dims);

[[nodiscard]] constexpr bool is_real(DType type) { return type == DType::float32 || type == DType::float64; }

// Elements as int64 (reals towards zero, saturated) or double.
std::vector<std::int64_t> integers_of(const Constant& constant);
std::vector<double> reals_of(const Constant& constant);
// The other way round; integers wrap, float32 is rounded once. `values` has one entry per element of `dims`.
Constant make_integers(DType dtype, Dims dims, std::span<const std::int64_t> values);
Constant make_reals(DType dtype, Dims dims, std::span<const double> values);

// Elements [from, from + steps) of the result are those of `x` at the given strides (in elements): slices,
// transpositions, broadcasts.
Constant strided(const Constant& x, const Dims& dims, std::int64_t offset,
                 const std::vector<std::int64_t>& strides);
// Strides of a dense tensor.
std::vector<std::int64_t> dense_strides(const Dims& dims);
// Axes in the order of `perm`: axis i of the result is axis perm[i] of x.
Constant transposed(const Constant& x, const std::vector<int>& perm);

// The shape that two shapes broadcast to. Errors: invalid_data.
Result<Dims> broadcast_dims(const Dims& a, const Dims& b);
// x repeated to `dims`, which it must broadcast to.
Result<Constant> broadcast_to(const Constant& x, const Dims& dims);

}  // namespace runnel::compiler::onnx_source
