#include "npu/host/simulator/kernel_convolution.h"

#include <algorithm>

#include "npu/host/simulator/feature_map.h"
#include "npu/host/simulator/window.h"

namespace runnel::npu {
namespace {

constexpr std::size_t kReadBeyond = 64;  // bytes that kernels may read past an input (kernels/conv/conv.h)
constexpr int kFractionBits = 31;        // of the multipliers of kernels

// Whether no window reads rows (or columns) that are in memory, but not part of the input.
bool reads_all(const WindowAxis& axis, std::int32_t in_memory, std::int32_t pad_end) {
  return axis.upscale == Upscale::none && (in_memory == axis.size || (in_memory > axis.size && pad_end == 0));
}

template <class T>
T* copy_to(Memory& memory, const std::vector<T>& values) {
  T* const to = memory.array<T>(values.size());
  if (to != nullptr) std::copy(values.begin(), values.end(), to);
  return to;
}

// The arrays of scales and weights that a ConvSpec refers to; false where they do not fit its types.
bool set_numbers(std::span<const std::int16_t> weights, std::span<const ScaleRecord> scales,
                 Rounding rounding, Memory& memory, kernels::ConvSpec& spec) {
  if (rounding == Rounding::truncate) return false;
  std::vector<std::int32_t> bias, multiplier, shift;
  for (const ScaleRecord& record : scales) {
    if (record.bias < INT32_MIN || record.bias > INT32_MAX || record.multiplier > INT32_MAX) return false;
    bias.push_back(static_cast<std::int32_t>(record.bias));
    multiplier.push_back(static_cast<std::int32_t>(record.multiplier));
    shift.push_back(int{record.shift} - kFractionBits);
  }
  std::vector<std::int8_t> bytes(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] < INT8_MIN || weights[i] > INT8_MAX) return false;
    bytes[i] = static_cast<std::int8_t>(weights[i]);
  }
  spec.weights = copy_to(memory, bytes);
  spec.bias = copy_to(memory, bias);
  // `tfl` rounds twice for shifts above 31 only, as the kernels do (npu/arithmetic.h).
  spec.requant.rounding =
      rounding == Rounding::tfl ? kernels::Rounding::tflite_double : kernels::Rounding::single;
  spec.requant.multiplier = copy_to(memory, multiplier);
  spec.requant.shift = copy_to(memory, shift);
  spec.requant.count = static_cast<std::int32_t>(scales.size());
  return true;
}

}  // namespace

std::unique_ptr<KernelConvolution> KernelConvolution::make(const Operation& op,
                                                           std::span<const std::int16_t> weights,
                                                           std::span<const ScaleRecord> scales,
                                                           const KernelOutput& output) {
  const bool depthwise = op.kind == OperationKind::depthwise;
  const WindowAxis rows = rows_of(op), columns = columns_of(op);
  const std::size_t channels = static_cast<std::size_t>(op.ofm.depth),
                    row = static_cast<std::size_t>(rows.taps) * static_cast<std::size_t>(columns.taps) *
                          static_cast<std::size_t>(depthwise ? 1 : op.ifm.depth);
  if (op.ifm.element != 1 || op.ofm.element != 1 || weights.size() != channels * row ||
      scales.size() != channels || (depthwise && op.ifm.depth != op.ofm.depth) ||
      !reads_all(rows, op.ifm.height, op.kernel.bottom) || !reads_all(columns, op.ifm.width, op.kernel.right))
    return nullptr;
  const std::int32_t input_offset = op.ifm.is_signed ? 0 : 128, output_offset = op.ofm.is_signed ? 0 : 128;
  const std::int64_t low = output.low - output_offset, high = output.high - output_offset;
  std::int32_t in_zero = 0, out_zero = 0;
  if (low < INT8_MIN || high > INT8_MAX || low > high ||
      __builtin_sub_overflow(op.ifm.zero_point, input_offset, &in_zero) ||
      __builtin_sub_overflow(output.zero_point, output_offset, &out_zero))
    return nullptr;

  std::unique_ptr<KernelConvolution> made(new KernelConvolution);
  kernels::ConvSpec spec;
  spec.in_height = op.ifm.height;
  spec.in_width = op.ifm.width;
  spec.in_channels = op.ifm.depth;
  spec.out_height = op.ofm.height;
  spec.out_width = op.ofm.width;
  spec.out_channels = op.ofm.depth;
  spec.kernel_height = rows.taps;
  spec.kernel_width = columns.taps;
  spec.stride_height = rows.stride;
  spec.stride_width = columns.stride;
  spec.dilation_height = rows.dilation;
  spec.dilation_width = columns.dilation;
  spec.pad_top = rows.pad;
  spec.pad_left = columns.pad;
  spec.groups = depthwise ? op.ifm.depth : 1;
  spec.in_zero_point = in_zero;
  spec.requant.zero_point = out_zero;
  spec.requant.low = static_cast<std::int32_t>(low);
  spec.requant.high = static_cast<std::int32_t>(high);
  std::int64_t largest = 0;
  // Sums wrap in the hardware, beyond 32 bits, but not in the kernels.
  if (!set_numbers(weights, scales, output.rounding, made->memory_, spec) ||
      !kernels::prepare_conv(spec, best_isa(), made->memory_, made->conv_).ok() ||
      !kernels::largest_accumulator(spec, largest).ok() || largest > INT32_MAX)
    return nullptr;
  made->input_bytes_ = elements_of(op.ifm);
  made->input_ = made->memory_.array<std::byte>(made->input_bytes_ + kReadBeyond);
  made->output_ = made->memory_.array<std::int8_t>(elements_of(op.ofm));
  made->scratch_ = made->memory_.allocate(made->conv_.scratch_bytes, 64);
  made->flip_input_ = input_offset != 0;
  made->raise_output_ = output_offset;
  return made;
}

void KernelConvolution::run(std::span<std::int32_t> output) noexcept {
  if (flip_input_) {
    for (std::byte& value : input()) value ^= std::byte{0x80};
  }
  conv_.run(conv_, input_, output_, scratch_);
  for (std::size_t i = 0; i < output.size(); ++i) output[i] = output_[i] + raise_output_;
}

}  // namespace runnel::npu
