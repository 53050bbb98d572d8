// Sums of outer products in double precision, one position after the other: the bits do not depend on vectors
// or blocks.
#pragma once

#include <cstddef>

#include "base/cpu.h"

namespace runnel::compiler::quantizer {

// sums[r][c] += a[0][r] * b[0][c], then += a[1][r] * b[1][c], and so on. Every product is rounded before it
// is added.
struct ProductSums {
  // Elements that rows of a and b have beyond `rows` and `columns`, at least; their values do not matter.
  static constexpr std::size_t kRowPadding = 3, kColumnPadding = 7;

  std::size_t positions = 0, rows = 0, columns = 0;
  const double* a = nullptr;
  std::size_t a_stride = 0;  // elements from one position to the next, as for b and the rows of sums
  const double* b = nullptr;
  std::size_t b_stride = 0;
  double* sums = nullptr;
  std::size_t sums_stride = 0;
  bool lower = false;  // only where c <= r; the others stay as they are
};

// Isa::reference: loops that define the result.
void add_products(const ProductSums& products, Isa isa = best_isa());

}  // namespace runnel::compiler::quantizer
