#include "npu/block_program.h"

#include <cstring>

#include "base/checked.h"
#include "streaming/plan.h"

namespace runnel::npu {
namespace {

constexpr std::size_t kState = 3, kMask = 7, kWindow = 4;  // values per entry
constexpr std::int64_t kMax = std::int64_t{1} << 31;

streaming::NodeRule window(std::span<const std::int64_t> numbers) noexcept {
  streaming::NodeRule rule;
  rule.kind = streaming::Kind::window;
  rule.kernel = numbers[0];
  rule.stride = numbers[1];
  rule.left = numbers[2];
  rule.right = numbers[3];
  return rule;
}

// Blocks are then contiguous and consecutive in memory.
bool frames_lie_together(const Shape& shape, std::int64_t time) noexcept {
  if (time < 0 || time >= shape.rank) return false;
  for (int axis = 0; axis < time; ++axis) {
    if (shape[axis] != 1) return false;
  }
  return true;
}

// Histories and masks lie inside the scratch memory.
Status check_places(const BlockProgram& program) noexcept {
  const auto fail = [] { return Status(Code::invalid_data); };
  const auto inside = [&](std::int64_t offset, std::int64_t bytes) {
    return offset >= 0 && bytes >= 0 &&
           range_inside(static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(bytes),
                        program.scratch);
  };
  const auto states = program.states, masks = program.masks;
  if (states.size() % kState != 0 || masks.size() % kMask != 0)
    return fail() << "attributes block_states and block_masks have " << states.size() << " and "
                  << masks.size() << " values";
  for (std::size_t i = 0; i < states.size(); i += kState) {
    if (!inside(states[i], states[i + 1]))
      return fail() << "a history of " << states[i + 1] << " bytes at " << states[i]
                    << ", outside of the scratch memory of " << program.scratch;
  }
  for (std::size_t i = 0; i < masks.size(); i += kMask) {
    if (!inside(masks[i], masks[i + 1]))
      return fail() << "a mask of " << masks[i + 1] << " bytes at " << masks[i]
                    << ", outside of the scratch memory of " << program.scratch;
    for (std::size_t k = 2; k < kMask; ++k) {
      if (masks[i + k] < (k == 3 || k == 4 ? 1 : 0) || masks[i + k] >= kMax)
        return fail() << "attribute block_masks holds " << masks[i + k];
    }
  }
  return {};
}

}  // namespace

void BlockProgram::first_state(std::byte* memory) const noexcept {
  std::memset(memory, 0, scratch);
  for (std::size_t i = 0; i < states.size(); i += kState)
    std::memset(memory + states[i], static_cast<std::uint8_t>(states[i + 2]),
                static_cast<std::size_t>(states[i + 1]));
}

void BlockProgram::set_masks(std::byte* memory, std::int64_t first, std::int64_t length) const noexcept {
  const std::int64_t call = floor_div(first + delay, in_frames);
  for (std::size_t i = 0; i < masks.size(); i += kMask) {
    const std::int64_t count = masks[i + 1], late = masks[i + 2];
    const std::int64_t frames =
        length >= kEndless ? kEndless : streaming::output_length(window(masks.subspan(i + 3)), length);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t index = call * count - late + k;
      memory[masks[i] + k] = std::byte{index >= 0 && index < frames ? std::uint8_t{1} : std::uint8_t{0}};
    }
  }
}

bool is_stepped(const Model& model, const fb::Operator& op) noexcept {
  return !DelegateSegment(model, op).part("block_command_stream").empty();
}

// The program for whole clips keeps no frames between blocks: on a block as long as its clip it would
// compute something else.
Status check_stepped(const PrepareContext& context) noexcept {
  const auto inputs = DelegateSegment(context.model(), context.op()).inputs();
  const bool streamed =
      context.streamed() && inputs.size() == 1 && inputs[0] >= 0 && context.time_axis(inputs[0]) >= 0;
  if (!streamed || is_stepped(context.model(), context.op())) return {};
  return Status(Code::unsupported) << "has no program for the blocks of a stream";
}

Result<BlockProgram> read_block_program(const Model& model, const fb::Operator& op,
                                        std::size_t most_scratch) noexcept {
  const DelegateSegment delegate(model, op);
  const auto fail = [] { return Status(Code::invalid_data); };
  const auto frames = delegate.attributes().integers("block_frames"),
             axes = delegate.attributes().integers("stream_axes");
  if (frames.size() != 3 || axes.size() != 2)
    return fail() << "attributes block_frames and stream_axes have " << frames.size() << " and "
                  << axes.size() << " values, expected 3 and 2";
  if (frames[0] < 1 || frames[1] < 1 || frames[2] < 0 || frames[0] >= kMax || frames[1] >= kMax ||
      frames[2] >= kMax) {
    return fail() << "attribute block_frames holds " << frames[0] << ", " << frames[1] << " and "
                  << frames[2];
  }
  const auto numbers = delegate.attributes().integers("stream_window");
  if (numbers.size() != kWindow || numbers[1] < 1 || numbers[1] >= kMax ||
      frames[0] != frames[1] * numbers[1]) {
    return fail() << "attribute block_frames has " << frames[0] << " frames for " << frames[1]
                  << ", unlike attribute stream_window";
  }
  if (delegate.inputs().size() != 1 || delegate.outputs().size() != 1 || delegate.inputs()[0] < 0) {
    return fail() << "a stepped segment of " << delegate.inputs().size() << " inputs and "
                  << delegate.outputs().size() << " outputs, expected one of each";
  }
  BlockProgram out;
  out.in_frames = frames[0];
  out.out_frames = frames[1];
  out.delay = frames[2];
  const Shape x = model.tensor(delegate.inputs()[0]).shape, y = model.tensor(delegate.outputs()[0]).shape;
  if (!frames_lie_together(x, axes[0]) || !frames_lie_together(y, axes[1]))
    return fail() << "attribute stream_axes holds " << axes[0] << " and " << axes[1];
  out.payload = delegate.part("block_command_stream");
  out.constants = delegate.part("block_weights");
  RUNNEL_ASSIGN(out.scratch, read_size(delegate, "block_scratch_bytes", most_scratch));
  RUNNEL_ASSIGN(out.fast_scratch, read_size(delegate, "block_fast_scratch_bytes", most_scratch));
  RUNNEL_ASSIGN(out.input, read_block_port(model, delegate, false, out.in_frames, static_cast<int>(axes[0]),
                                           out.scratch));
  RUNNEL_ASSIGN(out.output, read_block_port(model, delegate, true, out.out_frames, static_cast<int>(axes[1]),
                                            out.scratch));
  out.states = delegate.attributes().integers("block_states");
  out.masks = delegate.attributes().integers("block_masks");
  RUNNEL_TRY(check_places(out));
  return out;
}

streaming::NodeRule window_of(const DelegateSegment& delegate) noexcept {
  return window(delegate.attributes().integers("stream_window"));
}

}  // namespace runnel::npu
