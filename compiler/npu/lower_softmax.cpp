// Softmax of int8 in fixed point: the integers of kernels/affine_softmax.cpp, one operation for each of its
// steps.
#include "compiler/npu/lowering.h"
#include "inference/ops/affine.h"
#include "kernels/affine_softmax.h"
#include "kernels/arithmetic/fixed_point.h"

namespace runnel::compiler::ethos_u {
namespace {

constexpr int kDifferences = 256, kSumBits = 12, kProductShift = 31;
// Sums of 2^19 each: below 2^31 of so many, and below 2^28, where int8 needs no limit of the last shift.
constexpr std::int32_t kMaxChannels = 511, kMaxChannelsToInt16 = 4095;
constexpr std::int32_t kFirst = 1515870810, kSlope = -1010580540,
                       kOne = 1 << 29;  // 48/17, -32/17 and 1 in Q2

std::vector<std::byte> bytes_of(const std::vector<std::int32_t>& values) {
  const auto* const begin = reinterpret_cast<const std::byte*>(values.data());
  return {begin, begin + values.size() * sizeof(std::int32_t)};
}

// e^x for the differences -255 to 0, as fractions of 2^31; 0 for what lies too far below the largest value.
std::vector<std::byte> powers(const kernels::AffineSoftmaxSpec& spec) {
  std::vector<std::int32_t> values;
  for (std::int32_t difference = 1 - kDifferences; difference <= 0; ++difference) {
    const bool counts = difference >= spec.least_difference;
    values.push_back(
        counts ? kernels::fixed::exp_of_negative(static_cast<std::int32_t>(spec.multiplier(difference)), 5)
               : 0);
  }
  return bytes_of(values);
}

// Operations on integers of 32 bits: rows of channels, or one integer for each row, or one for all.
class Words {
 public:
  struct Value {
    npu::FeatureMap map;
    npu::BufferId buffer = npu::kNoBuffer;
  };
  Words(npu::Program& program, std::int32_t rows) : program_(program), rows_(rows) {}

  Value make(std::int32_t channels) {
    return {map(rows_, channels), program_.buffer(sizeof(std::int32_t) * static_cast<std::size_t>(rows_) *
                                                  static_cast<std::size_t>(channels))};
  }
  Value constant(std::int32_t value) { return {map(1, 1), program_.constant(bytes_of({value}))}; }

  // Into `y`; with `changed` operands in the other order. `shift` is that of a product.
  void apply(npu::ElementwiseMode mode, const Value& a, const Value& b, const Value& y, bool changed = false,
             int shift = 0) {
    npu::Step step;
    npu::Operation& op = step.op;
    op.kind = npu::OperationKind::elementwise;
    op.mode = static_cast<std::uint8_t>(mode);
    op.has_ifm2 = mode != npu::ElementwiseMode::clz;
    op.reversed = changed;
    op.opa_scale = op.opb_scale = {1, 0};
    op.ofm_scale = {1, static_cast<std::uint8_t>(shift)};
    op.rounding = mode == npu::ElementwiseMode::shr ? npu::Rounding::natural : npu::Rounding::tfl;
    op.activation.low = kernels::lowest(y.map.element == 1 ? DType::int8 : DType::int16);
    op.activation.high = kernels::highest(y.map.element == 1 ? DType::int8 : DType::int16);
    op.ifm = a.map;
    op.ofm = y.map;
    step.ifm = a.buffer;
    step.ofm = y.buffer;
    if (op.has_ifm2) {
      op.ifm2 = b.map;
      step.ifm2 = b.buffer;
      const auto broadcast = [](std::int32_t own, std::int32_t full, int bit) {
        return own == 1 && full != 1 ? 1 << bit : 0;
      };
      op.broadcast = static_cast<std::uint8_t>(broadcast(b.map.height, a.map.height, 0) |
                                               broadcast(b.map.depth, a.map.depth, 2));
    }
    program_.add(std::move(step));
  }
  Value of(npu::ElementwiseMode mode, const Value& a, const Value& b, bool changed = false, int shift = 0) {
    const Value y = make(a.map.depth);
    apply(mode, a, b, y, changed, shift);
    return y;
  }

 private:
  static npu::FeatureMap map(std::int32_t rows, std::int32_t channels) {
    npu::FeatureMap map;
    map.element = sizeof(std::int32_t);
    map.is_signed = true;
    map.height = map.height0 = map.height1 = rows;
    map.width = map.width0 = 1;
    map.depth = channels;
    map.stride_c = map.element;
    map.stride_x = map.stride_y = std::int64_t{map.element} * channels;
    return map;
  }

  npu::Program& program_;
  std::int32_t rows_;
};

// 1 / (the denominator, from 1/2 to 1) by three steps of Newton's method. With the headroom taken off, sums
// are this denominator as they are: what the kernel takes off them, it adds again.
Words::Value reciprocal(Words& words, const Words::Value& denominator) {
  using Mode = npu::ElementwiseMode;
  const Words::Value one = words.constant(kOne);
  Words::Value x = words.of(Mode::mul, denominator, words.constant(kSlope), false, kProductShift);
  x = words.of(Mode::add, x, words.constant(kFirst));
  for (int i = 0; i < 3; ++i) {
    Words::Value error =
        words.of(Mode::sub, words.of(Mode::mul, denominator, x, false, kProductShift), one, true);
    error = words.of(Mode::mul, x, error, false, kProductShift);
    // Four times the error.
    error = words.of(Mode::add, error, error);
    error = words.of(Mode::add, error, error);
    x = words.of(Mode::add, x, error);
  }
  return words.of(Mode::mul, x, words.constant(2));
}

}  // namespace

Status Lowering::softmax(const Node& node) {
  using Mode = npu::ElementwiseMode;
  const Operand x = input(node, 0), y = output(node);
  if (node.arithmetic != Arithmetic::tflite || x.tensor->dtype != DType::int8)
    return refuse() << "another arithmetic than TensorFlow Lite's of int8";
  const bool wide = y.tensor->dtype == DType::int16;
  std::vector<npu::FeatureMap> maps;
  RUNNEL_TRY(flatten({&x, &y}, maps));
  npu::FeatureMap in = maps[0], out = maps[1];
  const std::int32_t most = wide ? kMaxChannelsToInt16 : kMaxChannels;
  if (in.depth > most) return refuse() << "rows of " << in.depth << " values, expected at most " << most;
  if ((in.height != 1 && in.width != 1) || in.height * in.width > npu::kMaxSize)
    return refuse() << "rows that do not lie after each other";
  if (in.depth != x.shape.back()) return refuse() << "one value in each row";
  kernels::AffineSoftmaxSpec spec;
  spec.from = DType::int8;
  spec.to = y.tensor->dtype;
  const auto* const function = std::get_if<FunctionOptions>(&node.options);
  kernels::set_scales(spec, x.tensor->scales[0], function == nullptr ? 1.0f : function->alpha);
  for (npu::FeatureMap* map : {&in, &out}) {
    if (map->height != 1) continue;
    map->height = map->height0 = map->height1 = map->width;
    map->width = map->width0 = 1;
    map->stride_y = map->stride_x;
  }
  in.zero_point = 0;
  const std::int32_t rows = in.height;
  Words words(program_, rows);

  // The largest value of each row: channels are columns.
  npu::Step largest;
  largest.op.kind = npu::OperationKind::pool;
  largest.op.mode = static_cast<std::uint8_t>(npu::PoolMode::max);
  set_limits(largest.op, x, Activation::none);
  largest.op.ifm = in;
  largest.op.ifm.width = largest.op.ifm.width0 = in.depth;
  largest.op.ifm.depth = 1;
  largest.op.ifm.stride_x = 1;
  largest.op.kernel.width = in.depth;
  largest.op.ofm = in;
  largest.op.ofm.base[0] = 0;
  largest.op.ofm.depth = 1;
  largest.op.ofm.stride_x = largest.op.ofm.stride_y = 1;
  largest.ifm = x.place.buffer;
  largest.ofm = program_.buffer(static_cast<std::size_t>(rows));
  program_.add(largest);

  // How far below it each value lies, through the table of powers.
  const Words::Value power = words.make(in.depth);
  npu::Step differences;
  npu::Operation& op = differences.op;
  op.kind = npu::OperationKind::elementwise;
  op.mode = static_cast<std::uint8_t>(Mode::sub);
  op.has_ifm2 = true;
  op.rounding = npu::Rounding::tfl;
  op.opa_scale = op.opb_scale = op.ofm_scale = {1, 0};
  op.ifm = in;
  op.ifm2 = largest.op.ofm;
  op.broadcast = in.depth > 1 ? 1 << 2 : 0;
  op.ofm = power.map;
  op.ofm.zero_point = kernels::highest(DType::int8);
  op.activation = {npu::Activation::kFirstTable, 0, kernels::lowest(DType::int8),
                   kernels::highest(DType::int8)};
  differences.table = powers(spec);
  differences.ifm = x.place.buffer;
  differences.ifm2 = largest.ofm;
  differences.ofm = power.buffer;
  program_.add(std::move(differences));

  // Their sum, in Q12.
  const Words::Value summand = words.of(Mode::shr, power, words.constant(kSumBits)), sum = words.make(1);
  npu::Step adding;
  adding.op.kind = npu::OperationKind::pool;
  adding.op.mode = static_cast<std::uint8_t>(npu::PoolMode::reduce_sum);
  adding.op.global_scale = true;
  adding.op.ofm_scale = {1, 0};
  adding.op.ifm = summand.map;
  adding.op.ofm = sum.map;
  adding.ifm = summand.buffer;
  adding.ofm = sum.buffer;
  program_.add(std::move(adding));

  // Each power times the reciprocal of the sum, whose highest bit is moved to the front.
  const Words::Value headroom = words.of(Mode::clz, sum, {});
  const Words::Value shift =
      words.of(Mode::sub, headroom, words.constant(kSumBits + kProductShift - (wide ? 16 : 8)), true);
  const Words::Value denominator = words.of(Mode::shl, sum, words.of(Mode::sub, headroom, words.constant(1)));
  const Words::Value product =
      words.of(Mode::mul, power, reciprocal(words, denominator), false, kProductShift);
  words.apply(Mode::shr, product, shift, {out, y.place.buffer});
  return {};
}

}  // namespace runnel::compiler::ethos_u
