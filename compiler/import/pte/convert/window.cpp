// Convolutions, pools and batch normalization of float32. A program has the channels before the window's
// axes; here they are stored after.
#include <algorithm>
#include <cmath>

#include "compiler/import/pte/kernels.h"

namespace runnel::compiler::pte_source {
namespace {

Status expect_float(const Call& call, DType dtype) {
  if (dtype == DType::float32) return {};
  return call.fail(Code::unsupported) << "of " << name_of(dtype) << ", expected float32";
}

}  // namespace

Result<Steps> read_steps(Builder& builder, const Call& call) {
  Steps steps;
  RUNNEL_ASSIGN(steps.stride, read_pair(builder, call, 3, 1));
  RUNNEL_ASSIGN(steps.pad, read_pair(builder, call, 4, 0));
  RUNNEL_ASSIGN(steps.dilation, read_pair(builder, call, 5, 1));
  return steps;
}

Result<PoolOptions> read_pool_window(Builder& builder, const Call& call, bool dilated) {
  PoolOptions options;
  Steps steps;
  RUNNEL_ASSIGN(const Pair kernel, read_pair(builder, call, 1, 1));
  RUNNEL_ASSIGN(steps.stride, read_pair(builder, call, 2, 1, &kernel));
  RUNNEL_ASSIGN(steps.pad, read_pair(builder, call, 3, 0));
  if (dilated) {
    RUNNEL_ASSIGN(steps.dilation, read_pair(builder, call, 4, 1));
  }
  options.kernel_height = kernel.height;
  options.kernel_width = kernel.width;
  steps.apply_to(options);
  return options;
}

Status convert_conv(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_ASSIGN(const ConstantPtr w, builder.constant(call, 1));
  RUNNEL_ASSIGN(const ConstantPtr bias, builder.constant(call, 2));
  if (w == nullptr) return call.fail() << "no weights";
  RUNNEL_TRY(expect_float(call, x.dtype));
  RUNNEL_TRY(expect_float(call, w->dtype));
  const std::size_t rank = x.dims.size();
  if ((rank != 3 && rank != 4) || w->dims.size() != rank)
    return call.fail(Code::unsupported) << "input rank " << rank << ", weights rank " << w->dims.size()
                                        << ", expected 3 or 4 on both sides";
  RUNNEL_ASSIGN(const bool is_transposed, builder.boolean(call, 6));
  if (is_transposed) return call.fail(Code::unsupported) << "transposed";
  RUNNEL_ASSIGN(Steps steps, read_steps(builder, call));
  if (rank == 3) steps.stride.height = steps.dilation.height = 1, steps.pad.height = 0;
  RUNNEL_ASSIGN(const std::int64_t groups, builder.integer(call, 8, 1, 1 << 16));
  ConvOptions options;
  options.groups = static_cast<int>(groups);
  steps.apply_to(options);
  const Perm perm = channels_last_perm(rank);
  RUNNEL_ASSIGN(const TensorId input, builder.stored(call, x, perm));
  Constant weights = transposed(*w, perm);
  if (rank == 3) weights.dims.insert(weights.dims.begin() + 1, 1);
  RUNNEL_ASSIGN(const TensorId kernel, builder.add_constant(call, weights, "weights"));
  std::vector<TensorId> inputs{input, kernel};
  if (bias != nullptr) {
    RUNNEL_TRY(expect_float(call, bias->dtype));
    RUNNEL_ASSIGN(const TensorId id, builder.add_constant(call, *bias, "bias"));
    inputs.push_back(id);
  }
  RUNNEL_ASSIGN(const TensorId y, builder.emit(call, OpCode::conv, inputs, options, {}));
  return builder.result(call, builder.computed(y, perm));
}

namespace {

// The outputs that a ceiling adds are made by padding after the input.
Result<PoolOptions> read_pool(Builder& builder, const Call& call, const Dims& dims, std::size_t ceiling,
                              bool dilated) {
  if (dims.size() != 4) return call.fail(Code::unsupported) << "input rank " << dims.size() << ", expected 4";
  RUNNEL_ASSIGN(PoolOptions options, read_pool_window(builder, call, dilated));
  RUNNEL_ASSIGN(const bool ceil, builder.boolean(call, ceiling));
  if (ceil) {
    // One window more where one begins inside of the input but does not end there.
    const auto more = [](std::int64_t size, int kernel_size, int step, int padding, int spread) {
      const std::int64_t extent = std::int64_t{kernel_size - 1} * spread + 1,
                         room = size + 2 * padding - extent;
      if (room < 0 || room % step == 0) return 0;
      const std::int64_t begin = (room / step + 1) * step;
      return begin < size + padding ? static_cast<int>(begin - room) : 0;
    };
    options.pad_bottom +=
        more(dims[2], options.kernel_height, options.stride_height, options.pad_top, options.dilation_height);
    options.pad_right +=
        more(dims[3], options.kernel_width, options.stride_width, options.pad_left, options.dilation_width);
  }
  return options;
}

}  // namespace

// The places of the maxima are an output of their own, which no other kernel here takes.
Status convert_max_pool(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_TRY(expect_float(call, x.dtype));
  RUNNEL_ASSIGN(PoolOptions options, read_pool(builder, call, x.dims, 5, true));
  options.count_padding = false;
  const Perm perm = channels_last_perm(4);
  RUNNEL_ASSIGN(const TensorId input, builder.stored(call, x, perm));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(call, OpCode::max_pool, {input}, options, {}));
  return builder.write(call, call.args[6], builder.computed(y, perm));
}

Status convert_average_pool(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_TRY(expect_float(call, x.dtype));
  RUNNEL_ASSIGN(PoolOptions options, read_pool(builder, call, x.dims, 4, false));
  RUNNEL_ASSIGN(options.count_padding, builder.boolean(call, 5));
  if (!builder.is_none(call, 6)) return call.fail(Code::unsupported) << "a divisor of its own";
  if (options.pad_bottom != options.pad_top || options.pad_right != options.pad_left) {
    if (options.count_padding)
      return call.fail(Code::unsupported) << "a ceiling that adds windows, with padding counted";
  }
  const Perm perm = channels_last_perm(4);
  RUNNEL_ASSIGN(const TensorId input, builder.stored(call, x, perm));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(call, OpCode::average_pool, {input}, options, {}));
  return builder.result(call, builder.computed(y, perm));
}

// (x - mean) / sqrt(variance + eps) * weight + bias, per channel: one factor and one summand, which a
// preceding convolution absorbs.
Status convert_batch_norm(Builder& builder, const Call& call) {
  RUNNEL_ASSIGN(const Operand x, builder.operand(call, 0));
  RUNNEL_TRY(expect_float(call, x.dtype));
  if (x.dims.size() < 2) return call.fail() << "input rank " << x.dims.size() << ", expected 2 or more";
  const auto channels = static_cast<std::size_t>(x.dims[1]);
  const auto numbers = [&](std::size_t position, double otherwise) -> Result<std::vector<double>> {
    RUNNEL_ASSIGN(const ConstantPtr given, builder.constant(call, position));
    if (given == nullptr) return std::vector<double>(channels, otherwise);
    auto values = numbers_of(*given);
    if (!values.ok()) return call.named(values.status());
    if (values->size() != channels)
      return call.fail() << values->size() << " numbers for " << channels << " channels";
    return values;
  };
  RUNNEL_ASSIGN(const auto weight, numbers(1, 1));
  RUNNEL_ASSIGN(const auto bias, numbers(2, 0));
  RUNNEL_ASSIGN(const auto mean, numbers(3, 0));
  RUNNEL_ASSIGN(const auto variance, numbers(4, 1));
  RUNNEL_ASSIGN(const double epsilon, builder.number(call, 6));
  std::vector<float> factor, summand;
  for (std::size_t c = 0; c < channels; ++c) {
    const double scale = weight[c] / std::sqrt(variance[c] + epsilon);
    if (!std::isfinite(scale) || std::abs(scale) > 1e30)
      return call.fail() << "a variance of " << variance[c] << " in channel " << c;
    factor.push_back(static_cast<float>(scale));
    summand.push_back(static_cast<float>(std::clamp(bias[c] - mean[c] * scale, -3e38, 3e38)));
  }
  const Perm perm = channels_last_perm(x.dims.size());
  const Dims shape{x.dims[1]};
  RUNNEL_ASSIGN(const TensorId input, builder.stored(call, x, perm));
  RUNNEL_ASSIGN(const TensorId factors, builder.add_constant(call, floats(shape, factor), "factors"));
  RUNNEL_ASSIGN(const TensorId summands, builder.add_constant(call, floats(shape, summand), "summands"));
  RUNNEL_ASSIGN(const TensorId scaled,
                builder.emit(call, OpCode::mul, {input, factors}, BinaryOptions{}, {}));
  RUNNEL_ASSIGN(const TensorId y, builder.emit(call, OpCode::add, {scaled, summands}, BinaryOptions{}, {}));
  return builder.write(call, call.args[7], builder.computed(y, perm));
}

}  // namespace runnel::compiler::pte_source
