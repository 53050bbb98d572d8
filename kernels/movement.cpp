#include "kernels/movement.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace runnel::kernels {
namespace {

using Steps = std::array<std::int64_t, kMaxRank>;

// Bytes between neighbours on each axis of a dense tensor.
Steps dense_steps(std::size_t element_size, int rank, const Dims& dims) noexcept {
  Steps steps{};
  auto step = static_cast<std::int64_t>(element_size);
  for (int axis = rank - 1; axis >= 0; --axis) {
    steps[axis] = step;
    step *= dims[axis];
  }
  return steps;
}

template <std::size_t kSize>
void copy_line(std::int64_t count, const std::byte* x, std::int64_t x_step, std::byte* y,
               std::int64_t y_step) noexcept {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(y + i * y_step, x + i * x_step, kSize);
}

#if defined(__SSE2__)
// Eight rows of eight bytes become columns.
void transpose_tile(const std::byte* x, std::int64_t x_step, std::byte* y, std::int64_t y_step) noexcept {
  __m128i rows[4];
  for (int i = 0; i < 4; ++i)
    rows[i] = _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + 2 * i * x_step)),
                                _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + (2 * i + 1) * x_step)));
  const __m128i low[2] = {_mm_unpacklo_epi16(rows[0], rows[1]), _mm_unpacklo_epi16(rows[2], rows[3])},
                high[2] = {_mm_unpackhi_epi16(rows[0], rows[1]), _mm_unpackhi_epi16(rows[2], rows[3])};
  const __m128i pairs[4] = {_mm_unpacklo_epi32(low[0], low[1]), _mm_unpackhi_epi32(low[0], low[1]),
                            _mm_unpacklo_epi32(high[0], high[1]), _mm_unpackhi_epi32(high[0], high[1])};
  for (int j = 0; j < 4; ++j) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y + 2 * j * y_step), pairs[j]);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y + (2 * j + 1) * y_step), _mm_srli_si128(pairs[j], 8));
  }
}
// y[j * y_step + i] = x[i * x_step + j].
void transpose_bytes(std::int64_t rows, std::int64_t columns, const std::byte* x, std::int64_t x_step,
                     std::byte* y, std::int64_t y_step) noexcept {
  std::int64_t done = 0;
  for (; done + 8 <= columns; done += 8) {
    std::int64_t i = 0;
    for (; i + 8 <= rows; i += 8)
      transpose_tile(x + i * x_step + done, x_step, y + done * y_step + i, y_step);
    for (std::int64_t j = done; j < done + 8; ++j)
      copy_line<1>(rows - i, x + i * x_step + j, x_step, y + j * y_step + i, 1);
  }
  for (; done < columns; ++done) copy_line<1>(rows, x + done, x_step, y + done * y_step, 1);
}
#endif

// Copies a box of `dims` elements between two layouts. Merges axes that are dense on both sides first, so
// that the innermost loop is as long as possible.
void copy_box(std::size_t element_size, int rank, const Dims& dims, const void* from, const Steps& from_steps,
              void* to, const Steps& to_steps) noexcept {
  std::array<std::int64_t, kMaxRank> sizes{};
  Steps x_steps{}, y_steps{};
  int axes = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (dims[axis] <= 0) return;
    if (dims[axis] == 1) continue;
    if (axes > 0 && x_steps[axes - 1] == from_steps[axis] * dims[axis] &&
        y_steps[axes - 1] == to_steps[axis] * dims[axis]) {
      sizes[axes - 1] *= dims[axis];
      x_steps[axes - 1] = from_steps[axis];
      y_steps[axes - 1] = to_steps[axis];
      continue;
    }
    sizes[axes] = dims[axis];
    x_steps[axes] = from_steps[axis];
    y_steps[axes] = to_steps[axis];
    ++axes;
  }
  const auto size = static_cast<std::int64_t>(element_size);
  const auto* x = static_cast<const std::byte*>(from);
  auto* y = static_cast<std::byte*>(to);
  std::int64_t line = 1, x_step = size, y_step = size;
  if (axes > 0) {
    --axes;
    line = sizes[axes];
    x_step = x_steps[axes];
    y_step = y_steps[axes];
  }
#if defined(__SSE2__)
  // Rows of bytes that become columns.
  std::int64_t columns = 0, column_step = 0;
  if (size == 1 && axes > 0 && y_step == 1 && x_step != 1 && x_steps[axes - 1] == 1) {
    --axes;
    columns = sizes[axes];
    column_step = y_steps[axes];
  }
#endif
  std::array<std::int64_t, kMaxRank> index{};
  while (true) {
#if defined(__SSE2__)
    if (columns > 0)
      transpose_bytes(line, columns, x, x_step, y, column_step);
    else
#endif
        if (x_step == size && y_step == size) {
      std::memcpy(y, x, static_cast<std::size_t>(line * size));
    } else if (size == 1) {
      copy_line<1>(line, x, x_step, y, y_step);
    } else if (size == 2) {
      copy_line<2>(line, x, x_step, y, y_step);
    } else if (size == 4) {
      copy_line<4>(line, x, x_step, y, y_step);
    } else {
      copy_line<8>(line, x, x_step, y, y_step);
    }
    int axis = axes - 1;
    for (; axis >= 0; --axis) {
      x += x_steps[axis];
      y += y_steps[axis];
      if (++index[axis] < sizes[axis]) break;
      x -= x_steps[axis] * sizes[axis];
      y -= y_steps[axis] * sizes[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

std::int64_t elements(int rank, const Dims& dims) noexcept {
  std::int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) count *= dims[axis];
  return count;
}

}  // namespace

void transpose(std::size_t element_size, int rank, const Dims& x_dims, std::span<const std::uint8_t> perm,
               const void* x, void* y) noexcept {
  const Steps x_steps = dense_steps(element_size, rank, x_dims);
  Dims y_dims{};
  Steps steps{};
  for (int axis = 0; axis < rank; ++axis) {
    y_dims[axis] = x_dims[perm[axis]];
    steps[axis] = x_steps[perm[axis]];
  }
  copy_box(element_size, rank, y_dims, x, steps, y, dense_steps(element_size, rank, y_dims));
}

void slice(std::size_t element_size, int rank, const Dims& x_dims, const Dims& begin, const Dims& step,
           const Dims& y_dims, const void* x, void* y) noexcept {
  Steps steps = dense_steps(element_size, rank, x_dims);
  std::int64_t offset = 0;
  for (int axis = 0; axis < rank; ++axis) {
    offset += begin[axis] * steps[axis];
    steps[axis] *= step[axis];
  }
  copy_box(element_size, rank, y_dims, static_cast<const std::byte*>(x) + offset, steps, y,
           dense_steps(element_size, rank, y_dims));
}

void concat_into(std::size_t element_size, int rank, int axis, const Dims& x_dims, const Dims& y_dims,
                 std::int32_t offset, const void* x, void* y) noexcept {
  const Steps y_steps = dense_steps(element_size, rank, y_dims);
  copy_box(element_size, rank, x_dims, x, dense_steps(element_size, rank, x_dims),
           static_cast<std::byte*>(y) + offset * y_steps[axis], y_steps);
}

void fill(std::size_t element_size, std::int64_t count, const void* value, void* y) noexcept {
  if (count <= 0) return;
  const auto* bytes = static_cast<const std::byte*>(value);
  const std::size_t size = static_cast<std::size_t>(count) * element_size;
  if (std::all_of(bytes, bytes + element_size, [&](std::byte b) { return b == bytes[0]; })) {
    std::memset(y, static_cast<int>(bytes[0]), size);
    return;
  }
  // What is written already is copied after itself.
  auto* out = static_cast<std::byte*>(y);
  std::memcpy(out, value, element_size);
  for (std::size_t done = element_size; done < size; done += std::min(done, size - done))
    std::memcpy(out + done, out, std::min(done, size - done));
}

void pad_constant(std::size_t element_size, int rank, const Dims& x_dims, const Dims& before,
                  const Dims& y_dims, const void* value, const void* x, void* y) noexcept {
  const Steps steps = dense_steps(element_size, rank, y_dims);
  const auto* in = static_cast<const std::byte*>(x);
  auto* out = static_cast<std::byte*>(y);
  // The innermost axis that is padded; what lies within it moves as one line.
  int last = rank - 1;
  while (last > 0 && x_dims[last] == y_dims[last]) --last;
  const std::int64_t line = rank == 0 ? static_cast<std::int64_t>(element_size) : x_dims[last] * steps[last];
  const auto size = static_cast<std::int64_t>(element_size);
  // Goes through y from its beginning: after every line come the ends of the axes that are done there and the
  // beginnings of those that start anew.
  std::int64_t gap = 0;
  for (int axis = 0; axis <= last && rank > 0; ++axis) gap += before[axis] * steps[axis];
  Dims index{};
  std::byte* const end = out + elements(rank, y_dims) * size;
  for (int axis = 0; axis < rank; ++axis) {
    if (x_dims[axis] == 0) return fill(element_size, (end - out) / size, value, y);
  }
  while (true) {
    fill(element_size, gap / size, value, out);
    out += gap;
    std::memcpy(out, in, static_cast<std::size_t>(line));
    out += line;
    in += line;
    gap = 0;
    int axis = last - 1;
    if (rank > 0) gap += (y_dims[last] - x_dims[last]) * steps[last];
    for (; axis >= 0 && ++index[axis] == x_dims[axis]; --axis) {
      index[axis] = 0;
      gap += (y_dims[axis] - x_dims[axis]) * steps[axis];
    }
    if (axis < 0) return fill(element_size, (end - out) / size, value, out);
  }
}

}  // namespace runnel::kernels
