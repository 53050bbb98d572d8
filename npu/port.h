// What a delegate segment of the kind `ethos-u` says about its inputs and outputs (docs/delegates.md), read
// without a heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/delegate.h"

namespace runnel::npu {

inline constexpr std::size_t kRegions = 8;
// What compilers put where. From kFirstOwn on: tensors of the CPU, which are read and written where they lie.
enum Region : std::uint8_t { kConstants = 0, kScratch = 1, kFastScratch = 2, kFirstOwn = 3 };

// An input or output in the scratch memory, or a region of its own.
struct PortPlace {
  std::int32_t tensor = -1;  // of the model; -1 for memory that is kept from run to run
  std::size_t offset = 0, bytes = 0;
  std::uint8_t fill = 0;  // of kept memory: the byte it begins with
  std::uint8_t region = kScratch;

  [[nodiscard]] bool own() const noexcept { return region >= kFirstOwn; }
};

// A size in bytes, 0 where the segment does not say. Errors: invalid_data when it is not 0 to `most`.
Result<std::size_t> read_size(const DelegateSegment& delegate, std::string_view name,
                              std::size_t most) noexcept;

// Of one input or output, inside of a scratch memory of that size. Errors: invalid_data; unsupported where
// the file does not say where it lies.
Result<PortPlace> read_port(const Model& model, const DelegateSegment& delegate, bool output,
                            std::size_t index, std::size_t scratch) noexcept;
// The one input or output of a stepped program: as many bytes as `frames` of the tensor's frames have.
// Errors: invalid_data.
Result<PortPlace> read_block_port(const Model& model, const DelegateSegment& delegate, bool output,
                                  std::int64_t frames, int axis, std::size_t scratch) noexcept;

}  // namespace runnel::npu
