// That the other tests of this program see what they are for: the vectors, not the portable loops.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "base/cpu.h"
#include "base/host/heap_memory.h"
#include "features/simd/fixed_kernels.h"
#include "features/simd/kernels.h"
#include "kernels/conv/conv.h"
#include "kernels/int8_rows.h"

namespace runnel {
namespace {

TEST(Levels, AreThoseOfWebAssembly) {
  EXPECT_EQ(name_of(best_isa()), "simd128");
  EXPECT_TRUE(runs_here(Isa::reference) && runs_here(Isa::generic) && runs_here(Isa::simd128));
  EXPECT_FALSE(runs_here(Isa::avx2) || runs_here(Isa::neon) || runs_here(Isa::neoni8mm));
  EXPECT_EQ(vector_level(Isa::simd128), Isa::simd128);
  EXPECT_EQ(features::kernels_for(best_isa()).lanes, 4);
  EXPECT_EQ(features::kernels_for(Isa::reference).lanes, 1);
  EXPECT_NE(&features::fixed_kernels_for(best_isa()), &features::fixed_kernels_for(Isa::reference));
  EXPECT_NE(kernels::int8_rows(best_isa()), nullptr);
}

TEST(Levels, ConvolutionsAreVectors) {
  for (const std::int32_t groups : {1, 16}) {
    std::array<std::int8_t, 16 * 16> weights{};
    const std::int32_t shift = 3;
    kernels::ConvSpec spec;
    spec.in_height = spec.out_height = spec.kernel_height = 1;
    spec.in_width = spec.out_width = spec.kernel_width = 1;
    spec.in_channels = spec.out_channels = 16;
    spec.groups = groups;
    spec.weights = weights.data();
    spec.requant.shift = &shift;
    spec.requant.count = 1;
    HeapMemory memory;
    kernels::Conv conv;
    ASSERT_TRUE(kernels::prepare_conv(spec, best_isa(), memory, conv).ok());
    EXPECT_EQ(kernels::kernel_choice(conv).isa, Isa::simd128) << groups;
  }
}

}  // namespace
}  // namespace runnel
