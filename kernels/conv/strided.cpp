#include "kernels/conv/strided.h"

#include <cstring>

namespace runnel::kernels {
namespace {

// Rows of the last axis, which take most of the time.
template <std::size_t kSize>
std::byte* copy_row(std::int32_t count, std::int64_t stride, const std::byte* x, std::byte* y) noexcept {
  if (stride == 1) {
    std::memcpy(y, x, static_cast<std::size_t>(count) * kSize);
    return y + static_cast<std::size_t>(count) * kSize;
  }
  for (std::int32_t i = 0; i < count; ++i, y += kSize)
    std::memcpy(y, x + i * stride * static_cast<std::int64_t>(kSize), kSize);
  return y;
}

template <std::size_t kSize>
std::byte* walk(const StridedCopy& copy, std::size_t axis, const std::byte* x, std::byte* y) noexcept {
  if (axis + 1 == static_cast<std::size_t>(copy.rank))
    return copy_row<kSize>(copy.dims[axis], copy.strides[axis], x, y);
  for (std::int32_t i = 0; i < copy.dims[axis]; ++i)
    y = walk<kSize>(copy, axis + 1, x + i * copy.strides[axis] * static_cast<std::int64_t>(kSize), y);
  return y;
}

}  // namespace

void strided_copy(const StridedCopy& copy, const void* x, void* y) noexcept {
  const auto* from = static_cast<const std::byte*>(x);
  auto* to = static_cast<std::byte*>(y);
  if (copy.rank == 0) {
    std::memcpy(to, from, copy.element_size);
    return;
  }
  switch (copy.element_size) {
    case 1:
      walk<1>(copy, 0, from, to);
      break;
    case 2:
      walk<2>(copy, 0, from, to);
      break;
    case 4:
      walk<4>(copy, 0, from, to);
      break;
    default:
      walk<8>(copy, 0, from, to);
      break;
  }
}

}  // namespace runnel::kernels
