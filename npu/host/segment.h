// Segment: the part of a model that an Ethos-U computes, with its driver payload, constants, and the places
// of inputs and outputs.
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
#include "npu/operation.h"
#include "npu/payload.h"
#include "npu/port.h"

namespace runnel::npu {

// An input or output in the scratch memory, or a region of its own.
struct Port {
  std::string name;
  std::size_t offset = 0, bytes = 0;
  std::uint8_t fill = 0;  // initial byte of memory kept between runs
  bool kept = false;      // an input kept between runs, with no tensor
  std::uint8_t region = kScratch;
};

// A view into the model, or into the bytes that it was read from.
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

// Everything that its command stream does, in the order of its words. Errors: as Decoder::next.
Result<std::vector<Operation>> operations_of(const Segment& segment);

// The streaming rule of a segment, and its block program as a segment.
struct SteppedSegment {
  Segment segment;
  BlockProgram blocks;
};

// Errors: as read_segment.
Result<SteppedSegment> read_stepped_segment(const Model& model, const fb::Operator& op,
                                            std::size_t most_scratch = std::size_t{1} << 28);

// The device that a segment was made for, to compare with the actual one: accelerator, memory mode and system
// configuration by name; empty expectations are not compared. Errors: mismatch naming the difference.
struct DeviceDescription {
  std::string accelerator, memory_mode, system_config;
};
Status check_device(const Model& model, const fb::Operator& op, const DeviceDescription& device);

// The segment of an operator with the kind `ethos-u` (docs/delegates.md); `most_scratch` bounds the scratch
// memory that files may request. Checks everything: inputs and outputs lie inside the scratch memory and have
// the size of their tensors. Errors: invalid_data or unsupported.
Result<Segment> read_segment(const Model& model, const fb::Operator& op,
                             std::size_t most_scratch = std::size_t{1} << 28);

// The same from outside a model: a bare driver payload, which begins with COP1 or COP2, or a Vela stream of
// ExecuTorch.
Result<Segment> read_segment(std::span<const std::byte> bytes);

}  // namespace runnel::npu
