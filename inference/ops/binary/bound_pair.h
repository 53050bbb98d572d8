// What all operators of two tensors whose shapes broadcast have in common.
#pragma once

#include "inference/ops/binary/broadcast.h"
#include "inference/ops/support.h"
#include "kernels/elementwise/affine.h"

namespace runnel::ops {

struct BoundPair : BoundOperator {
  Broadcast<2> broadcast;
  Operand a, b;
  std::int32_t y = -1;

  // call(operands, y) for every piece of the output.
  template <class Call>
  void run_pieces(const RunContext& context, Call&& call) const noexcept {
    broadcast.run({a.at(context), b.at(context)}, context.data[y], call);
  }
  // The sizes of one piece: `count` elements of the output, `a_count` and `b_count` of the operands.
  template <class Spec>
  void set_counts(Spec& spec) const noexcept {
    spec.count = broadcast.count;
    spec.a_count = broadcast.counts[0];
    spec.b_count = broadcast.counts[1];
  }
};

// Of tensors with any scale and zero point.
struct BoundAffinePair : BoundPair {
  kernels::AffinePairSpec spec;  // of one piece
  kernels::AffinePairs pairs = nullptr;
};

// A pair in a compiled model (compiler/embed) whose pieces are direct calls.
template <class Spec>
struct RomPair : BoundPair {
  Spec spec;  // of one piece
};
template <class Spec, void (*kRun)(const void*, const void*, const void*, void*) noexcept>
void run_rom_pair(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const RomPair<Spec>&>(self);
  op.run_pieces(context, [&](const auto& x, std::byte* y) { kRun(&op.spec, x[0], x[1], y); });
}

// A `Bound`, which derives from BoundPair, with its operands. Fails with out_of_memory.
template <class Bound>
Result<Bound*> bind_pair(PrepareContext& context,
                         void (*run)(const BoundOperator&, const RunContext&) noexcept) noexcept {
  const fb::Operator& op = context.op();
  RUNNEL_ASSIGN(Bound* const bound, allocate<Bound>(context, run));
  bound->a = operand(context, 0);
  bound->b = operand(context, 1);
  bound->y = output_index(op);
  const std::size_t element = size_of(input(context.model(), op, 0).dtype),
                    y_element = size_of(output(context.model(), op).dtype);
  bound->broadcast = plan_broadcast<2>(context.shape(bound->y),
                                       {context.shape(input_index(op, 0)), context.shape(input_index(op, 1))},
                                       {element, element}, y_element);
  return bound;
}

// Plain int32 or int64: neither scales nor zero points.
inline bool is_plain(const TensorView& tensor) noexcept {
  return (tensor.dtype == DType::int32 || tensor.dtype == DType::int64) && tensor.scales.empty() &&
         tensor.exponents.empty() && tensor.zero_points.empty();
}

// The output has the shape that both operands broadcast to.
inline Status check_pair_shape(const TensorView& a, const TensorView& b, const TensorView& y) noexcept {
  const Shape shapes[] = {a.shape, b.shape};
  RUNNEL_ASSIGN(const Shape expected, broadcast_shape(shapes));
  return expect_shape(y.shape, expected, "the output");
}

// Operands and output of one type, and shapes that broadcast.
inline Status check_pair_type(const TensorView& a, const TensorView& b, const TensorView& y) noexcept {
  if (a.dtype == y.dtype && b.dtype == y.dtype) return check_pair_shape(a, b, y);
  return Status(Code::unsupported) << "inputs " << name_of(a.dtype) << " and " << name_of(b.dtype)
                                   << ", output " << name_of(y.dtype) << ", expected one type";
}

}  // namespace runnel::ops
