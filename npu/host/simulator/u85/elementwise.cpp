// Element-wise operations on one or two maps, either of which may be broadcast or a scalar.
#include <algorithm>
#include <bit>

#include "npu/host/simulator/feature_map.h"
#include "npu/host/simulator/u85/executor.h"

namespace runnel::npu::u85 {
namespace {

constexpr int kWord = 32;

std::int64_t shifted_left(std::int64_t value, std::int64_t distance) {
  if (distance >= kWord) return 0;
  return wrap(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << std::max<std::int64_t>(distance, 0)),
      kWord);
}
std::int64_t shifted_right(std::int64_t value, std::int64_t distance, Rounding rounding) {
  const auto shift = static_cast<std::uint8_t>(std::clamp<std::int64_t>(distance, 0, kMaxShift));
  return static_cast<std::int64_t>(scale_and_round(value, {1, shift, 0, rounding}));
}
// The result before the output's scale.
Wide computed(const Operation& op, std::int64_t a, std::int64_t b, std::int64_t truth) {
  const Fields& u85 = op.u85;
  const auto unsigned_a = static_cast<std::uint32_t>(a);
  switch (static_cast<ElementwiseMode>(op.mode)) {
    case ElementwiseMode::mul:
      return Wide{a} * b;
    case ElementwiseMode::add:
      return scale_and_round(a, u85.ifm_scale) + scale_and_round(b, u85.ifm2_scale);
    case ElementwiseMode::sub:
      return scale_and_round(a, u85.ifm_scale) - scale_and_round(b, u85.ifm2_scale);
    case ElementwiseMode::min:
      return std::min(a, b);
    case ElementwiseMode::max:
      return std::max(a, b);
    case ElementwiseMode::leaky_relu:
      return scale_and_round(a, a < 0 ? u85.ifm2_scale : u85.ifm_scale);
    case ElementwiseMode::abs:
      return a < 0 ? -a : a;
    case ElementwiseMode::clz:
      return std::countl_zero(unsigned_a);
    case ElementwiseMode::shr:
      return shifted_right(a, b, u85.ofm_scale.rounding);
    case ElementwiseMode::shl:
      return shifted_left(a, b);
    case ElementwiseMode::lsr:
      return b >= kWord ? 0 : unsigned_a >> std::max<std::int64_t>(b, 0);
    case ElementwiseMode::div:
      return b == 0 ? 0 : a / b;
    case ElementwiseMode::equal:
      return a == b ? truth : 0;
    case ElementwiseMode::not_equal:
      return a != b ? truth : 0;
    case ElementwiseMode::greater_equal:
      return a >= b ? truth : 0;
    case ElementwiseMode::greater:
      return a > b ? truth : 0;
    case ElementwiseMode::bit_and:
      return a & b;
    case ElementwiseMode::bit_or:
      return a | b;
    case ElementwiseMode::bit_xor:
      return a ^ b;
    case ElementwiseMode::bit_not:
      return ~a;
    case ElementwiseMode::bit_and_not:
      return a & ~b;
  }
  return 0;
}

// Elements of an operand in the order of the output.
struct Operand {
  std::span<const std::int64_t> values;
  std::size_t row = 0, column = 0, channel = 0;  // steps along the output's axes

  [[nodiscard]] const std::int64_t* at(std::size_t y, std::size_t x) const {
    return values.data() + y * row + x * column;
  }
};

Operand operand_of(std::span<const std::int64_t> values, const FeatureMap& map, const FeatureMap& whole) {
  const auto step = [](std::int32_t size, std::int32_t full, std::int64_t elements) {
    return size == 1 && full > 1 ? 0 : static_cast<std::size_t>(elements);
  };
  return {values, step(map.height, whole.height, std::int64_t{map.width} * map.depth),
          step(map.width, whole.width, map.depth), step(map.depth, whole.depth, 1)};
}

// Whether a kernel rounds as the scale says, of a value with `room` more bits (KernelPairs::multiplier_of):
// twice from the same bit on, or once.
bool is_exact(const Scale& scale, int room) {
  if (scale.multiplier > INT32_MAX) return false;
  if (scale.rounding == Rounding::double_symmetric)
    return scale.double_round == room || (scale.shift <= 31 - room && scale.shift <= 31 - scale.double_round);
  return scale.rounding == Rounding::natural && scale.shift <= 31 - room;
}

// What kernels for pairs compute of it, in TensorFlow Lite's arithmetic; false for others.
bool of_pairs(const Operation& op, kernels::AffinePairSpec& spec) {
  using kernels::AffinePair;
  const Fields& u85 = op.u85;
  const int room = op.ifm.element == 1 ? 20 : 15;
  const auto scale_of = [](const Scale& scale) { return npu::Scale{scale.multiplier, scale.shift}; };
  spec.y = KernelPairs::multiplier_of(scale_of(u85.ofm_scale), 0);
  switch (static_cast<ElementwiseMode>(op.mode)) {
    case ElementwiseMode::mul:
      spec.op = AffinePair::mul;
      return is_exact(u85.ofm_scale, 0);
    case ElementwiseMode::min:
    case ElementwiseMode::max:
      spec.op =
          static_cast<ElementwiseMode>(op.mode) == ElementwiseMode::min ? AffinePair::min : AffinePair::max;
      return u85.ofm_scale.shift <= 31 &&
             u85.ofm_scale.multiplier == std::uint32_t{1} << u85.ofm_scale.shift &&
             (u85.ofm_scale.rounding == Rounding::natural ||
              u85.ofm_scale.rounding == Rounding::double_symmetric);
    case ElementwiseMode::add:
    case ElementwiseMode::sub:
      spec.op =
          static_cast<ElementwiseMode>(op.mode) == ElementwiseMode::add ? AffinePair::add : AffinePair::sub;
      spec.left_shift = room;
      spec.a = KernelPairs::multiplier_of(scale_of(u85.ifm_scale), room);
      spec.b = KernelPairs::multiplier_of(scale_of(u85.ifm2_scale), room);
      return is_exact(u85.ifm_scale, room) && is_exact(u85.ifm2_scale, room) && is_exact(u85.ofm_scale, 0);
    default:
      return false;
  }
}

}  // namespace

bool Executor::pairs_on_kernel(const Operation& op, const OutputStage& output) {
  KernelOutput stored;
  if (isa_ == Isa::reference || !op.has_ifm2 || op.u85.first_scalar || !output.type_of_kernel(op, stored))
    return false;
  OnPairs& on = pairs_[op.index];
  if (!on.made) {
    on.made = true;
    kernels::AffinePairSpec spec;
    if (of_pairs(op, spec)) on.pairs = KernelPairs::make(op, spec, stored, isa_);
  }
  if (on.pairs == nullptr) return false;
  on.pairs->run(memory_->read(op.ifm.region), memory_->read(op.ifm2.region));
  store(op, output, stored, on.pairs->results());
  return true;
}

void Executor::elementwise(const Operation& op) {
  const OutputStage output(op, tables_, fault_);
  if (pairs_on_kernel(op, output)) return;
  const auto read_either = [&](const FeatureMap& map, bool scalar, Values& values) {
    if (scalar)
      values.assign(1, std::int64_t{op.u85.scalar} - map.zero_point);
    else
      read_operand(map, values);
  };
  read_either(op.ifm, op.u85.first_scalar, first_);
  second_.assign(1, 0);
  FeatureMap other;
  other.height = other.width = other.depth = 1;
  if (op.has_ifm2) {
    read_either(op.ifm2, op.scalar, second_);
    other = op.ifm2;
  }
  const Operand a = operand_of(first_, op.ifm, op.ofm), b = operand_of(second_, other, op.ofm);
  const auto mode = static_cast<ElementwiseMode>(op.mode);
  // The shift has rounded already; of 32-bit products the multiplier is ignored.
  const bool scaled = mode != ElementwiseMode::shr;
  npu::Scale scale{op.u85.ofm_scale.multiplier, op.u85.ofm_scale.shift};
  if (mode == ElementwiseMode::mul && op.ifm.element == 4 && fault_ != Fault::words_are_multiplied)
    scale.multiplier = 1;
  const std::int64_t truth = fault_ == Fault::true_is_one ? 1 : -1;  // of comparisons
  result_.resize(elements_of(op.ofm));
  std::size_t at = 0;
  for (std::size_t y = 0; y < static_cast<std::size_t>(op.ofm.height); ++y) {
    for (std::size_t x = 0; x < static_cast<std::size_t>(op.ofm.width); ++x) {
      const std::int64_t *from_a = a.at(y, x), *from_b = b.at(y, x);
      for (std::int32_t c = 0; c < op.ofm.depth; ++c, ++at) {
        const Wide value = computed(op, *from_a, *from_b, truth);
        result_[at] = scaled ? output(value, scale) : output.unscaled(value);
        from_a += a.channel;
        from_b += b.channel;
      }
    }
  }
}

}  // namespace runnel::npu::u85
