// Vela stream: the data that ExecuTorch's Ethos-U back end stores with a program, a sequence of blocks with
// name and size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace runnel::npu {

// Data outside the blocks, which blocks refer to by name.
struct NamedData {
  std::string key;
  std::span<const std::byte> bytes;
};

// The place of an input or output in the scratch memory.
struct VelaTensor {
  std::array<std::int32_t, 6> shape{};
  std::int32_t element = 0;  // bytes of one element: 1, 2 or 4
  std::int32_t offset = 0;   // bytes
  std::int32_t region = 0;
  std::size_t bytes = 0;
};

struct VelaStream {
  std::span<const std::byte> commands, weights;
  std::uint32_t scratch = 0;  // bytes
  std::vector<VelaTensor> inputs, outputs;
};

// Names are compared whole. Blocks may refer to named data of the program instead of holding bytes. Checks
// that blocks are inside the payload, inputs and outputs inside the scratch memory. Errors: invalid_data
// naming the block, what was expected and what was found.
Result<VelaStream> read_vela_stream(std::span<const std::byte> payload,
                                    std::span<const NamedData> named_data);

// The same as bytes, all blocks in it, whose data begins at multiples of 16 if the stream does. `bytes` of
// the tensors is not stored.
std::vector<std::byte> write_vela_stream(const VelaStream& stream);

}  // namespace runnel::npu
