// Pooling and means over positions.
#include <algorithm>
#include <cmath>

#include "compiler/npu/average.h"
#include "compiler/npu/lowering.h"
#include "inference/ops/reduce/reduction.h"
#include "kernels/arithmetic/requantize.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::ethos_u {
namespace {

constexpr std::int32_t kMaxWindowRows = 256, kMaxWindow = 65536, kMaxConvolved = 64;

// As kernels/pool.cpp divides.
std::int64_t integer_mean(std::int64_t sum, std::int64_t count, bool half_up) {
  if (!half_up) return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
  const std::int64_t up = sum + count / 2;
  return up >= 0 ? up / count : -((count - 1 - up) / count);
}

bool padded(const WindowAxis& axis, std::int32_t in, std::int32_t out) {
  return axis.pad > 0 || (out - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1 - axis.pad > in;
}

}  // namespace

Status Lowering::pool(const Node& node) {
  const Operand x = input(node, 0), y = output(node);
  const auto& o = std::get<PoolOptions>(node.options);
  const bool largest = node.code == OpCode::max_pool && x.tensor->dtype == DType::int16;
  if (x.tensor->dtype != DType::int8 && !largest)
    return refuse() << "values of " << name_of(x.tensor->dtype) << ", expected int8";
  RUNNEL_ASSIGN(npu::FeatureMap in, spatial(x));
  RUNNEL_ASSIGN(npu::FeatureMap out, spatial(y));
  Window window{{o.kernel_height, o.stride_height, o.dilation_height, o.pad_top},
                {o.kernel_width, o.stride_width, o.dilation_width, o.pad_left}};
  if (o.global)
    window = {{in.height, 1, 1, 0}, {in.width, 1, 1, 0}};
  else if (form_ != nullptr)
    form_->adapt_window(node, window);
  if (window.rows.taps > kMaxWindowRows || window.rows.taps * window.columns.taps > kMaxWindow) {
    return refuse() << "windows of " << window.rows.taps << " x " << window.columns.taps
                    << ", expected at most " << kMaxWindowRows << " rows and " << kMaxWindow << " elements";
  }
  if (node.code == OpCode::average_pool) return average(node, x, y, window, in, out, o.count_padding);
  if (!same_scale(*x.tensor, *y.tensor)) return refuse() << "a maximum that changes its scale";
  npu::Step step;
  step.op.kind = npu::OperationKind::pool;
  step.op.mode = static_cast<std::uint8_t>(npu::PoolMode::max);
  set_limits(step.op, y, Activation::none);
  in.zero_point = out.zero_point = 0;
  step.ifm = x.place.buffer;
  step.ofm = y.place.buffer;
  return this->window(std::move(step), in, out, window);
}

Status Lowering::average(const Node& node, const Operand& x, const Operand& y, const Window& window,
                         const npu::FeatureMap& in, const npu::FeatureMap& out, bool count_padding) {
  const std::int32_t elements = window.rows.taps * window.columns.taps;
  const bool pads = padded(window.rows, in.height, out.height) || padded(window.columns, in.width, out.width);
  const bool half_up = node.rounding == kernels::Rounding::half_up,
             integers = node.arithmetic == Arithmetic::tflite;
  if (node.arithmetic != Arithmetic::espdl && !integers)
    return refuse() << "arithmetic " << name_of(node.code, node.arithmetic);
  const bool counts_all = !pads || (count_padding && !integers);
  double ratio = 1;
  if (!integers) ratio = std::ldexp(1.0, x.exponent() - y.exponent());
  const ExpectedAverage expected = [&](std::int64_t sum, std::int64_t count) -> std::int64_t {
    if (integers) return integer_mean(sum, count, half_up);
    // In float32, as kernels/pool.cpp has it.
    const float scale = kernels::power_of_two(x.exponent() - y.exponent()) / static_cast<float>(count);
    return kernels::saturate<std::int8_t>(
        kernels::round_float(static_cast<float>(sum) * scale, node.rounding));
  };
  RUNNEL_ASSIGN(const AverageForm form,
                average_form(expected, counts_all ? elements : 1, elements, ratio, multiplier_bits()));
  npu::Step step;
  npu::Operation& op = step.op;
  op.rounding = form.rounding;
  set_limits(op, y, Activation::none);
  step.ifm = x.place.buffer;
  step.ofm = y.place.buffer;
  npu::FeatureMap read = in, written = out;
  read.zero_point = written.zero_point = form.zero_point;
  const bool dilated = window.rows.dilation > 1 || window.columns.dilation > 1;
  if ((pads && counts_all) || (dilated && counts_all)) {
    // Padding counts as zeros, or windows have gaps: sums with weights of one.
    if (form.zero_point != 0 || window.rows.taps > kMaxConvolved || window.columns.taps > kMaxConvolved)
      return refuse() << "an average that counts padding or has gaps";
    op.kind = npu::OperationKind::depthwise;
    step.weights.assign(static_cast<std::size_t>(out.depth) * static_cast<std::size_t>(elements), 1);
    step.scales.assign(static_cast<std::size_t>(out.depth), {0, form.scale.multiplier, form.scale.shift});
    return this->window(std::move(step), read, written, window);
  }
  if (dilated) return refuse() << "an average over padding with gaps";
  op.kind = npu::OperationKind::pool;
  op.mode = static_cast<std::uint8_t>(npu::PoolMode::average);
  op.global_scale = form.global;
  op.ofm_scale = form.scale;
  return this->window(std::move(step), read, written, window);
}

// Over rows and columns, or one of them, or over channels.
Status Lowering::reduce(const Node& node) {
  const Operand x = input(node, 0), y = output(node);
  const auto& o = std::get<ReduceOptions>(node.options);
  const bool mean = node.code == OpCode::reduce_mean;
  if (x.tensor->dtype != DType::int8 || y.tensor->dtype != DType::int8)
    return refuse() << "values of " << name_of(x.tensor->dtype) << ", expected int8";
  if (node.arithmetic != Arithmetic::espdl && node.arithmetic != Arithmetic::tflite)
    return refuse() << "sums over windows of a stream";
  RUNNEL_ASSIGN(npu::FeatureMap in, spatial(x));
  Window window;
  bool channels = false;
  const auto rank = static_cast<int>(x.shape.size());
  for (const std::uint8_t axis : o.axes) {
    if (x.shape[axis] == 1) continue;
    if (axis == rank - 1)
      channels = true;
    else if (axis == rank - 2)
      window.columns.taps = in.width;
    else if (axis == rank - 3)
      window.rows.taps = in.height;
    else
      return refuse() << "sums over axis " << int{axis} << " of " << rank;
  }
  if (channels && window.rows.taps * window.columns.taps > 1)
    return refuse() << "sums over channels and positions";
  const std::int32_t elements = channels ? in.depth : window.rows.taps * window.columns.taps;
  if (window.rows.taps > kMaxWindowRows || elements > kMaxWindow) {
    return refuse() << "sums over " << elements << " values in " << window.rows.taps
                    << " rows, expected at most " << kMaxWindow << " and " << kMaxWindowRows;
  }
  npu::FeatureMap out = in;
  out.height = out.height0 = out.height1 = in.height - window.rows.taps + 1;
  out.width = out.width0 = in.width - window.columns.taps + 1;
  out.depth = channels ? 1 : in.depth;
  out.base[0] = y.place.offset;
  // Axes that were summed are gone, or have one element.
  const bool gone = y.shape.size() != x.shape.size();
  if (gone && y.shape.size() + o.axes.size() != x.shape.size())
    return refuse() << "a result of rank " << y.shape.size();
  std::size_t place = 0;
  for (int axis = 0; axis < rank; ++axis) {
    const bool summed = std::count(o.axes.begin(), o.axes.end(), axis) > 0;
    if (summed && gone) continue;
    const std::int64_t stride = y.place.strides[place++];
    if (axis == rank - 3) out.stride_y = stride;
    if (axis == rank - 2) out.stride_x = stride;
    if (axis == rank - 1 && stride != out.element && out.depth != 1)
      return refuse() << "channels that are not side by side";
  }
  npu::Step step;
  npu::Operation& op = step.op;
  op.kind = npu::OperationKind::pool;
  op.mode = static_cast<std::uint8_t>(channels ? npu::PoolMode::reduce_sum : npu::PoolMode::average);
  op.global_scale = true;
  set_limits(op, y, Activation::none);
  step.ifm = x.place.buffer;
  step.ofm = y.place.buffer;
  if (node.arithmetic == Arithmetic::tflite) {
    // The count of a mean is part of the multiplier, zero points are subtracted before.
    if (node.rounding != kernels::Rounding::tflite_double)
      return refuse() << "another rounding than TensorFlow Lite's";
    out.zero_point = y.zero_point();
    const kernels::Multiplier ratio = kernels::multiplier_of(static_cast<double>(x.tensor->scales[0]) /
                                                             static_cast<double>(y.tensor->scales[0]));
    const kernels::Multiplier multiplier = mean ? ops::mean_multiplier(ratio, elements) : ratio;
    if (multiplier.shift < -31 || multiplier.shift > 32)
      return refuse() << "a shift of " << multiplier.shift << ", expected -31 to 32";
    op.ofm_scale = {static_cast<std::uint32_t>(multiplier.value),
                    static_cast<std::uint8_t>(31 + multiplier.shift)};
    return this->window(std::move(step), in, out, window);
  }
  if (!mean) {
    const int shift = y.exponent() - x.exponent();
    if (shift > 0 && node.rounding != kernels::Rounding::half_up)
      return refuse() << "rounds ties to even, which the NPU does not do";
    if (shift < -npu::kMaxLeft) return refuse() << "a shift of " << shift;
    op.ofm_scale = shift <= 0 ? npu::Scale{1u << -shift, 0}
                              : npu::Scale{1, static_cast<std::uint8_t>(std::min(shift, npu::kMaxShift))};
    op.rounding = npu::Rounding::natural;
    return this->window(std::move(step), in, out, window);
  }
  const ExpectedAverage expected = [&](std::int64_t sum, std::int64_t count) -> std::int64_t {
    const float real =
        static_cast<float>(sum) * kernels::power_of_two(x.exponent()) / static_cast<float>(count);
    return kernels::saturate<std::int8_t>(
        kernels::round_float(real * kernels::power_of_two(-y.exponent()), node.rounding));
  };
  RUNNEL_ASSIGN(const AverageForm form,
                average_form(expected, elements, elements, std::ldexp(1.0, x.exponent() - y.exponent()),
                             multiplier_bits()));
  op.rounding = form.rounding;
  op.ofm_scale = form.scale;
  in.zero_point = out.zero_point = form.zero_point;
  return this->window(std::move(step), in, out, window);
}

}  // namespace runnel::compiler::ethos_u
