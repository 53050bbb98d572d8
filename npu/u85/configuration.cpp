#include "npu/u85/configuration.h"

namespace runnel::npu::u85 {
namespace {

constexpr Blocks kBlocks[] = {
    {128, 1, 8192, 8192, 768, 2048, 2, 1, {16, 8, 0, 0, 0, 0}},
    {256, 1, 16384, 16384, 1536, 2048, 2, 1, {0, 16, 8, 8, 0, 0}},
    {512, 2, 16384, 32768, 3072, 4096, 2, 1, {0, 0, 16, 16, 0, 0}},
    {1024, 4, 16384, 65536, 6144, 4096, 2, 2, {0, 0, 32, 32, 16, 0}},
    {2048, 4, 32768, 131072, 12288, 8192, 4, 2, {0, 0, 64, 64, 0, 16}},
};
// Allocation units of the input's memory (depth in bytes) for blocks that read up to 16 bytes of channels, up
// to 32, and more; `row`: for micro-blocks of 1 x 4.
struct InputUnits {
  std::int32_t macs;
  MicroBlock square[3], row[3];
};
constexpr InputUnits kInputUnits[] = {
    {128, {{1, 2, 16}, {1, 1, 32}, {1, 1, 32}}, {{1, 2, 16}, {1, 1, 32}, {1, 1, 32}}},
    {256, {{2, 2, 16}, {1, 2, 32}, {1, 1, 64}}, {{1, 4, 16}, {1, 2, 32}, {1, 1, 64}}},
    {512, {{2, 2, 16}, {1, 2, 32}, {1, 1, 64}}, {{1, 4, 16}, {1, 2, 32}, {1, 1, 64}}},
    {1024, {{2, 4, 16}, {2, 2, 32}, {1, 2, 64}}, {{2, 4, 16}, {1, 4, 32}, {1, 2, 64}}},
    {2048, {{4, 4, 16}, {2, 4, 32}, {2, 2, 64}}, {{4, 4, 16}, {2, 4, 32}, {1, 4, 64}}},
};
constexpr std::int32_t kMicroHeights[] = {1, 1, 1, 2, 2, 4}, kMicroWidths[] = {1, 2, 4, 2, 4, 4};

}  // namespace

const Blocks& blocks_of(const Accelerator& accelerator) noexcept {
  const Blocks* found = kBlocks;
  for (const Blocks& known : kBlocks) {
    if (known.macs == accelerator.macs) found = &known;
  }
  return *found;
}
MicroBlock microblock(const Accelerator& accelerator, std::uint8_t number) noexcept {
  const Blocks& blocks = blocks_of(accelerator);
  if (number >= 6 || blocks.depths[number] == 0) return {};
  return {kMicroHeights[number], kMicroWidths[number], blocks.depths[number]};
}
MicroBlock input_unit(const Accelerator& accelerator, std::uint8_t number, std::int32_t depth,
                      std::int32_t element) noexcept {
  constexpr std::uint8_t kRow = 2;  // 1 x 4
  const InputUnits* found = kInputUnits;
  for (const InputUnits& known : kInputUnits) {
    if (known.macs == accelerator.macs) found = &known;
  }
  const std::int64_t bytes = std::int64_t{depth} * element;
  MicroBlock unit = (number == kRow ? found->row : found->square)[bytes > 32 ? 2 : bytes > 16 ? 1 : 0];
  unit.depth /= element;
  return unit;
}

}  // namespace runnel::npu::u85
