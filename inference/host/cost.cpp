#include "inference/host/cost.h"

#include "inference/host/operator_traits.h"

namespace runnel {

std::int64_t multiply_adds(const Model& model, const fb::Operator& op, const Shape& output) {
  const auto input = [&](std::uint32_t position) { return model.tensor(op.inputs()->Get(position)).shape; };
  switch (traits_of(code_of(op)).products) {
    case Products::weights: {
      const Shape weights = input(1);
      return output.elements() * weights.product(1, weights.rank);
    }
    case Products::inner: {
      const Shape a = input(0);
      return output.elements() * a[a.rank - 1];
    }
    case Products::taps: {
      // Every input element meets every tap; most of the output's elements get only some of them.
      const Shape weights = input(1);
      const fb::TransposedConvOptions& o = *op.options_as_TransposedConvOptions();
      return output.elements() * weights.product(1, weights.rank) /
             (std::int64_t{o.stride_height()} * o.stride_width());
    }
    case Products::gates: {
      // Of the outputs only h of every frame has the frames; the reference length of x replaces them
      // elsewhere.
      const Shape weights = input(1);
      if (op.options_as_SequenceLstmOptions() != nullptr) {  // a tensor of weights for each of four gates
        return std::int64_t{output[0]} * output[1] * 4 * (weights.elements() + input(5).elements());
      }
      const Shape hidden = input(2);
      const std::int64_t frames = output.rank == 4 ? output[0] : input(0)[0];
      return frames * (weights.elements() + hidden.elements());
    }
    case Products::filters:
      return std::int64_t{output[0]} * (input(1).elements() + input(2).elements());
    case Products::none:
      break;
  }
  return 0;
}

}  // namespace runnel
