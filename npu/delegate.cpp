#include "npu/delegate.h"

#include <cstring>
#include <new>

#include "inference/delegate.h"
#include "npu/bounds.h"
#include "npu/decoder.h"
#include "npu/port.h"

namespace runnel::npu {
namespace {

constexpr std::size_t kMostScratch = std::size_t{1} << 28;

Status the_status;

// A segment, bound to its bytes in the model.
struct DeviceSegment : BoundOperator {
  std::span<const std::byte> payload, constants;
  std::size_t scratch = 0, fast_scratch = 0;   // bytes
  std::size_t state = 0, fast_state = 0;       // where they lie in the session's operator state
  std::span<const PortPlace> inputs, outputs;
};

struct Sizes {
  std::size_t scratch = 0, fast_scratch = 0;
};
Result<Sizes> sizes_of(const DelegateSegment& delegate) noexcept {
  Sizes sizes;
  RUNNEL_ASSIGN(sizes.scratch, read_size(delegate, "scratch_bytes", kMostScratch));
  RUNNEL_ASSIGN(sizes.fast_scratch, read_size(delegate, "fast_scratch_bytes", kMostScratch));
  return sizes;
}

Status check_segment(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_delegate(model, op));
  const DelegateSegment delegate(model, op);
  RUNNEL_ASSIGN(const Payload payload, read_payload(delegate.part("command_stream")));
  RUNNEL_ASSIGN(const Accelerator* const accelerator, find_accelerator(payload.config));
  RUNNEL_ASSIGN(const Sizes sizes, sizes_of(delegate));
  for (std::size_t i = 0; i < delegate.inputs().size(); ++i) RUNNEL_TRY(read_port(model, delegate, false, i, sizes.scratch).status());
  for (std::size_t i = 0; i < delegate.outputs().size(); ++i) RUNNEL_TRY(read_port(model, delegate, true, i, sizes.scratch).status());
  const std::uint64_t regions[] = {delegate.part("weights").size(), sizes.scratch, sizes.fast_scratch};
  Decoder decoder(payload.commands, *accelerator);
  for (Operation done;;) {
    RUNNEL_ASSIGN(const bool more, decoder.next(done));
    if (!more) return {};
    RUNNEL_TRY(check_bounds(done, *accelerator, regions));
    const bool writes = (done.computes() && done.ofm.region == 0) || (done.kind == OperationKind::dma && !done.dma.target.internal && done.dma.target.region == 0);
    if (writes) return Status(Code::invalid_data) << "operation " << done.index << " writes constants";
  }
}

void reset_segment(const BoundOperator& self, std::byte* state) noexcept {
  const auto& segment = static_cast<const DeviceSegment&>(self);
  std::memset(state + segment.state, 0, segment.scratch);
  std::memset(state + segment.fast_state, 0, segment.fast_scratch);
  for (const PortPlace& port : segment.inputs) {
    if (port.tensor < 0) std::memset(state + segment.state + port.offset, port.fill, port.bytes);
  }
}

void run_segment(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& segment = static_cast<const DeviceSegment&>(self);
  std::byte* const scratch = context.state + segment.state;
  for (const PortPlace& port : segment.inputs) {
    if (port.tensor >= 0) std::memcpy(scratch + port.offset, context.data[port.tensor], port.bytes);
  }
  const std::span<const std::byte> memories[] = {segment.constants, {scratch, segment.scratch}, {context.state + segment.fast_state, segment.fast_scratch}};
  if (Driver* const driver = reserve_driver(); driver != nullptr) {
    the_status = driver->invoke(segment.payload, memories);
    driver->release();
  } else {
    the_status = Status(Code::not_found) << "no NPU is free";
  }
  for (const PortPlace& port : segment.outputs) {
    if (the_status.ok()) std::memcpy(context.data[port.tensor], scratch + port.offset, port.bytes);
    else std::memset(context.data[port.tensor], 0, port.bytes);
  }
}

Result<std::span<const PortPlace>> places(PrepareContext& context, const DelegateSegment& delegate, bool output, std::size_t scratch) noexcept {
  const auto tensors = output ? delegate.outputs() : delegate.inputs();
  void* const memory = context.memory().allocate(sizeof(PortPlace) * tensors.size(), alignof(PortPlace));
  if (memory == nullptr) return Status(Code::out_of_memory);
  auto* const ports = static_cast<PortPlace*>(memory);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    RUNNEL_ASSIGN(const PortPlace port, read_port(context.model(), delegate, output, i, scratch));
    new (ports + i) PortPlace(port);
    if (port.tensor < 0) continue;
    if (context.shape(port.tensor).elements() != context.model().tensor(port.tensor).shape.elements()) return Status(Code::unsupported) << "is compiled for one size of clip";
    context.read_constant(port.tensor);
  }
  return std::span<const PortPlace>(ports, tensors.size());
}

Result<const BoundOperator*> prepare_segment(PrepareContext& context) noexcept {
  const DelegateSegment delegate(context.model(), context.op());
  RUNNEL_ASSIGN(const Sizes sizes, sizes_of(delegate));
  Driver* const driver = reserve_driver();
  if (driver == nullptr) return Status(Code::not_found) << "no NPU is free";
  const std::span<const std::byte> payload = delegate.part("command_stream");
  const Status fits = driver->fits(payload);
  driver->release();
  RUNNEL_TRY(fits);
  void* const memory = context.memory().allocate(sizeof(DeviceSegment), alignof(DeviceSegment));
  if (memory == nullptr) return Status(Code::out_of_memory);
  auto* const bound = new (memory) DeviceSegment;
  bound->run = run_segment;
  bound->reset = reset_segment;
  bound->payload = payload;
  bound->constants = delegate.part("weights");
  bound->scratch = sizes.scratch;
  bound->fast_scratch = sizes.fast_scratch;
  bound->state = context.request_state(sizes.scratch);
  bound->fast_state = context.request_state(sizes.fast_scratch);
  RUNNEL_ASSIGN(bound->inputs, places(context, delegate, false, sizes.scratch));
  RUNNEL_ASSIGN(bound->outputs, places(context, delegate, true, sizes.scratch));
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition ethos_u_v1{fb::OpCode::delegate, 1, "ethos-u", check_segment, stream_delegate, prepare_segment};

const Status& last_run() noexcept { return the_status; }

}  // namespace runnel::npu
