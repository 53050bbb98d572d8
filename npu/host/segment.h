// What a model file holds of one part that an Ethos-U computes: its driver payload, constants, and where
// inputs and outputs lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "inference/delegate.h"
#include "npu/accelerator.h"
#include "npu/block_program.h"
#include "npu/payload.h"
#include "npu/port.h"

namespace runnel::npu {

// An input or output in the scratch memory, or a region of its own.
struct Port {
  std::string name;
  std::size_t offset = 0, bytes = 0;
  std::uint8_t fill = 0;  // of memory that is kept from run to run: the byte it begins with
  bool kept = false;      // an input that nobody brings
  std::uint8_t region = kScratch;
};

// A view: it points into the model, or into the bytes that it was read from.
struct Segment {
  const Accelerator* accelerator = nullptr;
  Payload payload;
  std::span<const std::byte> constants;
  std::size_t scratch = 0, fast_scratch = 0;  // bytes
  std::vector<Port> inputs, outputs;

  // Bytes of each region; 0 where there is none.
  [[nodiscard]] std::array<std::uint64_t, kRegions> region_sizes() const noexcept {
    std::array<std::uint64_t, kRegions> sizes{constants.size(), scratch, fast_scratch};
    for (const std::vector<Port>* ports : {&inputs, &outputs}) {
      for (const Port& port : *ports) {
        if (port.region >= kFirstOwn) sizes[port.region] = port.bytes;
      }
    }
    return sizes;
  }
};

// How a segment is stepped as a stream, and its program as a segment.
struct SteppedSegment {
  Segment segment;
  BlockProgram blocks;
};

// Errors: as read_segment.
Result<SteppedSegment> read_stepped_segment(const Model& model, const fb::Operator& op,
                                            std::size_t most_scratch = std::size_t{1} << 28);

// What the segment was made for, against what there is: the accelerator, the memory mode and the system
// configuration by name; an empty expectation is not compared. Errors: mismatch naming what differs.
struct DeviceDescription {
  std::string accelerator, memory_mode, system_config;
};
Status check_device(const Model& model, const fb::Operator& op, const DeviceDescription& device);

// The segment of an operator with the kind `ethos-u` (docs/delegates.md); `most_scratch` bounds what files
// may ask for in scratch memory. Everything is checked: inputs and outputs have places inside the scratch
// memory as large as their tensors. Errors: invalid_data or unsupported.
Result<Segment> read_segment(const Model& model, const fb::Operator& op,
                             std::size_t most_scratch = std::size_t{1} << 28);

// The same from what lies outside of a model: a bare driver payload, which begins with COP1, or a Vela stream
// of ExecuTorch.
Result<Segment> read_segment(std::span<const std::byte> bytes);

}  // namespace runnel::npu
