// Device code: no heap, no exceptions, no host libraries. check() validates the file, so run() can trust it.
#include "examples/custom_operator/exponential_average.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "inference/custom.h"

namespace example {
namespace {

using runnel::Code;
using runnel::Result;
using runnel::Status;
namespace fb = runnel::fb;

constexpr int kFraction = 8;  // fractional bits of the state

struct BoundAverage : runnel::BoundOperator {
  std::int32_t x = 0, y = 0;  // tensors
  std::int64_t frames = 0;
  std::size_t channels = 0;
  int shift = 0;
  std::size_t state = 0;  // of a stream: offset of its int32 per channel
};

void average(const BoundAverage& op, std::int32_t* state, const std::int8_t* x, std::int8_t* y) noexcept {
  for (std::size_t c = 0; c < op.channels; ++c) {
    const std::int32_t value = x[c] * (1 << kFraction);
    state[c] += (value - state[c]) >> op.shift;
    y[c] = static_cast<std::int8_t>((state[c] + (1 << (kFraction - 1))) >>
                                    kFraction);  // between extremes of x, so it fits
  }
}

// A whole clip at once: the state is scratch memory.
void run_whole(const runnel::BoundOperator& self, const runnel::RunContext& context) noexcept {
  const auto& op = static_cast<const BoundAverage&>(self);
  auto* const state = reinterpret_cast<std::int32_t*>(context.scratch);
  std::fill_n(state, op.channels, 0);
  const auto* x = reinterpret_cast<const std::int8_t*>(context.data[op.x]);
  auto* y = reinterpret_cast<std::int8_t*>(context.data[op.y]);
  for (std::int64_t f = 0; f < op.frames; ++f, x += op.channels, y += op.channels) average(op, state, x, y);
}

// A block of a stream: the state belongs to the session, and only data frames may change it. Before the first
// and after the last of them a block may hold others.
void run_streamed(const runnel::BoundOperator& self, const runnel::RunContext& context) noexcept {
  const auto& op = static_cast<const BoundAverage&>(self);
  auto* const state = reinterpret_cast<std::int32_t*>(context.state + op.state);
  const runnel::FrameIndex& index = context.index[op.x];
  const auto* x = reinterpret_cast<const std::int8_t*>(context.data[op.x]);
  auto* y = reinterpret_cast<std::int8_t*>(context.data[op.y]);
  for (std::int64_t f = 0; f < op.frames; ++f, x += op.channels, y += op.channels) {
    const bool is_data = index.first + f >= 0 && index.first + f < index.length;
    if (is_data)
      average(op, state, x, y);
    else
      std::memset(y, 0, op.channels);
  }
}

void reset(const runnel::BoundOperator& self, std::byte* state) noexcept {
  const auto& op = static_cast<const BoundAverage&>(self);
  std::memset(state + op.state, 0, op.channels * sizeof(std::int32_t));
}

Status check(const runnel::Model& model, const fb::Operator& op) noexcept {
  if (op.inputs()->size() != 1 || op.inputs()->Get(0) < 0 || op.outputs()->size() != 1)
    return Status(Code::invalid_data) << "expected one input and one output";
  const runnel::TensorView x = model.tensor(op.inputs()->Get(0)), y = model.tensor(op.outputs()->Get(0));
  if (x.dtype != runnel::DType::int8 || y.dtype != runnel::DType::int8)
    return Status(Code::unsupported) << "expected int8";
  if (x.shape.rank != 3 || x.shape[0] != 1 || !(x.shape == y.shape))
    return Status(Code::invalid_data) << "expected [1, time, channels] on both sides";
  if (x.exponents.size() != 1 || y.exponents.size() != 1 || x.exponent() != y.exponent())
    return Status(Code::unsupported) << "expected one scale on both sides";
  RUNNEL_ASSIGN(const std::int64_t shift, runnel::CustomAttributes(op).integer("shift", 3));
  if (shift < 1 || shift > 7) return Status(Code::invalid_data) << "shift " << shift << ", expected 1 to 7";
  return {};
}

// Along time: frame by frame with a state, that is, `recurrent`. `axes` holds the time axis of the input,
// then that of the output.
Status stream(const runnel::Model&, const fb::Operator&, runnel::TimeAxes axes,
              runnel::streaming::NodeRule& rule) noexcept {
  if (axes[0] != 1)
    return Status(Code::unsupported) << "time is axis " << static_cast<int>(axes[0]) << ", expected 1";
  rule.kind = runnel::streaming::Kind::recurrent;
  axes[1] = axes[0];
  return {};
}

Result<const runnel::BoundOperator*> prepare(runnel::PrepareContext& context) noexcept {
  void* const memory = context.memory().allocate(sizeof(BoundAverage), alignof(BoundAverage));
  if (memory == nullptr)
    return Status(Code::out_of_memory) << "preparing it needs more memory than was given";
  auto* const bound = new (memory) BoundAverage;
  bound->x = context.op().inputs()->Get(0);
  bound->y = context.op().outputs()->Get(0);
  const runnel::Shape shape =
      context.shape(bound->x);  // of one run: its time axis holds the frames of a block, or of the clip
  bound->frames = shape[1];
  bound->channels = static_cast<std::size_t>(shape[2]);
  RUNNEL_ASSIGN(const std::int64_t shift, runnel::CustomAttributes(context.op()).integer("shift", 3));
  bound->shift = static_cast<int>(shift);
  const std::size_t bytes = bound->channels * sizeof(std::int32_t);
  if (context.streamed()) {
    bound->run = run_streamed;
    bound->reset = reset;
    bound->state = context.request_state(bytes);
    context.use_frame_index();
  } else {
    bound->run = run_whole;
    context.request_scratch(bytes);
  }
  return static_cast<const runnel::BoundOperator*>(bound);
}

}  // namespace

const runnel::OperatorDefinition exponential_average_v1{
    runnel::OpCode::custom, runnel::Arithmetic{1}, "ExponentialAverage", check, stream, prepare};

}  // namespace example
