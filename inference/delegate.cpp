#include "inference/delegate.h"

#include "inference/ops/support.h"

namespace runnel {

std::string_view DelegateSegment::kind() const noexcept {
  return {options_.kind()->c_str(), options_.kind()->size()};
}

int DelegateSegment::parts() const noexcept {
  return options_.parts() == nullptr ? 0 : static_cast<int>(options_.parts()->size());
}

std::string_view DelegateSegment::part_name(int part) const noexcept {
  const flatbuffers::String& name = *options_.parts()->Get(static_cast<flatbuffers::uoffset_t>(part));
  return {name.c_str(), name.size()};
}

std::span<const std::byte> DelegateSegment::part(int part) const noexcept {
  return ops::input(model_, op_, part).data;
}

std::span<const std::byte> DelegateSegment::part(std::string_view name) const noexcept {
  for (int i = 0; i < parts(); ++i) {
    if (part_name(i) == name) return part(i);
  }
  return {};
}

std::span<const std::int32_t> DelegateSegment::inputs() const noexcept {
  return std::span(op_.inputs()->data(), op_.inputs()->size()).subspan(static_cast<std::size_t>(parts()));
}

std::span<const std::int32_t> DelegateSegment::outputs() const noexcept {
  return {op_.outputs()->data(), op_.outputs()->size()};
}

// That the parts are constants has been verified with the graph.
Status check_delegate(const Model& model, const fb::Operator& op) noexcept {
  const DelegateSegment segment(model, op);
  for (int i = 0; i < segment.parts(); ++i) {
    const TensorView part = ops::input(model, op, i);
    if (part.dtype != DType::uint8 && part.dtype != DType::int8) {
      return Status(Code::invalid_data) << "its part \"" << segment.part_name(i) << "\" is "
                                        << name_of(part.dtype) << ", expected uint8 or int8";
    }
  }
  return {};
}

Status stream_delegate(const Model& model, const fb::Operator& op, TimeAxes axes,
                       streaming::NodeRule& rule) noexcept {
  const DelegateSegment segment(model, op);
  const auto window = segment.attributes().integers("stream_window"),
             time = segment.attributes().integers("stream_axes");
  if (window.size() == 0 || time.size() == 0) {
    return Status(Code::unsupported) << "is computed by the delegate \"" << segment.kind()
                                     << "\" for one size of clip, and what it does to time is not known";
  }
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  if (window.size() != 4 || time.size() != 2 || segment.inputs().size() != 1 ||
      segment.outputs().size() != 1) {
    return Status(Code::invalid_data)
           << "a stream with " << window.size() << " and " << time.size()
           << " numbers, expected 4 for its window and 2 for its time axes, one input and one output";
  }
  for (std::size_t i = 0; i < 4; ++i) {
    if (window[i] < (i < 2 ? 1 : 0) || window[i] >= kMax)
      return Status(Code::invalid_data) << "attribute stream_window holds " << window[i];
  }
  if (segment.inputs()[0] < 0 || axes[static_cast<std::size_t>(segment.parts())] != time[0])
    return Status(Code::unsupported) << "is compiled for time on axis " << time[0];
  if (time[1] < 0 || time[1] >= model.tensor(segment.outputs()[0]).shape.rank)
    return Status(Code::invalid_data) << "attribute stream_axes names axis " << time[1];
  rule.kind = streaming::Kind::window;
  rule.padding = streaming::Padding::zero_point;
  rule.kernel = window[0];
  rule.stride = window[1];
  rule.left = window[2];
  rule.right = window[3];
  rule.own_history = true;
  // One run computes this many frames: blocks are multiples of them.
  if (const auto frames = segment.attributes().integers("block_frames"); frames.size() > 1) {
    if (frames[1] < 1 || frames[1] >= kMax)
      return Status(Code::invalid_data) << "attribute block_frames holds " << frames[1];
    rule.chunk = frames[1];
  }
  axes.back() = static_cast<std::int8_t>(time[1]);
  return {};
}

namespace ops {
namespace {

struct BoundDescription : BoundOperator {};
void run_nothing(const BoundOperator&, const RunContext&) noexcept {}

Result<const BoundOperator*> refuse(PrepareContext& context) noexcept {
  const DelegateSegment segment(context.model(), context.op());
  return Status(Code::unsupported)
         << "belongs to the delegate \"" << segment.kind()
         << "\", for which this program has no back end; it can be inspected and converted";
}

Result<const BoundOperator*> prepare_described(PrepareContext& context) noexcept {
  const auto operands = static_cast<int>(context.op().inputs()->size());
  for (int i = 0; i < operands; ++i) operand(context, i);
  RUNNEL_ASSIGN(const BoundDescription* const bound, allocate<BoundDescription>(context, run_nothing));
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kDelegate{OpCode::delegate, Arithmetic{1},   "delegate",
                                   check_delegate,   stream_delegate, refuse};
const OperatorDefinition delegate_described{OpCode::delegate, Arithmetic{1},   "delegate",
                                            check_delegate,   stream_delegate, prepare_described};

}  // namespace ops
}  // namespace runnel
