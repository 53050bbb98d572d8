#include "npu/host/segment.h"

#include <cstring>

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

Result<std::vector<Port>> read_ports(const Model& model, const DelegateSegment& delegate, bool output, std::size_t scratch) {
  std::vector<Port> ports((output ? delegate.outputs() : delegate.inputs()).size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    RUNNEL_ASSIGN(const PortPlace place, read_port(model, delegate, output, i, scratch));
    if (place.tensor >= 0) ports[i].name = model.tensor_name(place.tensor);
    ports[i].offset = place.offset;
    ports[i].bytes = place.bytes;
    ports[i].fill = place.fill;
    ports[i].kept = place.tensor < 0;
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

Result<Segment> read_segment(std::span<const std::byte> bytes) {
  Segment segment;
  if (bytes.size() >= 4 && (std::memcmp(bytes.data(), "COP1", 4) == 0 || std::memcmp(bytes.data(), "COP2", 4) == 0)) {
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

}  // namespace runnel::npu
