// What a model file holds of one part that an Ethos-U computes: its driver payload, constants, and where inputs and outputs lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "inference/delegate.h"
#include "npu/accelerator.h"
#include "npu/payload.h"
#include "streaming/rule.h"

namespace runnel::npu {

inline constexpr std::size_t kRegions = 8;
// What compilers put where.
enum Region : std::uint8_t { kConstants = 0, kScratch = 1, kFastScratch = 2 };

// An input or output in the scratch memory.
struct Port {
  std::string name;
  std::size_t offset = 0, bytes = 0;
  std::uint8_t fill = 0;               // of memory that is kept from run to run: the byte it begins with
  bool kept = false;                   // an input that nobody brings
};

// A view: it points into the model, or into the bytes that it was read from.
struct Segment {
  const Accelerator* accelerator = nullptr;
  Payload payload;
  std::span<const std::byte> constants;
  std::size_t scratch = 0, fast_scratch = 0;   // bytes
  std::vector<Port> inputs, outputs;

  // Bytes of each region; 0 where there is none.
  [[nodiscard]] std::array<std::uint64_t, kRegions> region_sizes() const noexcept {
    return {constants.size(), scratch, fast_scratch};
  }
};

// How a segment is stepped as a stream: its second program, whose scratch memory holds histories from call to call.
struct SteppedSegment {
  // Memory that begins with this byte.
  struct State {
    std::size_t offset = 0, bytes = 0;
    std::uint8_t value = 0;
  };
  // A byte for each frame of a tensor inside: 1 where the frame is data, which follows from how many frames the input has.
  struct Mask {
    std::size_t offset = 0;
    std::int64_t frames = 0, delay = 0;
    streaming::NodeRule window;        // from the segment's input to that tensor
  };
  Segment segment;
  std::int64_t in_frames = 1, out_frames = 1;   // of each call
  std::int64_t delay = 0;                       // of the input
  std::vector<State> states;
  std::vector<Mask> masks;
};

// Whether the operator's segment has that program, and reading it. Errors: as read_segment.
bool is_stepped(const Model& model, const fb::Operator& op);
Result<SteppedSegment> read_stepped_segment(const Model& model, const fb::Operator& op, std::size_t most_scratch = std::size_t{1} << 28);

// What the segment was made for, against what there is: the accelerator, the memory mode and the system configuration by name; an empty expectation is
// not compared. Errors: mismatch naming what differs.
struct DeviceDescription {
  std::string accelerator, memory_mode, system_config;
};
Status check_device(const Model& model, const fb::Operator& op, const DeviceDescription& device);

// The segment of an operator with the kind `ethos-u` (docs/delegates.md); `most_scratch` bounds what files may ask for in scratch memory. Everything
// is checked: inputs and outputs have places inside the scratch memory as large as their tensors. Errors: invalid_data or unsupported.
Result<Segment> read_segment(const Model& model, const fb::Operator& op, std::size_t most_scratch = std::size_t{1} << 28);

// The same from what lies outside of a model: a bare driver payload, which begins with COP1, or a Vela stream of ExecuTorch.
Result<Segment> read_segment(std::span<const std::byte> bytes);

}  // namespace runnel::npu
