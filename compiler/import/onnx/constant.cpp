#include "compiler/import/onnx/constant.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.h"

namespace runnel::compiler::onnx_source {
namespace {

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// f(element as its own type) for all elements.
template <class F>
void each(const Constant& constant, F f) {
  const std::byte* at = constant.data.data();
  const std::int64_t count = constant.count();
  const auto all = [&]<class T>(T) {
    for (std::int64_t i = 0; i < count; ++i) f(read<T>(at + static_cast<std::size_t>(i) * sizeof(T)));
  };
  switch (constant.dtype) {
    case DType::float32:
      return all(float{});
    case DType::float64:
      return all(double{});
    case DType::int8:
      return all(std::int8_t{});
    case DType::uint8:
    case DType::boolean:
      return all(std::uint8_t{});
    case DType::int16:
      return all(std::int16_t{});
    case DType::uint16:
      return all(std::uint16_t{});
    case DType::int32:
      return all(std::int32_t{});
    case DType::int64:
      return all(std::int64_t{});
    case DType::none:
      break;
  }
}

std::int64_t to_integer(double value) {
  constexpr double kMax = 9223372036854774784.0;  // the largest double below 2^63
  if (value != value) return 0;
  return static_cast<std::int64_t>(std::clamp(value, -kMax, kMax));
}

}  // namespace

Result<std::int64_t> checked_count(const Dims& dims) {
  if (dims.size() > kMaxAxes)
    return Status(Code::invalid_data) << "rank " << dims.size() << ", expected at most " << kMaxAxes;
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim > kMaxElements || (dim > 0 && count > kMaxElements / dim)) {
      return Status(Code::invalid_data)
             << "shape " << text_of(dims) << ", expected dimensions of 0 or more and at most " << kMaxElements
             << " elements";
    }
    count *= dim;
  }
  return count;
}

std::string text_of(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + "]";
}

std::vector<std::int64_t> integers_of(const Constant& constant) {
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(constant.count()));
  each(constant, [&]<class T>(T value) {
    if constexpr (std::is_floating_point_v<T>)
      values.push_back(to_integer(value));
    else
      values.push_back(static_cast<std::int64_t>(value));
  });
  return values;
}

std::vector<double> reals_of(const Constant& constant) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(constant.count()));
  each(constant, [&](auto value) { values.push_back(static_cast<double>(value)); });
  return values;
}

Constant make_integers(DType dtype, Dims dims, std::span<const std::int64_t> values) {
  if (is_real(dtype)) {
    std::vector<double> reals(values.begin(), values.end());
    return make_reals(dtype, std::move(dims), reals);
  }
  Constant out{dtype, std::move(dims), {}};
  const std::size_t size = size_of(dtype);
  out.data.resize(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t value =
        dtype == DType::boolean ? static_cast<std::int64_t>(values[i] != 0) : values[i];
    std::memcpy(out.data.data() + i * size, &value, size);
  }
  return out;
}

Constant make_reals(DType dtype, Dims dims, std::span<const double> values) {
  if (!is_real(dtype)) {
    std::vector<std::int64_t> integers;
    for (const double value : values)
      integers.push_back(dtype == DType::boolean ? static_cast<std::int64_t>(value != 0) : to_integer(value));
    return make_integers(dtype, std::move(dims), integers);
  }
  Constant out{dtype, std::move(dims), {}};
  out.data.resize(values.size() * size_of(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::float64) {
      std::memcpy(out.data.data() + i * 8, &values[i], 8);
    } else {
      const auto value = static_cast<float>(values[i]);
      std::memcpy(out.data.data() + i * 4, &value, 4);
    }
  }
  return out;
}

std::vector<std::int64_t> dense_strides(const Dims& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

Constant strided(const Constant& x, const Dims& dims, std::int64_t offset,
                 const std::vector<std::int64_t>& strides) {
  Constant out{x.dtype, dims, {}, x.grid};
  const std::size_t size = size_of(x.dtype);
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  out.data.resize(static_cast<std::size_t>(count) * size);
  std::vector<std::int64_t> at(dims.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out.data.data() + static_cast<std::size_t>(i) * size,
                x.data.data() + static_cast<std::size_t>(offset) * size, size);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < dims[axis]) break;
      offset -= strides[axis] * dims[axis];
      at[axis] = 0;
    }
  }
  return out;
}

Constant transposed(const Constant& x, const std::vector<int>& perm) {
  const std::vector<std::int64_t> from = dense_strides(x.dims);
  Dims dims;
  std::vector<std::int64_t> strides;
  for (const int axis : perm) {
    dims.push_back(x.dims[static_cast<std::size_t>(axis)]);
    strides.push_back(from[static_cast<std::size_t>(axis)]);
  }
  return strided(x, dims, 0, strides);
}

Result<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1,
                       db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1)
      return Status(Code::invalid_data)
             << "operands of " << text_of(a) << " and " << text_of(b) << " do not fit";
    dims[dims.size() - 1 - i] = da == 1 ? db : da;
  }
  RUNNEL_TRY(checked_count(dims).status());
  return dims;
}

Result<Constant> broadcast_to(const Constant& x, const Dims& dims) {
  RUNNEL_ASSIGN(const Dims fitted, broadcast_dims(x.dims, dims));
  if (fitted != dims)
    return Status(Code::invalid_data) << text_of(x.dims) << " cannot be repeated to " << text_of(dims);
  const std::vector<std::int64_t> from = dense_strides(x.dims);
  std::vector<std::int64_t> strides(dims.size(), 0);
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    if (x.dims[i] != 1) strides[dims.size() - x.dims.size() + i] = from[i];
  }
  return strided(x, dims, 0, strides);
}

}  // namespace runnel::compiler::onnx_source
