// A StreamingCache that stays an operator: its output is the frames that the session kept from earlier calls,
// zero points at first, and after them the input's; the last `frames` of them are kept for the next call.
// For models that are exported for calls of a fixed number of frames and do with them what has no streaming
// form. Everywhere else a cache is the history of the operator that reads it.
#include <cstring>

#include "inference/ops/definitions.h"
#include "inference/ops/rescale.h"
#include "inference/ops/support.h"

namespace runnel::ops {
namespace {

struct BoundCache : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  std::size_t outer = 1;                        // rows before the axis of frames
  std::size_t kept_bytes = 0, block_bytes = 0;  // per row
  std::size_t state = 0;                        // offset of the kept frames
  std::size_t element = 1;
  std::int16_t zero_point = 0;  // int8, uint8, int16; others start at 0
};

void run_cache(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundCache&>(self);
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  std::byte* kept = context.state + op.state;
  for (std::size_t row = 0; row < op.outer; ++row) {
    std::memcpy(y, kept, op.kept_bytes);
    std::memcpy(y + op.kept_bytes, x, op.block_bytes);
    std::memcpy(kept, y + op.block_bytes, op.kept_bytes);
    x += op.block_bytes;
    y += op.kept_bytes + op.block_bytes;
    kept += op.kept_bytes;
  }
}

void reset_cache(const BoundOperator& self, std::byte* state) noexcept {
  const auto& op = static_cast<const BoundCache&>(self);
  std::byte* const kept = state + op.state;
  if (op.element == 2) {
    for (std::size_t at = 0; at < op.outer * op.kept_bytes; at += 2)
      std::memcpy(kept + at, &op.zero_point, 2);
  } else {
    std::memset(kept, op.zero_point & 0xFF, op.outer * op.kept_bytes);
  }
}

Status check_cache(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::StreamingCacheOptions* const o, options<fb::StreamingCacheOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  if (is_integer(x.dtype) && x.exponent() != y.exponent())
    return Status(Code::unsupported) << "input and output of different scales";
  if (!is_integer(x.dtype) && x.dtype != DType::uint8 && x.zero_point() != 0)
    return Status(Code::unsupported) << name_of(x.dtype) << " with a zero point";
  if (o->axis() < 0 || o->axis() >= x.shape.rank)
    return Status(Code::invalid_data) << "axis " << o->axis() << " of a tensor of rank " << x.shape.rank;
  constexpr std::int32_t kMax = 1 << 24;
  if (o->frames() < 1 || o->frames() > kMax)
    return Status(Code::invalid_data) << "keeps " << o->frames() << " frames, expected 1 to " << kMax;
  Shape expected = x.shape;
  if (expected[o->axis()] > (1 << 30))
    return Status(Code::invalid_data) << "blocks of " << expected[o->axis()] << " frames";
  expected[o->axis()] += o->frames();
  return expect_shape(y.shape, expected, "the output");
}

Status stream_cache(const Model&, const fb::Operator&, TimeAxes, streaming::NodeRule&) noexcept {
  return Status(Code::unsupported) << "keeps frames from call to call: the model runs in steps of the length "
                                      "it was exported for (`infer --sequence`)";
}

Result<const BoundOperator*> prepare_cache(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::StreamingCacheOptions& o = *op.options_as_StreamingCacheOptions();
  RUNNEL_ASSIGN(BoundCache* const bound, allocate<BoundCache>(context, run_cache));
  const Shape x = context.shape(input_index(op, 0));
  const std::size_t frame = static_cast<std::size_t>(x.product(o.axis() + 1, x.rank)) *
                            size_of(input(context.model(), op, 0).dtype);
  bound->reset = reset_cache;
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->outer = static_cast<std::size_t>(x.product(0, o.axis()));
  bound->kept_bytes = static_cast<std::size_t>(o.frames()) * frame;
  bound->block_bytes = static_cast<std::size_t>(x[o.axis()]) * frame;
  const TensorView view = input(context.model(), op, 0);
  bound->element = size_of(view.dtype);
  bound->zero_point = static_cast<std::int16_t>(view.zero_point());
  bound->state = context.request_state(bound->outer * bound->kept_bytes);
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kStreamingCache{
    OpCode::streaming_cache, Arithmetic::espdl, "streaming_cache", check_cache, stream_cache, prepare_cache};

}  // namespace runnel::ops
