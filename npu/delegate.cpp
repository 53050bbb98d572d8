#include "npu/delegate.h"

#include <cstring>
#include <new>

#include "inference/delegate.h"
#include "npu/block_program.h"
#include "npu/bounds.h"
#include "npu/decoder.h"
#include "npu/payload.h"

namespace runnel::npu {
namespace {

constexpr std::size_t kMaxScratch = std::size_t{1} << 28, kAlignment = 16;

std::size_t aligned(std::size_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Constructed on first use: firmware has no static constructors.
Status& the_status() noexcept {
  static Status status;
  return status;
}

// Since take_failure() was called last.
Status& the_failure() noexcept {
  static Status status;
  return status;
}

// A segment, bound to its bytes in the model: one program, for whole clips or for blocks.
struct DeviceSegment : BoundOperator {
  std::span<const std::byte> payload, constants;
  std::size_t scratch = 0, fast_scratch = 0;  // bytes
  std::size_t state = 0, fast_state = 0;      // their offsets in the session's operator state
  std::span<const PortPlace> inputs, outputs;
  std::size_t runs = 1;  // of the program in each call, on consecutive blocks
  BlockProgram blocks;   // of a stream
};

struct Sizes {
  std::size_t scratch = 0, fast_scratch = 0;
};
Result<Sizes> sizes_of(const DelegateSegment& delegate) noexcept {
  Sizes sizes;
  RUNNEL_ASSIGN(sizes.scratch, read_size(delegate, "scratch_bytes", kMaxScratch));
  RUNNEL_ASSIGN(sizes.fast_scratch, read_size(delegate, "fast_scratch_bytes", kMaxScratch));
  return sizes;
}

// Checks that a program touches only its regions and writes neither constants nor inputs.
Status check_program(std::span<const std::byte> payload, const std::uint64_t (&regions)[kRegions],
                     std::uint32_t read_only) noexcept {
  RUNNEL_ASSIGN(const Payload read, read_payload(payload));
  RUNNEL_ASSIGN(const Accelerator* const accelerator, find_accelerator(read.config));
  Decoder decoder(read.commands, *accelerator);
  for (Operation done;;) {
    RUNNEL_ASSIGN(const bool more, decoder.next(done));
    if (!more) return {};
    RUNNEL_TRY(check_bounds(done, *accelerator, regions));
    const bool copies = done.kind == OperationKind::dma && !done.dma.target.internal;
    // U85: results that only the next operation of a chain reads, or nobody, are in no region.
    const bool stored = done.ofm.storage == Storage::tiles_2x2 || done.ofm.storage == Storage::tiles_3x1;
    if (!copies && (!done.computes() || !stored)) continue;
    const std::uint8_t region = copies ? done.dma.target.region : done.ofm.region;
    if ((read_only >> region & 1) != 0)
      return Status(Code::invalid_data)
             << "operation " << done.index << " writes " << (region == kConstants ? "constants" : "an input");
  }
}
void note(const PortPlace& port, bool output, std::uint64_t (&regions)[kRegions],
          std::uint32_t& read_only) noexcept {
  if (!port.own()) return;
  regions[port.region] = port.bytes;
  if (!output) read_only |= 1u << port.region;
}

Status check_segment(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_delegate(model, op));
  const DelegateSegment delegate(model, op);
  RUNNEL_ASSIGN(const Sizes sizes, sizes_of(delegate));
  std::uint64_t regions[kRegions] = {delegate.part("weights").size(), sizes.scratch, sizes.fast_scratch};
  std::uint32_t read_only = 1u << kConstants;
  for (const bool output : {false, true}) {
    for (std::size_t i = 0; i < (output ? delegate.outputs() : delegate.inputs()).size(); ++i) {
      RUNNEL_ASSIGN(const PortPlace port, read_port(model, delegate, output, i, sizes.scratch));
      note(port, output, regions, read_only);
    }
  }
  RUNNEL_TRY(check_program(delegate.part("command_stream"), regions, read_only));
  if (!is_stepped(model, op)) return {};
  RUNNEL_ASSIGN(const BlockProgram blocks, read_block_program(model, op, kMaxScratch));
  std::uint64_t block_regions[kRegions] = {blocks.constants.size(), blocks.scratch, blocks.fast_scratch};
  read_only = 1u << kConstants;
  note(blocks.input, false, block_regions, read_only);
  note(blocks.output, true, block_regions, read_only);
  return check_program(blocks.payload, block_regions, read_only);
}

void reset_segment(const BoundOperator& self, std::byte* state) noexcept {
  const auto& segment = static_cast<const DeviceSegment&>(self);
  std::memset(state + segment.state, 0, segment.scratch);
  std::memset(state + segment.fast_state, 0, segment.fast_scratch);
  for (const PortPlace& port : segment.inputs) {
    if (port.tensor < 0) std::memset(state + segment.state + port.offset, port.fill, port.bytes);
  }
}
void reset_blocks(const BoundOperator& self, std::byte* state) noexcept {
  const auto& segment = static_cast<const DeviceSegment&>(self);
  segment.blocks.first_state(state + segment.state);
  std::memset(state + segment.fast_state, 0, segment.fast_scratch);
}

// Runs the program on block number `block` of each tensor. The device needs addresses at multiples of 16:
// other tensors are copied to `copies`.
void run_program(const DeviceSegment& segment, const RunContext& context, std::size_t block) noexcept {
  std::byte *const scratch = context.state + segment.state, *copies = context.scratch;
  std::span<const std::byte> memories[kRegions] = {
      segment.constants,
      {scratch, segment.scratch},
      {context.state + segment.fast_state, segment.fast_scratch}};
  std::byte* computed[kRegions] = {};
  const auto tensor = [&](const PortPlace& port) { return context.data[port.tensor] + block * port.bytes; };
  for (const auto& ports : {segment.inputs, segment.outputs}) {
    for (const PortPlace& port : ports) {
      if (!port.own()) continue;
      std::byte* place = tensor(port);
      if (reinterpret_cast<std::uintptr_t>(place) % kAlignment != 0) {
        std::memcpy(copies, place, port.bytes);
        place = copies;
        copies += aligned(port.bytes);
      }
      computed[port.region] = place;
      memories[port.region] = {place, port.bytes};
    }
  }
  for (const PortPlace& port : segment.inputs) {
    if (port.tensor >= 0 && !port.own()) std::memcpy(scratch + port.offset, tensor(port), port.bytes);
  }
  Status status;
  if (const Result<Driver*> driver = reserve_driver_for(segment.payload); driver.ok()) {
    status = (*driver)->invoke(segment.payload, memories);
    (*driver)->release();
  } else {
    status = driver.status();
  }
  for (const PortPlace& port : segment.outputs) {
    const std::byte* const from = port.own() ? computed[port.region] : scratch + port.offset;
    if (!status.ok())
      std::memset(tensor(port), 0, port.bytes);
    else if (from != tensor(port))
      std::memcpy(tensor(port), from, port.bytes);
  }
  // The first failure of several runs stays.
  if (block == 0 || the_status().ok()) the_status() = status;
  if (!status.ok() && the_failure().ok()) the_failure() = status;
}

void run_segment(const BoundOperator& self, const RunContext& context) noexcept {
  run_program(static_cast<const DeviceSegment&>(self), context, 0);
}
void run_blocks(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& segment = static_cast<const DeviceSegment&>(self);
  const FrameIndex& index = context.index[segment.inputs[0].tensor];
  for (std::size_t block = 0; block < segment.runs; ++block) {
    segment.blocks.set_masks(context.state + segment.state,
                             index.first + static_cast<std::int64_t>(block) * segment.blocks.in_frames,
                             index.length);
    run_program(segment, context, block);
  }
}

Result<std::span<PortPlace>> make_places(PrepareContext& context, std::size_t count) noexcept {
  void* const memory = context.memory().allocate(sizeof(PortPlace) * count, alignof(PortPlace));
  if (memory == nullptr) return Status(Code::out_of_memory);
  return std::span(static_cast<PortPlace*>(memory), count);
}
Result<std::span<const PortPlace>> places(PrepareContext& context, const DelegateSegment& delegate,
                                          bool output, std::size_t scratch) noexcept {
  RUNNEL_ASSIGN(const std::span<PortPlace> ports,
                make_places(context, (output ? delegate.outputs() : delegate.inputs()).size()));
  for (std::size_t i = 0; i < ports.size(); ++i) {
    RUNNEL_ASSIGN(const PortPlace port, read_port(context.model(), delegate, output, i, scratch));
    new (&ports[i]) PortPlace(port);
    if (port.tensor < 0) continue;
    if (context.shape(port.tensor).elements() != context.model().tensor(port.tensor).shape.elements())
      return Status(Code::unsupported) << "is compiled for one size of clip";
    context.read_constant(port.tensor);
  }
  return std::span<const PortPlace>(ports);
}

Status bind_whole(PrepareContext& context, DeviceSegment& bound) noexcept {
  const DelegateSegment delegate(context.model(), context.op());
  RUNNEL_ASSIGN(const Sizes sizes, sizes_of(delegate));
  bound.run = run_segment;
  bound.reset = reset_segment;
  bound.payload = delegate.part("command_stream");
  bound.constants = delegate.part("weights");
  bound.scratch = sizes.scratch;
  bound.fast_scratch = sizes.fast_scratch;
  RUNNEL_ASSIGN(bound.inputs, places(context, delegate, false, sizes.scratch));
  RUNNEL_ASSIGN(bound.outputs, places(context, delegate, true, sizes.scratch));
  return {};
}
Status bind_blocks(PrepareContext& context, DeviceSegment& bound) noexcept {
  RUNNEL_ASSIGN(bound.blocks, read_block_program(context.model(), context.op(), kMaxScratch));
  const BlockProgram& blocks = bound.blocks;
  const std::int32_t input = blocks.input.tensor, output = blocks.output.tensor;
  const std::int64_t frames = context.shape(input)[context.time_axis(input)],
                     out_frames = context.shape(output)[context.time_axis(output)];
  if (frames % blocks.in_frames != 0 || frames / blocks.in_frames * blocks.out_frames != out_frames) {
    return Status(Code::unsupported) << "is compiled for blocks of " << blocks.in_frames << " frames, not "
                                     << frames;
  }
  bound.run = run_blocks;
  bound.reset = reset_blocks;
  bound.payload = blocks.payload;
  bound.constants = blocks.constants;
  bound.scratch = blocks.scratch;
  bound.fast_scratch = blocks.fast_scratch;
  bound.runs = static_cast<std::size_t>(frames / blocks.in_frames);
  RUNNEL_ASSIGN(const std::span<PortPlace> ports, make_places(context, 2));
  new (&ports[0]) PortPlace(blocks.input);
  new (&ports[1]) PortPlace(blocks.output);
  bound.inputs = ports.first(1);
  bound.outputs = ports.last(1);
  context.use_frame_index();
  context.read_constant(input);
  return {};
}

Result<const BoundOperator*> prepare_segment(PrepareContext& context) noexcept {
  const Model& model = context.model();
  const DelegateSegment delegate(model, context.op());
  RUNNEL_TRY(check_stepped(context));
  const bool streamed =
      context.streamed() && is_stepped(model, context.op()) && context.time_axis(delegate.inputs()[0]) >= 0;
  if (streamed && context.windows_apart())
    return Status(Code::unsupported) << "is stepped in blocks; windows by themselves are the simulator's";
  void* const memory = context.memory().allocate(sizeof(DeviceSegment), alignof(DeviceSegment));
  if (memory == nullptr) return Status(Code::out_of_memory);
  auto* const bound = new (memory) DeviceSegment;
  RUNNEL_TRY(streamed ? bind_blocks(context, *bound) : bind_whole(context, *bound));
  RUNNEL_ASSIGN(Driver* const driver, reserve_driver_for(bound->payload));
  driver->release();
  bound->state = context.request_state(bound->scratch);
  bound->fast_state = context.request_state(bound->fast_scratch);
  std::size_t copies = 0;
  for (const auto& ports : {bound->inputs, bound->outputs}) {
    for (const PortPlace& port : ports) copies += port.own() ? aligned(port.bytes) : 0;
  }
  if (copies > 0) context.request_scratch(copies);
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition ethos_u_v1{runnel::OpCode::delegate, runnel::Arithmetic{1}, "ethos-u", check_segment,
                                    stream_delegate,          prepare_segment};

const Status& last_run() noexcept { return the_status(); }
Status take_failure() noexcept {
  const Status failure = the_failure();
  the_failure() = Status();
  return failure;
}

}  // namespace runnel::npu
