// What the Ethos-U back end of ExecuTorch stores with a program: blocks with a name and a size each, one
// after the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace runnel::npu {

// Data that a program keeps apart and that blocks find by name.
struct NamedData {
  std::string key;
  std::span<const std::byte> bytes;
};

// Where an input or output lies in the scratch memory.
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

// Names are compared whole. Blocks may refer to named data of the program instead of holding bytes.
// Everything is inside: blocks in the payload, inputs and outputs in the scratch memory. Errors: invalid_data
// naming the block, what was expected and what was found.
Result<VelaStream> read_vela_stream(std::span<const std::byte> payload,
                                    std::span<const NamedData> named_data);

}  // namespace runnel::npu
