// Softmax of int8 in fixed point: the integers of kernels/affine_softmax.cpp, one operation for each of its
// steps.
#include "compiler/npu/lowering.h"
#include "compiler/npu/words.h"
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

Integers product(Words& words, const Integers& a, const Integers& b) {
  return words.of(npu::ElementwiseMode::mul, a, b, {.shift = kProductShift});
}

// 1 / (the denominator, from 1/2 to 1) by three steps of Newton's method. With the headroom taken off, sums
// are this denominator as they are: what the kernel takes off them, it adds again.
Integers reciprocal(Words& words, const Integers& denominator) {
  using Mode = npu::ElementwiseMode;
  const Integers one = words.constant(kOne);
  Integers x = product(words, denominator, words.constant(kSlope));
  x = words.of(Mode::add, x, words.constant(kFirst));
  for (int i = 0; i < 3; ++i) {
    Integers error = words.of(Mode::sub, product(words, denominator, x), one, {.reversed = true});
    error = product(words, x, error);
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
  Words words(program_);
  Integers values{in, x.place.buffer};
  values.map.zero_point = 0;

  // How far below the largest value of its row each value lies, through the table of powers.
  const Integers largest = words.largest(values), power = words.make(rows, 1, in.depth);
  Integers shifted = power;
  shifted.map.zero_point = kernels::highest(DType::int8);
  words.apply(Mode::sub, values, largest, shifted,
              {.limits = std::pair{kernels::lowest(DType::int8), kernels::highest(DType::int8)},
               .table = powers(spec)});

  // Their sum, in Q12.
  const Integers sum = words.sum(words.of(Mode::shr, power, words.constant(kSumBits), {.rounding = kHalfUp}));

  // Each power times the reciprocal of the sum, whose highest bit is moved to the front.
  const Integers headroom = words.of(Mode::clz, sum, {});
  const Integers shift = words.of(
      Mode::sub, headroom, words.constant(kSumBits + kProductShift - (wide ? 16 : 8)), {.reversed = true});
  const Integers denominator = words.of(Mode::shl, sum, words.of(Mode::sub, headroom, words.constant(1)));
  words.apply(Mode::shr, product(words, power, reciprocal(words, denominator)), shift, {out, y.place.buffer},
              {.rounding = kHalfUp});
  return {};
}

}  // namespace runnel::compiler::ethos_u
