// Layer normalization of int8 in fixed point: the integers of kernels/transformer/fixed_layer_norm.cpp, one
// operation for each of its steps. What a row has in common is one word per row.
#include "compiler/npu/lowering.h"
#include "compiler/npu/scales.h"
#include "compiler/npu/words.h"
#include "kernels/affine_softmax.h"
#include "kernels/transformer/fixed_layer_norm.h"

namespace runnel::compiler::ethos_u {
namespace {

using Mode = npu::ElementwiseMode;

// count^2 times the variance of bytes, at most 127.5^2, stays below 2^30 with so many.
constexpr std::int32_t kMaxCount = 256;
constexpr int kPart = 15;  // bits of an inverse root and of a gain

// The axes from `axis` on as channels.
Result<Operand> with_channels(const Operand& operand, std::size_t axis) {
  Operand out = operand;
  std::int64_t stride = operand.place.strides.back(), count = 1;
  for (std::size_t i = operand.shape.size(); i-- > axis;) {
    if (operand.shape[i] != 1 && operand.place.strides[i] != stride * count)
      return Status(Code::unsupported) << "elements that are normalized together but do not lie so";
    count *= operand.shape[i];
  }
  out.shape.resize(axis + 1);
  out.place.strides.resize(axis + 1);
  out.shape[axis] = static_cast<std::int32_t>(count);
  out.place.strides[axis] = stride;
  return out;
}

std::int64_t epsilon_of(float epsilon, double scale, std::int32_t count) {
  const double in_units = static_cast<double>(count) / scale;
  const double value = static_cast<double>(epsilon) * in_units * in_units + 0.5;
  constexpr double kMost = 1e18;
  return static_cast<std::int64_t>(value < kMost ? value : kMost);
}

template <class T>
std::vector<std::int32_t> words_of(const Tensor& tensor) {
  const auto* const values = reinterpret_cast<const T*>(tensor.data->data());
  return {values, values + tensor.data->size() / sizeof(T)};
}

// One over the root of each row's spread = f * 4^(14 - h), f from 1 to 4, and times 2^h.
Integers inverse_roots(Words& words, const Integers& spread, const std::vector<std::byte>& table) {
  // The shift is even; clz - 3 + 1 over 2 is (clz - 2) / 2, rounded down.
  const Integers leading = words.of(Mode::clz, spread, {});
  const Integers half = words.of(Mode::shr, words.of(Mode::sub, leading, words.constant(3)),
                                 words.constant(1), {.rounding = kHalfUp});
  const Integers moved = words.of(Mode::shl, spread, words.of(Mode::add, half, half));
  const Integers f = words.of(Mode::shr, moved, words.constant(14), {.rounding = kHalfUp});
  const Integers root = words.of(Mode::sub, f, words.constant(32768), {.table = table}, 2);
  const Integers one = words.constant(1, 2);
  return words.of(Mode::shl, words.of(Mode::mul, root, one), half);
}

}  // namespace

Status Lowering::layer_norm(const Node& node) {
  Operand x = input(node, 0), y = output(node);
  if (node.arithmetic != Arithmetic::fixed_point) return refuse() << "layer normalization in float32";
  if (x.tensor->dtype != DType::int8 || (y.tensor->dtype != DType::int8 && y.tensor->dtype != DType::int16))
    return refuse() << "values of " << name_of(x.tensor->dtype) << ", expected int8";
  const auto& o = std::get<NormOptions>(node.options);
  const auto axis = static_cast<std::size_t>(o.axis);
  RUNNEL_ASSIGN(x, with_channels(x, axis));
  RUNNEL_ASSIGN(y, with_channels(y, axis));
  const std::int32_t count = x.shape.back();
  const Tensor& gain = at(node.inputs[1]);
  const double x_scale = real_scale(*x.tensor), y_scale = real_scale(*y.tensor);
  const std::int64_t epsilon = epsilon_of(o.epsilon, x_scale, count);
  constexpr std::int64_t kMostSpread = 16257, kLimit = std::int64_t{1} << 30;
  if (count > kMaxCount || kMostSpread * count * count + epsilon >= kLimit)
    return refuse() << count << " elements that are normalized together and an epsilon of " << epsilon
                    << ", expected at most " << kMaxCount << " and what stays below 2^30 with them";
  const kernels::Multiplier result = kernels::multiplier_of(
      real_scale(gain) * static_cast<double>(1 << (15 - kernels::kNormBits)) / y_scale);
  RUNNEL_ASSIGN(const npu::Scale scale, scale_of(result));
  const auto table = table_of_segments(kernels::one_over_root_from_table);
  if (!table) return refuse() << "a table that is not linear in segments";
  std::vector<npu::FeatureMap> maps;
  RUNNEL_TRY(flatten({&x, &y}, maps));
  if (maps[0].depth != count) return refuse() << "one value in each row";

  Words words(program_);
  Integers values{maps[0], x.place.buffer};
  values.map.zero_point = 0;
  // Sums of bytes, and of their squares times the count.
  const Integers sum = words.sum(values);
  const Integers squares = words.sum(words.of(Mode::mul, values, values, {}, 2),
                                     {.factor = static_cast<std::uint32_t>(count), .rounding = kHalfUp});
  Integers spread = words.of(Mode::sub, squares, words.of(Mode::mul, sum, sum));
  if (epsilon > 0) spread = words.of(Mode::add, spread, words.constant(static_cast<std::int32_t>(epsilon)));
  const Integers root = inverse_roots(words, spread, *table);

  const Integers multiple = words.of(Mode::mul, values, words.constant(1, 1),
                                     {.factor = static_cast<std::uint32_t>(count), .rounding = kHalfUp});
  const Integers difference = words.of(Mode::sub, multiple, sum);
  const Integers normal = words.of(Mode::mul, difference, root, {.shift = kPart, .rounding = kHalfUp});
  Integers scaled = words.of(Mode::mul, normal, words.constant(words_of<std::int16_t>(gain)),
                             {.shift = kPart, .rounding = kHalfUp});
  if (node.inputs.size() > 2 && node.inputs[2] >= 0)
    scaled = words.of(Mode::add, scaled, words.constant(words_of<std::int32_t>(at(node.inputs[2]))));
  words.apply(Mode::mul, scaled, words.constant(static_cast<std::int32_t>(scale.multiplier)),
              {maps[1], y.place.buffer}, {.shift = scale.shift});
  return {};
}

}  // namespace runnel::compiler::ethos_u
