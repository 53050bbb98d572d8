// Builds with kernels for RISC-V's vectors: that they are chosen where the processor has vectors, and only
// there.
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <cstdint>
#include <vector>

#include "base/cpu.h"
#include "base/host/heap_memory.h"
#include "kernels/conv/conv.h"
#include "kernels/float32/float_kernels.h"
#include "kernels/int8_rows.h"

namespace runnel {
namespace {

bool has_vectors() { return (getauxval(AT_HWCAP) & (1ul << ('V' - 'A'))) != 0; }

TEST(RvvLevels, TheProcessorDecides) {
  EXPECT_EQ(best_isa(), has_vectors() ? Isa::rvv : Isa::generic);
  EXPECT_EQ(runs_here(Isa::rvv), has_vectors());
  EXPECT_FALSE(runs_here(Isa::avx2) || runs_here(Isa::neon) || runs_here(Isa::simd128));
  EXPECT_EQ(name_of(Isa::rvv), "rvv");
  EXPECT_EQ(vector_level(Isa::rvv), Isa::rvv);
}

TEST(RvvLevels, KernelsAreThoseOfTheLevel) {
  EXPECT_EQ(kernels::int8_rows(best_isa()) != nullptr, has_vectors());
  EXPECT_EQ(kernels::float_kernels(best_isa()).lanes > 1, has_vectors());
  for (const int groups : {1, 24}) {
    kernels::ConvSpec spec;
    spec.in_channels = spec.out_channels = 24;
    spec.groups = groups;
    const std::vector<std::int8_t> weights(24 * 24, 1);
    const std::int32_t shift = 3;
    spec.weights = weights.data();
    spec.requant.shift = &shift;
    HeapMemory memory;
    kernels::Conv conv;
    ASSERT_TRUE(kernels::prepare_conv(spec, best_isa(), memory, conv).ok());
    EXPECT_EQ(kernels::kernel_choice(conv).isa, best_isa()) << groups;
  }
}

}  // namespace
}  // namespace runnel
