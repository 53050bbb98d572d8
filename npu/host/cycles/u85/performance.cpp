#include "npu/host/cycles/u85/performance.h"

namespace runnel::npu::u85 {
namespace {

constexpr Performance kPerformance[] = {
    {128, {0.5F, 0.5F, 0.5F, 1, 1, 1}, {0.5F, 1}, {64, 64, 128, 128, 104, 16}},
    {256, {0.25F, 0.25F, 0.25F, 0.5F, 0.5F, 0.5F}, {0.25F, 0.5F}, {104, 104, 128, 128, 128, 16}},
    {512, {0.125F, 0.125F, 0.25F, 0.5F, 0.25F, 0.25F}, {0.125F, 0.25F}, {128, 128, 256, 256, 128, 16}},
    {1024, {0.0625F, 0.125F, 0.25F, 0.5F, 0.125F, 0.25F}, {0.0625F, 0.125F}, {256, 256, 416, 208, 256, 16}},
    {2048,
     {0.03125F, 0.0625F, 0.125F, 0.25F, 0.0625F, 0.125F},
     {0.03125F, 0.0625F},
     {256, 256, 512, 256, 256, 16}},
};

}  // namespace

const Performance& performance_of(const Accelerator& accelerator) noexcept {
  const Performance* found = kPerformance;
  for (const Performance& known : kPerformance) {
    if (known.macs == accelerator.macs) found = &known;
  }
  return *found;
}

}  // namespace runnel::npu::u85
