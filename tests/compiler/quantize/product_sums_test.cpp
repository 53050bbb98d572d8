// Blocks and vectors give the bits of plain loops.
#include "compiler/quantize/round/product_sums.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

namespace runnel::compiler::quantizer {
namespace {

// Values whose sums depend on their order, many of them 0 and some -0.
std::vector<double> numbers(std::size_t count, std::mt19937& random) {
  std::vector<double> values(count);
  for (double& value : values) {
    const std::uint32_t drawn = random();
    value = static_cast<double>(static_cast<float>(static_cast<std::int32_t>(random())) * 1e-7F);
    if (drawn % 4 == 0) value = 0;
    if (drawn % 16 == 1) value = -0.0;
    if (drawn % 16 == 2) value *= 1e9;
  }
  return values;
}

TEST(ProductSums, AreThoseOfPlainLoopsOverAwkwardShapes) {
  std::mt19937 random(20);
  for (const std::size_t rows : {1, 2, 3, 4, 5, 8, 9, 17, 30}) {
    for (const std::size_t columns : {1, 7, 8, 9, 16, 23, 30}) {
      for (const std::size_t positions : {0, 1, 2, 31}) {
        for (const bool lower : {false, true}) {
          const std::size_t a_stride = rows + ProductSums::kRowPadding + 2,
                            b_stride = columns + ProductSums::kColumnPadding, stride = columns + 3;
          const std::vector<double> a = numbers((positions + 1) * a_stride, random),
                                    b = numbers((positions + 1) * b_stride, random),
                                    before = numbers(rows * stride, random);
          std::vector<double> expected = before;
          ProductSums products{positions, rows,     columns,         a.data(), a_stride,
                               b.data(),  b_stride, expected.data(), stride,   lower};
          add_products(products, Isa::reference);
          for (int level = static_cast<int>(Isa::generic); level <= static_cast<int>(best_isa()); ++level) {
            if (!runs_here(static_cast<Isa>(level))) continue;
            std::vector<double> sums = before;
            products.sums = sums.data();
            add_products(products, static_cast<Isa>(level));
            for (std::size_t i = 0; i < sums.size(); ++i) {
              ASSERT_EQ(std::bit_cast<std::uint64_t>(sums[i]), std::bit_cast<std::uint64_t>(expected[i]))
                  << rows << " x " << columns << ", " << positions << " positions, lower " << lower
                  << ", level " << level << ", at " << i;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace runnel::compiler::quantizer
