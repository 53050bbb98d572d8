#include "compiler/import/pte/constant.h"

#include <algorithm>

namespace runnel::compiler::pte_source {

Dims permuted(const Dims& dims, const Perm& perm) {
  Dims out;
  for (const int axis : perm) out.push_back(dims[static_cast<std::size_t>(axis)]);
  return out;
}

Constant transposed(const Constant& x, const Perm& perm) {
  const std::size_t rank = x.dims.size(), element = size_of(x.dtype);
  std::vector<std::size_t> from(rank, element), step;
  for (std::size_t i = rank; i-- > 1;) from[i - 1] = from[i] * static_cast<std::size_t>(x.dims[i]);
  Constant y{x.dtype, permuted(x.dims, perm), std::vector<std::byte>(x.data.size())};
  for (const int axis : perm) step.push_back(from[static_cast<std::size_t>(axis)]);
  std::vector<std::int32_t> index(rank, 0);
  std::size_t source = 0;
  for (std::size_t at = 0; at + element <= y.data.size(); at += element) {
    std::memcpy(y.data.data() + at, x.data.data() + source, element);
    for (std::size_t i = rank; i-- > 0;) {
      source += step[i];
      if (++index[i] < y.dims[i]) break;
      source -= step[i] * static_cast<std::size_t>(y.dims[i]);
      index[i] = 0;
    }
  }
  return y;
}

Constant floats(Dims dims, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {DType::float32, std::move(dims), {bytes.begin(), bytes.end()}};
}

Constant integers(Dims dims, std::span<const std::int32_t> values) {
  const auto bytes = std::as_bytes(values);
  return {DType::int32, std::move(dims), {bytes.begin(), bytes.end()}};
}

Result<std::vector<std::int64_t>> integers_of(const Constant& x) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < x.count(); ++i) {
    switch (x.dtype) {
      case DType::int8:
        out.push_back(x.at<std::int8_t>(i));
        break;
      case DType::uint8:
        out.push_back(x.at<std::uint8_t>(i));
        break;
      case DType::int16:
        out.push_back(x.at<std::int16_t>(i));
        break;
      case DType::int32:
        out.push_back(x.at<std::int32_t>(i));
        break;
      case DType::int64:
        out.push_back(x.at<std::int64_t>(i));
        break;
      default:
        return Status(Code::unsupported) << "a constant of " << name_of(x.dtype) << ", expected integers";
    }
  }
  return out;
}

Result<std::vector<double>> numbers_of(const Constant& x) {
  std::vector<double> out;
  for (std::size_t i = 0; i < x.count(); ++i) {
    switch (x.dtype) {
      case DType::float32:
        out.push_back(static_cast<double>(x.at<float>(i)));
        break;
      case DType::float64:
        out.push_back(x.at<double>(i));
        break;
      default:
        return Status(Code::unsupported)
               << "a constant of " << name_of(x.dtype) << ", expected float32 or float64";
    }
  }
  return out;
}

}  // namespace runnel::compiler::pte_source
