#include "npu/accelerator.h"

namespace runnel::npu {
namespace {

constexpr BankGranules kSmall{2, 2, 2, 2, 4, 4, 4, 4}, k64{2, 2, 2, 2, 4, 4, 4, 8},
    k128{4, 4, 4, 4, 8, 4, 8, 12}, k256{8, 8, 8, 8, 16, 8, 16, 20};

constexpr Accelerator kAccelerators[] = {
    {"ethos-u55-32", Product::u55, 32, 1, 16, 1, 1, 4, kSmall},
    {"ethos-u55-64", Product::u55, 64, 1, 16, 1, 1, 8, k64},
    {"ethos-u55-128", Product::u55, 128, 1, 24, 2, 1, 8, k128},
    {"ethos-u55-256", Product::u55, 256, 1, 48, 2, 2, 8, k256},
    {"ethos-u65-256", Product::u65, 256, 1, 48, 2, 2, 8, k256},
    {"ethos-u65-512", Product::u65, 512, 2, 48, 2, 2, 8, k256},
    {"ethos-u85-128", Product::u85, 128, 1, 0, 0, 0, 0, {}},
    {"ethos-u85-256", Product::u85, 256, 1, 0, 0, 0, 0, {}},
    {"ethos-u85-512", Product::u85, 512, 1, 0, 0, 0, 0, {}},
    {"ethos-u85-1024", Product::u85, 1024, 1, 0, 0, 0, 0, {}},
    {"ethos-u85-2048", Product::u85, 2048, 1, 0, 0, 0, 0, {}},
};

constexpr U85Blocks kU85Blocks[] = {
    {128, 8192, 8192, {16, 8, 0, 0, 0, 0}},       {256, 16384, 16384, {0, 16, 8, 8, 0, 0}},
    {512, 16384, 32768, {0, 0, 16, 16, 0, 0}},    {1024, 16384, 65536, {0, 0, 32, 32, 16, 0}},
    {2048, 32768, 131072, {0, 0, 64, 64, 0, 16}},
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

const U85Blocks& u85_blocks(const Accelerator& accelerator) noexcept {
  const U85Blocks* found = kU85Blocks;
  for (const U85Blocks& known : kU85Blocks) {
    if (known.macs == accelerator.macs) found = &known;
  }
  return *found;
}
MicroBlock u85_microblock(const Accelerator& accelerator, std::uint8_t number) noexcept {
  const U85Blocks& blocks = u85_blocks(accelerator);
  if (number >= 6 || blocks.depths[number] == 0) return {};
  return {kMicroHeights[number], kMicroWidths[number], blocks.depths[number]};
}
MicroBlock u85_input_unit(const Accelerator& accelerator, std::uint8_t number, std::int32_t depth,
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

Result<const Accelerator*> find_accelerator(std::string_view name) noexcept {
  for (const Accelerator& known : kAccelerators) {
    if (known.name == name) return &known;
  }
  Status status(Code::not_found);
  status << "no accelerator \"" << name << "\"; known are ";
  for (const Accelerator& known : kAccelerators)
    status << (&known == kAccelerators ? "" : ", ") << known.name;
  return status;
}

Result<const Accelerator*> find_accelerator(std::uint32_t config) noexcept {
  const std::uint32_t product = config >> 28, macs = 1u << (config & 15), kib = config >> 8 & 0xff;
  for (const Accelerator& known : kAccelerators) {
    if (static_cast<std::uint32_t>(known.product) != product ||
        static_cast<std::uint32_t>(known.macs) != macs)
      continue;
    // In the U85's word these bits are ports and decoders.
    if (known.product == Product::u85 || static_cast<std::uint32_t>(known.banks * known.cores) == kib)
      return &known;
  }
  return Status(Code::unsupported) << "configuration word " << config << " (product " << product << ", "
                                   << macs << " multiply-adds per cycle, " << kib
                                   << " KiB) belongs to no Ethos-U that is known here";
}

}  // namespace runnel::npu
