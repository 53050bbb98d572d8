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

// `share`: of a tensor's bytes, which hold `of` frames, those of this many frames come in one call.
struct Share {
  std::int64_t frames = 1, of = 1;
};
Status read_ports(const Model& model, std::span<const std::int32_t> tensors, const DelegateSegment& delegate, const std::string& prefix, std::string_view what, const Share& share,
                  Segment& segment, std::vector<Port>& ports) {
  const std::string attribute = prefix + std::string(what) + "_offsets";
  const auto offsets = delegate.attributes().integers(attribute);
  const auto states = delegate.attributes().integers("state_bytes"), values = delegate.attributes().integers("state_values");
  if (offsets.size() != tensors.size()) return Status(Code::invalid_data) << "attribute " << attribute << " has " << offsets.size() << " values for " << tensors.size() << " tensors";
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto fail = [&] { return Status(Code::invalid_data) << what << ' ' << i << ": "; };
    Port port;
    if (tensors[i] >= 0) {
      const TensorView tensor = model.tensor(tensors[i]);
      port.name = model.tensor_name(tensors[i]);
      port.bytes = tensor.bytes() / static_cast<std::size_t>(share.of) * static_cast<std::size_t>(share.frames);
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

// One of the operator's programs: parts and attributes whose names begin with `prefix`.
Result<Segment> read_program(const Model& model, const fb::Operator& op, const std::string& prefix, const Share& in, const Share& out, std::size_t most_scratch) {
  const DelegateSegment delegate(model, op);
  Segment segment;
  RUNNEL_TRY(read_commands(segment, delegate.part(prefix + "command_stream")));
  segment.constants = delegate.part(prefix + "weights");
  RUNNEL_ASSIGN(segment.scratch, size_attribute(delegate, prefix + "scratch_bytes", most_scratch));
  RUNNEL_ASSIGN(segment.fast_scratch, size_attribute(delegate, prefix + "fast_scratch_bytes", most_scratch));
  RUNNEL_TRY(read_ports(model, delegate.inputs(), delegate, prefix, "input", in, segment, segment.inputs));
  RUNNEL_TRY(read_ports(model, delegate.outputs(), delegate, prefix, "output", out, segment, segment.outputs));
  return segment;
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
  return read_program(model, op, "", {}, {}, most_scratch);
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
  const Share in{out.in_frames, x[static_cast<int>(axes[0])]}, produced{out.out_frames, y[static_cast<int>(axes[1])]};
  RUNNEL_ASSIGN(out.segment, read_program(model, op, "block_", in, produced, most_scratch));
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
