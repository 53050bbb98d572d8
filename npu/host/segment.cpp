#include "npu/host/segment.h"

#include <cstring>

#include "npu/decoder.h"
#include "npu/host/vela_stream.h"
#include "npu/port.h"

namespace runnel::npu {
namespace {

// COP1 and the device it is for.
Status read_commands(Segment& segment, std::span<const std::byte> bytes) {
  RUNNEL_ASSIGN(segment.payload, read_payload(bytes));
  RUNNEL_ASSIGN(segment.accelerator, find_accelerator(segment.payload.config));
  return {};
}

Port port_at(const Model& model, const PortPlace& place) {
  Port port{"", place.offset, place.bytes, place.fill, place.tensor < 0, place.region};
  if (place.tensor >= 0) port.name = model.tensor_name(place.tensor);
  return port;
}
Result<std::vector<Port>> read_ports(const Model& model, const DelegateSegment& delegate, bool output,
                                     std::size_t scratch) {
  std::vector<Port> ports;
  for (std::size_t i = 0; i < (output ? delegate.outputs() : delegate.inputs()).size(); ++i) {
    RUNNEL_ASSIGN(const PortPlace place, read_port(model, delegate, output, i, scratch));
    ports.push_back(port_at(model, place));
  }
  return ports;
}

std::vector<Port> ports_of(const std::vector<VelaTensor>& tensors, const char* name) {
  std::vector<Port> ports;
  for (const VelaTensor& tensor : tensors) {
    Port port;
    port.name = name + std::to_string(ports.size());
    port.offset = static_cast<std::size_t>(tensor.offset);
    port.bytes = tensor.bytes;
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace

Result<Segment> read_segment(const Model& model, const fb::Operator& op, std::size_t most_scratch) {
  const DelegateSegment delegate(model, op);
  Segment segment;
  RUNNEL_TRY(read_commands(segment, delegate.part("command_stream")));
  segment.constants = delegate.part("weights");
  RUNNEL_ASSIGN(segment.scratch, read_size(delegate, "scratch_bytes", most_scratch));
  RUNNEL_ASSIGN(segment.fast_scratch, read_size(delegate, "fast_scratch_bytes", most_scratch));
  RUNNEL_ASSIGN(segment.inputs, read_ports(model, delegate, false, segment.scratch));
  RUNNEL_ASSIGN(segment.outputs, read_ports(model, delegate, true, segment.scratch));
  return segment;
}

Result<SteppedSegment> read_stepped_segment(const Model& model, const fb::Operator& op,
                                            std::size_t most_scratch) {
  SteppedSegment out;
  RUNNEL_ASSIGN(out.blocks, read_block_program(model, op, most_scratch));
  Segment& segment = out.segment;
  RUNNEL_TRY(read_commands(segment, out.blocks.payload));
  segment.constants = out.blocks.constants;
  segment.scratch = out.blocks.scratch;
  segment.fast_scratch = out.blocks.fast_scratch;
  segment.inputs.push_back(port_at(model, out.blocks.input));
  segment.outputs.push_back(port_at(model, out.blocks.output));
  return out;
}

Status check_device(const Model& model, const fb::Operator& op, const DeviceDescription& device) {
  const CustomAttributes attributes = DelegateSegment(model, op).attributes();
  const auto compare = [&](const char* what, std::string_view name, const std::string& wanted) -> Status {
    const std::string_view made = attributes.text(name);
    if (wanted.empty() || made.empty() || made == wanted) return {};
    return Status(Code::mismatch) << "compiled for " << what << ' ' << made << ", the device has " << wanted;
  };
  RUNNEL_TRY(compare("accelerator", "target", device.accelerator));
  RUNNEL_TRY(compare("memory mode", "memory_mode", device.memory_mode));
  return compare("system configuration", "system_config", device.system_config);
}

Result<Segment> read_segment(std::span<const std::byte> bytes) {
  Segment segment;
  if (bytes.size() >= 4 &&
      (std::memcmp(bytes.data(), "COP1", 4) == 0 || std::memcmp(bytes.data(), "COP2", 4) == 0)) {
    RUNNEL_TRY(read_commands(segment, bytes));
    return segment;
  }
  RUNNEL_ASSIGN(const VelaStream stream, read_vela_stream(bytes, {}));
  RUNNEL_TRY(read_commands(segment, stream.commands));
  segment.constants = stream.weights;
  segment.scratch = stream.scratch;
  segment.inputs = ports_of(stream.inputs, "input");
  segment.outputs = ports_of(stream.outputs, "output");
  return segment;
}

Result<std::vector<Operation>> operations_of(const Segment& segment) {
  std::vector<Operation> out;
  Decoder decoder(segment.payload.commands, *segment.accelerator);
  for (Operation op;;) {
    RUNNEL_ASSIGN(const bool more, decoder.next(op));
    if (!more) return out;
    out.push_back(op);
  }
}

}  // namespace runnel::npu
