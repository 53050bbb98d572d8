#include "npu/accelerator.h"

#include "npu/u85/configuration.h"

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

}  // namespace

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
    if (known.product == Product::u85) {
      // In its word these bits are ports and decoders.
      const std::uint32_t decoders = 1u << (config >> 12 & 3);
      if (decoders == static_cast<std::uint32_t>(u85::blocks_of(known).decoders)) return &known;
      return Status(Code::unsupported)
             << "configuration word " << config << ": " << known.name << " with " << decoders
             << " weight decoders, expected " << u85::blocks_of(known).decoders;
    }
    if (static_cast<std::uint32_t>(known.banks * known.cores) == kib) return &known;
  }
  return Status(Code::unsupported) << "configuration word " << config << " (product " << product << ", "
                                   << macs << " multiply-adds per cycle, " << kib
                                   << " KiB) belongs to no Ethos-U that is known here";
}

}  // namespace runnel::npu
