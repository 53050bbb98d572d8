#include "inference/plan/stream_plan.h"

#include <algorithm>
#include <numeric>

namespace runnel {
namespace {

constexpr std::int64_t kMaxBlockMultiple = 1 << 16;
// Longer than what any branch needs to be non-empty, and a multiple of every power of two that matters.
constexpr std::int64_t kLongRecording = std::int64_t{1} << 32;
// Of an operator of a stream, inputs and outputs together; on the stack.
#ifdef __linux__
constexpr std::uint32_t kMaxOperands = 512;
#else
constexpr std::uint32_t kMaxOperands = 64;
#endif

class Walk {
 public:
  Walk(const Model& model, OperatorTable table, std::span<StreamTensor> tensors,
       std::span<StreamStep> steps) noexcept
      : model_(model), table_(table), tensors_(tensors), steps_(steps) {}

  Status step(int index) noexcept {
    const fb::Operator& op = model_.op(index);
    const std::uint32_t inputs = op.inputs()->size(), outputs = op.outputs()->size();
    std::int8_t axes[kMaxOperands];
    if (inputs + outputs > kMaxOperands)
      return Status(Code::unsupported) << inputs << " inputs and " << outputs << " outputs, expected at most "
                                       << kMaxOperands << " on this machine";
    int first_stream = -1;
    std::int32_t final = -1;  // an input without time that follows the stream: the last state of a
                              // recurrence, or made from one
    for (std::uint32_t i = 0; i < inputs; ++i) {
      const std::int32_t tensor = op.inputs()->Get(i);
      axes[i] = tensor < 0 ? std::int8_t{-1} : at(tensor).time_axis;
      if (axes[i] >= 0 && first_stream < 0) first_stream = static_cast<int>(i);
      if (tensor >= 0 && axes[i] < 0 && !at(tensor).stream.constant() &&
          (final < 0 || at(final).stream.delay < at(tensor).stream.delay))
        final = tensor;
    }
    std::fill_n(axes + inputs, outputs, std::int8_t{-1});
    StreamStep& out = steps_[static_cast<std::size_t>(index)];
    out = {};
    out.rule.kind = streaming::Kind::constant;
    if (first_stream < 0) {
      for (std::uint32_t i = 0; final >= 0 && i < outputs; ++i)
        at(op.outputs()->Get(i)).stream = at(final).stream;
      return {};
    }
    if (final >= 0) {
      return Status(Code::unsupported) << "combines frames with " << model_.tensor_name(final)
                                       << ", which is known only at the end of the recording";
    }

    const OperatorDefinition* definition = find_operator(table_, op);
    if (definition == nullptr || definition->stream == nullptr) {
      return Status(Code::unsupported)
             << "has no streaming form; run the model on whole clips (usage `whole` or `window`)";
    }
    out.rule.kind = streaming::Kind::pointwise;
    RUNNEL_TRY(definition->stream(model_, op, TimeAxes(axes, inputs + outputs), out.rule));

    // The latest input decides; earlier ones are read from their history.
    streaming::Stream joined = at(op.inputs()->Get(static_cast<std::uint32_t>(first_stream))).stream;
    int streams = 0;
    for (std::uint32_t i = 0; i < inputs; ++i) {
      if (axes[i] < 0) continue;
      ++streams;
      RUNNEL_ASSIGN(joined, streaming::plan_join(joined, at(op.inputs()->Get(i)).stream));
    }
    if (streams > 1 && out.rule.kind != streaming::Kind::pointwise &&
        out.rule.kind != streaming::Kind::attention) {
      return Status(Code::unsupported) << "reads windows of " << streams << " streams, expected one";
    }
    RUNNEL_ASSIGN(const streaming::NodePlan plan, streaming::plan_node(out.rule, joined));
    out.context = out.rule.own_history ? 0 : plan.context;
    for (std::uint32_t i = 0; i < inputs; ++i) {
      if (axes[i] < 0) continue;
      const std::int32_t tensor = op.inputs()->Get(i);
      StreamTensor& x = at(tensor);
      const std::int64_t back = out.back_frames(static_cast<int>(i), x.stream.delay, plan.output.delay),
                         history = std::max<std::int64_t>(0, back);
      x.history = std::max(x.history, history);
      x.fill = x.fill || (out.rule.padding == streaming::Padding::zero_point &&
                          (out.rule.extent() > 1 || history > 0 || out.rule.left > 0 || out.rule.right > 0 ||
                           (out.rule.kind == streaming::Kind::upsample &&
                            out.rule.right < 0)));  // outputs after the last input
      // Windows that start elsewhere than their block have one address only if there is no axis before
      // time.
      if ((x.history > 0 || x.fill || back != 0) &&
          model_.tensor(tensor).shape.product(0, x.time_axis) != 1) {
        return Status(Code::unsupported)
               << "needs " << (back < 0 ? back : x.history) << " earlier frames of tensor "
               << model_.tensor_name(tensor) << ", whose time axis " << static_cast<int>(x.time_axis)
               << " has dimensions of more than 1 before it";
      }
    }
    for (std::uint32_t i = 0; i < outputs; ++i) {
      if (axes[inputs + i] < 0 && out.rule.kind != streaming::Kind::recurrent)
        return Status(Code::unsupported) << "an output of a stream without a time axis";
      StreamTensor& y = at(op.outputs()->Get(i));
      y.stream = plan.output;
      y.time_axis = axes[inputs + i];
    }
    block_multiple_ = std::lcm(block_multiple_, plan.output.down);
    // Blocks hold whole chunks.
    if (block_multiple_ <= kMaxBlockMultiple)
      block_multiple_ = std::lcm(
          block_multiple_, plan.output.down * (out.rule.chunk / std::gcd(out.rule.chunk, plan.output.up)));
    if (block_multiple_ > kMaxBlockMultiple)
      return Status(Code::unsupported) << "block sizes would have to be multiples of " << block_multiple_;
    return {};
  }

  [[nodiscard]] std::int64_t block_multiple() const noexcept { return block_multiple_; }

 private:
  StreamTensor& at(std::int32_t tensor) noexcept { return tensors_[static_cast<std::size_t>(tensor)]; }

  const Model& model_;
  OperatorTable table_;
  std::span<StreamTensor> tensors_;
  std::span<StreamStep> steps_;
  std::int64_t block_multiple_ = 1;
};

// The inputs of a join must have the same number of frames for every recording. Lengths grow by a constant
// for each block_multiple source frames once no branch is empty, so that block_multiple consecutive lengths
// decide for all.
Status check_joins(const Model& model, OperatorTable table, std::span<const StreamTensor> tensors,
                   std::span<const StreamStep> steps, std::span<std::int64_t> lengths,
                   std::int64_t block_multiple) noexcept {
  for (std::int64_t length = kLongRecording; length < kLongRecording + block_multiple; ++length) {
    plan_lengths(model, tensors, steps, length, lengths);
    for (int op = 0; op < model.operator_count(); ++op) {
      std::int32_t first = -1;
      for (const std::int32_t input : *model.op(op).inputs()) {
        if (input < 0 || tensors[static_cast<std::size_t>(input)].stream.constant()) continue;
        if (first < 0) first = input;
        const std::int64_t a = lengths[static_cast<std::size_t>(first)],
                           b = lengths[static_cast<std::size_t>(input)];
        if (a == b) continue;
        return operator_status(model, table, op,
                               Status(Code::unsupported)
                                   << "joins tensors of different lengths: " << model.tensor_name(first)
                                   << " has " << a - b << " frames more than " << model.tensor_name(input)
                                   << " for a recording of " << length << " frames");
      }
    }
  }
  return {};
}

}  // namespace

Status operator_status(const Model& model, OperatorTable table, int op, const Status& why) noexcept {
  const fb::Operator& node = model.op(op);
  const OperatorDefinition* definition = find_operator(table, node);
  Status status(why.code(), "operator ");
  status << op << " (" << (definition != nullptr ? definition->name : operator_type(node));
  if (const std::string_view name = model.operator_name(op); !name.empty()) status << " '" << name << '\'';
  status << "): " << why.text();
  return status;
}

Status plan_streams(const Model& model, OperatorTable table, std::span<const std::int8_t> input_axes,
                    std::span<StreamTensor> tensors, std::span<StreamStep> steps,
                    std::span<std::int64_t> lengths, std::int64_t& block_multiple,
                    RefusalSink* sink) noexcept {
  std::fill(tensors.begin(), tensors.end(), StreamTensor{});
  Status first;
  bool any = false;
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const std::int32_t input = model.inputs()[i];
    const int axis = i < input_axes.size() ? input_axes[i] : -1;
    if (axis < 0) continue;
    if (axis >= model.tensor(input).shape.rank) {
      return Status(Code::invalid_argument)
             << "input " << i << " of rank " << model.tensor(input).shape.rank << " has no axis " << axis;
    }
    tensors[static_cast<std::size_t>(input)].time_axis = static_cast<std::int8_t>(axis);
    tensors[static_cast<std::size_t>(input)].stream = {1, 1, 0};
    any = true;
  }
  if (!any) return Status(Code::unsupported) << "no input has a time axis";
  Walk walk(model, table, tensors, steps);
  for (int op = 0; op < model.operator_count(); ++op) {
    const Status status = walk.step(op);
    if (status.ok()) continue;
    const Status named = operator_status(model, table, op, status);
    if (sink != nullptr) sink->refuse(op, named);
    if (first.ok()) first = named;
    if (sink == nullptr) return first;
    // Go on after it as if it were pointwise on its first stream, so that further refusals are found.
    const fb::Operator& node = model.op(op);
    const std::int32_t x = node.inputs()->size() > 0 ? node.inputs()->Get(0) : -1;
    for (const std::int32_t output : *node.outputs()) {
      StreamTensor& y = tensors[static_cast<std::size_t>(output)];
      if (x >= 0 && tensors[static_cast<std::size_t>(x)].time_axis < model.tensor(output).shape.rank) {
        y.stream = tensors[static_cast<std::size_t>(x)].stream;
        y.time_axis = tensors[static_cast<std::size_t>(x)].time_axis;
      }
    }
  }
  RUNNEL_TRY(first);
  for (const std::int32_t output : model.outputs()) {
    if (tensors[static_cast<std::size_t>(output)].stream.constant()) {
      return Status(Code::unsupported)
             << "output " << model.tensor_name(output) << " does not depend on the stream";
    }
  }
  block_multiple = walk.block_multiple();
  return check_joins(model, table, tensors, steps, lengths, block_multiple);
}

void plan_lengths(const Model& model, std::span<const StreamTensor> tensors,
                  std::span<const StreamStep> steps, std::int64_t source_length,
                  std::span<std::int64_t> lengths) noexcept {
  std::fill(lengths.begin(), lengths.end(), 0);
  for (const std::int32_t input : model.inputs()) {
    if (!tensors[static_cast<std::size_t>(input)].stream.constant())
      lengths[static_cast<std::size_t>(input)] = source_length;
  }
  for (int op = 0; op < model.operator_count(); ++op) {
    const fb::Operator& node = model.op(op);
    std::int64_t length = kEndless;
    for (const std::int32_t input : *node.inputs()) {
      if (input >= 0 && !tensors[static_cast<std::size_t>(input)].stream.constant()) {
        length = std::min(length, lengths[static_cast<std::size_t>(input)]);
      }
    }
    if (length == kEndless) continue;
    length = streaming::output_length(steps[static_cast<std::size_t>(op)].rule, length);
    for (const std::int32_t output : *node.outputs()) lengths[static_cast<std::size_t>(output)] = length;
  }
}

}  // namespace runnel
