// Element-wise operations on one map, two maps, or a map and a scalar.
#include <algorithm>
#include <bit>

#include "npu/host/simulator/feature_map.h"
#include "npu/host/simulator/output_stage.h"
#include "npu/host/simulator/simulator.h"

namespace runnel::npu {
namespace {

// Shifts beyond a word leave nothing but the sign; negative shifts do nothing.
std::int64_t shift_right(std::int64_t value, std::int64_t distance, Rounding rounding) {
  const auto steps = static_cast<int>(std::clamp<std::int64_t>(distance, 0, 62));
  const std::int64_t half = rounding == Rounding::natural && steps > 0 ? std::int64_t{1} << (steps - 1) : 0;
  return (value + half) >> steps;
}
std::int64_t shift_left(std::int64_t value, std::int64_t distance) {
  const std::int64_t steps = std::max<std::int64_t>(distance, 0);
  return steps > 31 ? 0 : static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << steps);
}

class Elementwise {
 public:
  Elementwise(const Operation& op, const OutputStage& output)
      : op_(op), output_(output), wide_(op.ifm.element == 4) {}

  // Operands without their zero points.
  [[nodiscard]] std::int32_t operator()(std::int64_t a, std::int64_t b) const {
    const std::int64_t left = op_.reversed ? b : a, right = op_.reversed ? a : b;
    switch (op_.elementwise()) {
      // For 32-bit operands only the shift applies.
      case ElementwiseMode::mul:
        return output_(Wide{a} * b, Scale{wide_ ? 1 : op_.ofm_scale.multiplier, op_.ofm_scale.shift});
      case ElementwiseMode::add:
      case ElementwiseMode::sub:
        return output_(sum(a, b), op_.ofm_scale);
      case ElementwiseMode::min:
        return output_(std::min(a, b));
      case ElementwiseMode::max:
        return output_(std::max(a, b));
      case ElementwiseMode::leaky_relu:
        return a < 0 ? output_(a, op_.ofm_scale) : output_(a);
      case ElementwiseMode::abs:
        return output_(a < 0 ? -a : a, op_.ofm_scale);
      case ElementwiseMode::clz:
        return output_(std::countl_zero(static_cast<std::uint32_t>(a)));
      case ElementwiseMode::shr:
        return output_(shift_right(left, right, op_.rounding));
      case ElementwiseMode::shl:
        return output_(shift_left(left, right));
    }
    return 0;
  }

 private:
  [[nodiscard]] Wide sum(std::int64_t a, std::int64_t b) const {
    Wide x = Wide{a} * Wide{op_.opa_scale.multiplier}, y = Wide{b} * Wide{op_.opb_scale.multiplier};
    if (op_.operand_to_scale != 0) {
      // One operand is scaled with 32 bits, the other one shifted to the same position.
      const int headroom = op_.ifm.element == 1 ? 20 : 15;
      const auto scaled = [&](std::int64_t value) {
        const int shift = op_.opa_scale.shift + headroom;
        // Above 63 only the sign of large values is left; the register holds no more.
        return scale_and_round(
            Wide{value} * (Wide{1} << headroom),
            Scale{op_.opa_scale.multiplier, static_cast<std::uint8_t>(std::min(shift, 95))}, Rounding::tfl);
      };
      const auto moved = [&](std::int64_t value) { return Wide{value} * (Wide{1} << (headroom - 1)); };
      x = op_.operand_to_scale == 1 ? scaled(a) : moved(a);
      y = op_.operand_to_scale == 1 ? moved(b) : scaled(b);
    }
    if (op_.is(ElementwiseMode::add)) return x + y;
    return op_.reversed ? y - x : x - y;
  }

  const Operation& op_;
  const OutputStage& output_;
  bool wide_;
};

// What kernels for pairs compute of it, in TensorFlow Lite's arithmetic; false for others.
bool of_pairs(const Operation& op, kernels::AffinePairSpec& spec) {
  using kernels::AffinePair;
  const auto is_exact = [&](const Scale& scale) {
    return scale.multiplier <= INT32_MAX && (op.rounding == Rounding::tfl || scale.shift <= 31) &&
           op.rounding != Rounding::truncate;
  };
  const int room = op.ifm.element == 1 ? 20 : 15;
  spec.y = KernelPairs::multiplier_of(op.ofm_scale, 0);
  switch (op.elementwise()) {
    case ElementwiseMode::mul:
      spec.op = AffinePair::mul;
      return is_exact(op.ofm_scale);
    case ElementwiseMode::min:
      spec.op = AffinePair::min;
      return true;
    case ElementwiseMode::max:
      spec.op = AffinePair::max;
      return true;
    case ElementwiseMode::add:
    case ElementwiseMode::sub: {
      spec.op = op.is(ElementwiseMode::add) ? AffinePair::add : AffinePair::sub;
      if ((spec.op == AffinePair::sub && op.reversed) || op.operand_to_scale == 0 ||
          !is_exact(op.ofm_scale) || op.opa_scale.multiplier > INT32_MAX ||
          op.opa_scale.shift + room > kMaxShift)
        return false;
      spec.left_shift = room;
      const kernels::Multiplier moved{1 << 30, 0};
      const kernels::Multiplier scaled{static_cast<std::int32_t>(op.opa_scale.multiplier),
                                       op.opa_scale.shift + room - 31};
      spec.a = op.operand_to_scale == 1 ? scaled : moved;
      spec.b = op.operand_to_scale == 1 ? moved : scaled;
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

bool Simulator::pairs_on_kernel(const Operation& op, const OutputStage& output) {
  if (isa_ == Isa::reference) return false;
  OnPairs& on = pairs_[op.index];
  if (!on.made) {
    on.made = true;
    KernelOutput stored;
    kernels::AffinePairSpec spec;
    if (op.has_ifm2 && output.of_kernel(stored) && of_pairs(op, spec))
      on.pairs = KernelPairs::make(op, spec, stored, isa_);
  }
  if (on.pairs == nullptr) return false;
  on.pairs->run(memory(op.ifm.region), memory(op.ifm2.region));
  const auto results = on.pairs->results();
  output.finish(results);
  write_bytes(op.ofm, region(op.ofm.region), results);
  if (!observed_) return true;
  result_.resize(elements_of(op.ofm));
  load_elements(op.ofm, results.data(), result_.size(), result_.data());
  return true;
}

void Simulator::elementwise(const Operation& op) {
  const OutputStage output(op, *segment_.accelerator, internal_);
  if (pairs_on_kernel(op, output)) return;
  const Elementwise compute(op, output);
  read_map(op.ifm, memory(op.ifm.region), first_);
  if (op.has_ifm2 && !op.scalar)
    read_map(op.ifm2, memory(op.ifm2.region), second_);
  else
    second_.assign(1, op.ifm2_scalar);
  // Steps of the second operand: 0 along broadcast axes.
  const auto height = static_cast<std::size_t>(op.ofm.height), width = static_cast<std::size_t>(op.ofm.width),
             depth = static_cast<std::size_t>(op.ofm.depth);
  const std::size_t step_c = op.ifm2.depth > 1 ? 1 : 0,
                    step_x = op.ifm2.width > 1 ? static_cast<std::size_t>(op.ifm2.depth) : 0;
  const std::size_t step_y =
      op.ifm2.height > 1 ? static_cast<std::size_t>(op.ifm2.width) * static_cast<std::size_t>(op.ifm2.depth)
                         : 0;
  result_.resize(first_.size());
  std::size_t i = 0;
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t c = 0; c < depth; ++c, ++i) {
        const std::int64_t b = second_[y * step_y + x * step_x + c * step_c];
        result_[i] = compute(std::int64_t{first_[i]} - op.ifm.zero_point, b - op.ifm2.zero_point);
      }
    }
  }
  write_map(op.ofm, region(op.ofm.region), result_);
}

}  // namespace runnel::npu
