#include "compiler/quantize/round/product_sums.h"

#include <algorithm>
#include <cstring>

namespace runnel::compiler::quantizer {
namespace {

constexpr std::size_t kRows = 4, kColumns = 8;  // sums that stay in registers over all positions
static_assert(ProductSums::kRowPadding == kRows - 1 && ProductSums::kColumnPadding == kColumns - 1);

typedef double Columns __attribute__((vector_size(kColumns * sizeof(double))));

[[gnu::always_inline]] inline void add_tile(const ProductSums& p, const double* a, const double* b,
                                            double* sums, std::size_t stride) {
  Columns tile[kRows];
  for (std::size_t r = 0; r < kRows; ++r) std::memcpy(&tile[r], sums + r * stride, sizeof tile[r]);
  for (std::size_t position = 0; position < p.positions; ++position, a += p.a_stride, b += p.b_stride) {
    Columns right;
    std::memcpy(&right, b, sizeof right);
    for (std::size_t r = 0; r < kRows; ++r) tile[r] += a[r] * right;
  }
  for (std::size_t r = 0; r < kRows; ++r) std::memcpy(sums + r * stride, &tile[r], sizeof tile[r]);
}

[[gnu::always_inline]] inline void add_tiles(const ProductSums& p) {
  for (std::size_t row = 0; row < p.rows; row += kRows) {
    const std::size_t rows = std::min(kRows, p.rows - row);
    for (std::size_t column = 0; column < p.columns && (!p.lower || column < row + rows);
         column += kColumns) {
      const std::size_t columns = std::min(kColumns, p.columns - column);
      double* const sums = p.sums + row * p.sums_stride + column;
      if (rows == kRows && columns == kColumns && (!p.lower || column + kColumns <= row + 1)) {
        add_tile(p, p.a + row, p.b + column, sums, p.sums_stride);
        continue;
      }
      // At an edge or the diagonal: what belongs to the sums is copied to and fro.
      double part[kRows * kColumns] = {};
      const auto kept = [&](std::size_t r) {
        return !p.lower ? columns : std::min(columns, row + r + 1 > column ? row + r + 1 - column : 0);
      };
      for (std::size_t r = 0; r < rows; ++r)
        std::copy_n(sums + r * p.sums_stride, kept(r), part + r * kColumns);
      add_tile(p, p.a + row, p.b + column, part, kColumns);
      for (std::size_t r = 0; r < rows; ++r)
        std::copy_n(part + r * kColumns, kept(r), sums + r * p.sums_stride);
    }
  }
}

void add_plain(const ProductSums& p) {
  for (std::size_t position = 0; position < p.positions; ++position) {
    for (std::size_t r = 0; r < p.rows; ++r) {
      const std::size_t columns = p.lower ? std::min(p.columns, r + 1) : p.columns;
      for (std::size_t c = 0; c < columns; ++c)
        p.sums[r * p.sums_stride + c] += p.a[position * p.a_stride + r] * p.b[position * p.b_stride + c];
    }
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_avx2(const ProductSums& p) { add_tiles(p); }
[[gnu::target("avx512f")]] void add_avx512(const ProductSums& p) { add_tiles(p); }
#endif
void add_generic(const ProductSums& p) { add_tiles(p); }

}  // namespace

void add_products(const ProductSums& products, Isa isa) {
  if (isa == Isa::reference) return add_plain(products);
#if defined(__x86_64__)
  if (isa >= Isa::avx512) return add_avx512(products);
  if (isa >= Isa::avx2) return add_avx2(products);
#endif
  add_generic(products);
}

}  // namespace runnel::compiler::quantizer
