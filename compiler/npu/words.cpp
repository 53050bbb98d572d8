#include "compiler/npu/words.h"

#include <limits>

namespace runnel::compiler::ethos_u {
namespace {

// Of a signed integer of so many bytes.
std::pair<std::int32_t, std::int32_t> limits_of(int element) {
  return element == 1 ? std::pair{-128, 127} : std::pair{-32768, 32767};
}

npu::FeatureMap map_without_gaps(std::int32_t height, std::int32_t width, std::int32_t depth, int element) {
  npu::FeatureMap map;
  map.element = static_cast<std::uint8_t>(element);
  map.is_signed = true;
  map.height = map.height0 = map.height1 = height;
  map.width = map.width0 = width;
  map.depth = depth;
  map.stride_c = map.element;
  map.stride_x = std::int64_t{element} * depth;
  map.stride_y = map.stride_x * width;
  return map;
}

void set_output(npu::Step& step, const Integers& y, const WordOptions& how) {
  npu::Operation& op = step.op;
  const auto [low, high] = how.limits.value_or(limits_of(how.table.empty() ? y.map.element : 2));
  op.activation.low = low;
  op.activation.high = high;
  if (!how.table.empty()) {
    op.activation.function = npu::Activation::kFirstTable;
    step.table = how.table;
  }
  op.ofm = y.map;
  op.rounding = how.rounding;
  step.ofm = y.buffer;
}

}  // namespace

std::vector<std::byte> bytes_of(const std::vector<std::int32_t>& values) {
  const auto* const begin = reinterpret_cast<const std::byte*>(values.data());
  return {begin, begin + values.size() * sizeof(std::int32_t)};
}

std::optional<std::vector<std::byte>> table_of_segments(
    const std::function<std::int16_t(std::int16_t)>& function) {
  constexpr std::int32_t kSegments = 512, kLength = 128, kFirst = -32768, kHalf = 64, kBits = 7;
  std::vector<std::int32_t> words;
  for (std::int32_t segment = 0; segment < kSegments; ++segment) {
    std::int32_t values[kLength];
    for (std::int32_t i = 0; i < kLength; ++i)
      values[i] = function(static_cast<std::int16_t>(kFirst + segment * kLength + i));
    // The last value says the slope but for its rounding.
    const std::int32_t rise = values[kLength - 1] - values[0];
    const auto fits = [&](std::int32_t slope) {
      for (std::int32_t i = 0; i < kLength; ++i) {
        if (values[0] + ((slope * i + kHalf) >> kBits) != values[i]) return false;
      }
      return true;
    };
    std::int32_t slope = rise * kLength / (kLength - 1) - 2;
    const std::int32_t last = slope + 4;
    while (slope <= last && !fits(slope)) ++slope;
    if (slope > last || slope < std::numeric_limits<std::int16_t>::min() ||
        slope > std::numeric_limits<std::int16_t>::max())
      return std::nullopt;
    words.push_back(static_cast<std::int32_t>((static_cast<std::uint32_t>(slope) << 16) |
                                              (static_cast<std::uint32_t>(values[0]) & 0xffff)));
  }
  return bytes_of(words);
}

Integers Words::make(std::int32_t height, std::int32_t width, std::int32_t depth, int element) {
  const npu::FeatureMap map = map_without_gaps(height, width, depth, element);
  return {map, program_.buffer(static_cast<std::size_t>(map.stride_y * height))};
}

Integers Words::constant(const std::vector<std::int32_t>& values, std::int32_t height, std::int32_t width) {
  const auto depth = static_cast<std::int32_t>(values.size()) / (height * width);
  return {map_without_gaps(height, width, depth, sizeof(std::int32_t)), program_.constant(bytes_of(values))};
}
Integers Words::constant(std::int32_t value, int element) {
  std::vector<std::byte> bytes = bytes_of({value});
  bytes.resize(static_cast<std::size_t>(element));
  return {map_without_gaps(1, 1, 1, element), program_.constant(std::move(bytes))};
}

void Words::apply(npu::ElementwiseMode mode, const Integers& a, const Integers& b, const Integers& y,
                  const WordOptions& how) {
  npu::Step step;
  npu::Operation& op = step.op;
  op.kind = npu::OperationKind::elementwise;
  op.mode = static_cast<std::uint8_t>(mode);
  op.has_ifm2 = mode != npu::ElementwiseMode::clz;
  op.reversed = how.reversed;
  op.opa_scale = op.opb_scale = {1, 0};
  op.ofm_scale = {how.factor, static_cast<std::uint8_t>(how.shift)};
  set_output(step, y, how);
  op.ifm = a.map;
  step.ifm = a.buffer;
  if (op.has_ifm2) {
    op.ifm2 = b.map;
    step.ifm2 = b.buffer;
    const auto broadcast = [](std::int32_t own, std::int32_t full, int bit) {
      return own == 1 && full != 1 ? 1 << bit : 0;
    };
    op.broadcast = static_cast<std::uint8_t>(broadcast(b.map.height, a.map.height, 0) |
                                             broadcast(b.map.width, a.map.width, 1) |
                                             broadcast(b.map.depth, a.map.depth, 2));
  }
  program_.add(std::move(step));
}

Integers Words::of(npu::ElementwiseMode mode, const Integers& a, const Integers& b, const WordOptions& how,
                   int element) {
  Integers y = make(a.map.height, a.map.width, a.map.depth, element);
  apply(mode, a, b, y, how);
  return y;
}

Integers Words::largest(const Integers& a) {
  npu::Step step;
  npu::Operation& op = step.op;
  op.kind = npu::OperationKind::pool;
  op.mode = static_cast<std::uint8_t>(npu::PoolMode::max);
  // Channels are columns.
  npu::FeatureMap& in = op.ifm = a.map;
  if (in.height == 1) in.stride_y = in.stride_x;
  in.height = in.height0 = in.height1 = a.map.height * a.map.width;
  if (a.map.width > 1) in.stride_y = a.map.stride_x;
  in.width = in.width0 = a.map.depth;
  in.depth = 1;
  in.stride_x = in.element;
  op.kernel.width = a.map.depth;
  const Integers y = make(in.height, 1, 1, in.element);
  set_output(step, y, {});
  op.ofm.zero_point = in.zero_point;
  step.ifm = a.buffer;
  program_.add(std::move(step));
  return y;
}

Integers Words::sum(const Integers& a, const WordOptions& how) {
  npu::Step step;
  npu::Operation& op = step.op;
  op.kind = npu::OperationKind::pool;
  op.mode = static_cast<std::uint8_t>(npu::PoolMode::reduce_sum);
  op.global_scale = true;
  op.ofm_scale = {how.factor, static_cast<std::uint8_t>(how.shift)};
  op.ifm = a.map;
  step.ifm = a.buffer;
  const Integers y = make(a.map.height, a.map.width, 1);
  set_output(step, y, how);
  program_.add(std::move(step));
  return y;
}

}  // namespace runnel::compiler::ethos_u
