// Ports: inputs and outputs of an `ethos-u` delegate segment (docs/delegates.md), read without a heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/delegate.h"

namespace runnel::npu {

inline constexpr std::size_t kRegions = 8;
// Regions as compilers use them. From kFirstOwn on: the CPU's tensors, used in place.
enum Region : std::uint8_t { kConstants = 0, kScratch = 1, kFastScratch = 2, kFirstOwn = 3 };

// An input or output in the scratch memory, or a region of its own.
struct PortPlace {
  std::int32_t tensor = -1;  // of the model; -1 for memory kept between runs
  std::size_t offset = 0, bytes = 0;
  std::uint8_t fill = 0;  // initial byte of kept memory
  std::uint8_t region = kScratch;

  [[nodiscard]] bool own() const noexcept { return region >= kFirstOwn; }
};

// A size in bytes, 0 if the segment has none. Errors: invalid_data when it is not 0 to `most`.
Result<std::size_t> read_size(const DelegateSegment& delegate, std::string_view name,
                              std::size_t most) noexcept;

// One input or output inside a scratch memory of that size. Errors: invalid_data; unsupported if the file
// does not state its place.
Result<PortPlace> read_port(const Model& model, const DelegateSegment& delegate, bool output,
                            std::size_t index, std::size_t scratch) noexcept;
// The only input or output of a stepped program, with the size of `frames` frames of its
// tensor. Errors: invalid_data.
Result<PortPlace> read_block_port(const Model& model, const DelegateSegment& delegate, bool output,
                                  std::int64_t frames, int axis, std::size_t scratch) noexcept;

}  // namespace runnel::npu
