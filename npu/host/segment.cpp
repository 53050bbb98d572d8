#include "npu/host/segment.h"

#include <cstring>

#include "base/checked.h"
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

// The one input or output of a stepped program: as many bytes as `frames` of the tensor's frames have.
Result<Port> read_block_port(const Model& model, const DelegateSegment& delegate, bool output, std::int64_t frames, int axis, std::size_t scratch) {
  const std::string_view attribute = output ? "block_output_offsets" : "block_input_offsets";
  const std::int32_t tensor = output ? delegate.outputs()[0] : delegate.inputs()[0];
  const auto offsets = delegate.attributes().integers(attribute);
  if (offsets.size() != 1) return Status(Code::invalid_data) << "attribute " << attribute << " has " << offsets.size() << " values, expected 1";
  const TensorView view = model.tensor(tensor);
  Port port;
  port.name = model.tensor_name(tensor);
  port.bytes = view.bytes() / static_cast<std::size_t>(view.shape[axis]) * static_cast<std::size_t>(frames);
  if (offsets[0] < 0 || !range_inside(static_cast<std::uint64_t>(offsets[0]), port.bytes, scratch)) {
    return Status(Code::invalid_data) << attribute << ": " << port.bytes << " bytes at " << offsets[0] << ", outside of the scratch memory of " << scratch;
  }
  port.offset = static_cast<std::size_t>(offsets[0]);
  return port;
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

bool is_stepped(const Model& model, const fb::Operator& op) { return !DelegateSegment(model, op).part("block_command_stream").empty(); }

Result<SteppedSegment> read_stepped_segment(const Model& model, const fb::Operator& op, std::size_t most_scratch) {
  const DelegateSegment delegate(model, op);
  const auto fail = [] { return Status(Code::invalid_data); };
  const auto frames = delegate.attributes().integers("block_frames"), axes = delegate.attributes().integers("stream_axes");
  if (frames.size() != 3 || axes.size() != 2) return fail() << "attributes block_frames and stream_axes have " << frames.size() << " and " << axes.size() << " values, expected 3 and 2";
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (frames[0] < 1 || frames[1] < 1 || frames[2] < 0 || frames[0] >= kMost || frames[1] >= kMost || frames[2] >= kMost) {
    return fail() << "attribute block_frames holds " << frames[0] << ", " << frames[1] << " and " << frames[2];
  }
  if (delegate.inputs().size() != 1 || delegate.outputs().size() != 1 || delegate.inputs()[0] < 0) return fail() << "a stepped segment of " << delegate.inputs().size() << " inputs";
  SteppedSegment out;
  out.in_frames = frames[0];
  out.out_frames = frames[1];
  out.delay = frames[2];
  const Shape x = model.tensor(delegate.inputs()[0]).shape, y = model.tensor(delegate.outputs()[0]).shape;
  if (axes[0] < 0 || axes[0] >= x.rank || axes[1] < 0 || axes[1] >= y.rank) return fail() << "attribute stream_axes holds " << axes[0] << " and " << axes[1];
  Segment& segment = out.segment;
  RUNNEL_TRY(read_commands(segment, delegate.part("block_command_stream")));
  segment.constants = delegate.part("block_weights");
  RUNNEL_ASSIGN(segment.scratch, read_size(delegate, "block_scratch_bytes", most_scratch));
  RUNNEL_ASSIGN(segment.fast_scratch, read_size(delegate, "block_fast_scratch_bytes", most_scratch));
  RUNNEL_ASSIGN(Port input, read_block_port(model, delegate, false, out.in_frames, static_cast<int>(axes[0]), segment.scratch));
  RUNNEL_ASSIGN(Port output, read_block_port(model, delegate, true, out.out_frames, static_cast<int>(axes[1]), segment.scratch));
  segment.inputs.push_back(std::move(input));
  segment.outputs.push_back(std::move(output));
  const auto states = delegate.attributes().integers("block_states"), masks = delegate.attributes().integers("block_masks");
  const auto inside = [&](std::int64_t offset, std::int64_t bytes) {
    return offset >= 0 && bytes >= 0 && range_inside(static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(bytes), out.segment.scratch);
  };
  constexpr std::size_t kState = 3, kMask = 7;
  if (states.size() % kState != 0 || masks.size() % kMask != 0) return fail() << "attributes block_states and block_masks have " << states.size() << " and " << masks.size() << " values";
  for (std::size_t i = 0; i < states.size(); i += kState) {
    if (!inside(states[i], states[i + 1])) return fail() << "a history of " << states[i + 1] << " bytes at " << states[i] << ", outside of the scratch memory of " << out.segment.scratch;
    out.states.push_back({static_cast<std::size_t>(states[i]), static_cast<std::size_t>(states[i + 1]), static_cast<std::uint8_t>(states[i + 2])});
  }
  for (std::size_t i = 0; i < masks.size(); i += kMask) {
    if (!inside(masks[i], masks[i + 1])) return fail() << "a mask of " << masks[i + 1] << " bytes at " << masks[i] << ", outside of the scratch memory of " << out.segment.scratch;
    for (std::size_t k = 2; k < kMask; ++k) {
      if (masks[i + k] < (k == 3 || k == 4 ? 1 : 0) || masks[i + k] >= kMost) return fail() << "attribute block_masks holds " << masks[i + k];
    }
    SteppedSegment::Mask mask;
    mask.offset = static_cast<std::size_t>(masks[i]);
    mask.frames = masks[i + 1];
    mask.delay = masks[i + 2];
    mask.window.kind = streaming::Kind::window;
    mask.window.kernel = masks[i + 3];
    mask.window.stride = masks[i + 4];
    mask.window.left = masks[i + 5];
    mask.window.right = masks[i + 6];
    out.masks.push_back(mask);
  }
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
