#include "npu/host/segment.h"

#include <cstring>

#include "base/checked.h"
#include "npu/host/vela_stream.h"

namespace runnel::npu {
namespace {

// COP1 and the device it is for.
Status read_commands(Segment& segment, std::span<const std::byte> bytes) {
  RUNNEL_ASSIGN(segment.payload, read_payload(bytes));
  RUNNEL_ASSIGN(segment.accelerator, find_accelerator(segment.payload.config));
  return {};
}

Result<std::size_t> size_attribute(const DelegateSegment& delegate, std::string_view name, std::size_t most) {
  RUNNEL_ASSIGN(const std::int64_t bytes, delegate.attributes().integer(name, 0));
  if (bytes < 0 || static_cast<std::uint64_t>(bytes) > most) return Status(Code::invalid_data) << "attribute " << name << " is " << bytes << ", expected 0 to " << most;
  return static_cast<std::size_t>(bytes);
}

Status read_ports(const Model& model, std::span<const std::int32_t> tensors, const DelegateSegment& delegate, std::string_view what, Segment& segment, std::vector<Port>& ports) {
  const std::string attribute = std::string(what) + "_offsets";
  const auto offsets = delegate.attributes().integers(attribute);
  const auto states = delegate.attributes().integers("state_bytes"), values = delegate.attributes().integers("state_values");
  if (offsets.size() != tensors.size()) return Status(Code::invalid_data) << "attribute " << attribute << " has " << offsets.size() << " values for " << tensors.size() << " tensors";
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto fail = [&] { return Status(Code::invalid_data) << what << ' ' << i << ": "; };
    Port port;
    if (tensors[i] >= 0) {
      const TensorView tensor = model.tensor(tensors[i]);
      port.name = model.tensor_name(tensors[i]);
      port.bytes = tensor.bytes();
    } else {
      if (i >= states.size() || states[i] <= 0) return fail() << "it is absent, and no state";
      port.kept = true;
      port.bytes = static_cast<std::size_t>(states[i]);
      port.fill = i < values.size() ? static_cast<std::uint8_t>(values[i]) : 0;
    }
    if (offsets[i] < 0) return Status(Code::unsupported) << what << ' ' << i << ": the file does not say where it lies";
    if (!range_inside(static_cast<std::uint64_t>(offsets[i]), port.bytes, segment.scratch)) {
      return fail() << port.bytes << " bytes at " << offsets[i] << ", outside of the scratch memory of " << segment.scratch;
    }
    port.offset = static_cast<std::size_t>(offsets[i]);
    ports.push_back(std::move(port));
  }
  return {};
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
  RUNNEL_ASSIGN(segment.scratch, size_attribute(delegate, "scratch_bytes", most_scratch));
  RUNNEL_ASSIGN(segment.fast_scratch, size_attribute(delegate, "fast_scratch_bytes", most_scratch));
  RUNNEL_TRY(read_ports(model, delegate.inputs(), delegate, "input", segment, segment.inputs));
  RUNNEL_TRY(read_ports(model, delegate.outputs(), delegate, "output", segment, segment.outputs));
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
