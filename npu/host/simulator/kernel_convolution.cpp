#include "npu/host/simulator/kernel_convolution.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "npu/host/simulator/window.h"

namespace runnel::npu {
namespace {

constexpr std::size_t kReadBeyond = 64;  // bytes that kernels may read past an input (kernels/conv/conv.h)
constexpr int kFractionBits = 31;        // of the multipliers of kernels
constexpr std::size_t kAlignment = 64;

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

template <class T>
bool fits_in(std::int64_t value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

// How a kernel requantizes; false where it has no form of it.
bool set_scales(std::span<const ScaleRecord> scales, Rounding rounding, Memory& memory,
                kernels::Requant& requant) {
  if (rounding == Rounding::truncate) return false;
  std::vector<std::int32_t> multiplier, shift;
  for (const ScaleRecord& record : scales) {
    if (!fits_in<std::int32_t>(record.multiplier)) return false;
    multiplier.push_back(static_cast<std::int32_t>(record.multiplier));
    shift.push_back(int{record.shift} - kFractionBits);
  }
  // `tfl` rounds twice for shifts above 31 only, as the kernels do (npu/arithmetic.h).
  requant.rounding = rounding == Rounding::tfl ? kernels::Rounding::tflite_double : kernels::Rounding::single;
  requant.multiplier = copy_to(memory, multiplier);
  requant.shift = copy_to(memory, shift);
  requant.count = static_cast<std::int32_t>(scales.size());
  return true;
}

template <class W, class B>
void set_weights(std::span<const std::int16_t> weights, std::span<const ScaleRecord> scales, Memory& memory,
                 kernels::ConvSpec& spec) {
  std::vector<W> values(weights.size());
  std::transform(weights.begin(), weights.end(), values.begin(),
                 [](std::int16_t weight) { return static_cast<W>(weight); });
  std::vector<B> biases(scales.size());
  std::transform(scales.begin(), scales.end(), biases.begin(),
                 [](const ScaleRecord& record) { return static_cast<B>(record.bias); });
  spec.weights = copy_to(memory, values);
  spec.bias = copy_to(memory, biases);
}

// Whether kernels for bytes take it; others compute on words.
bool all_bytes(const Operation& op, std::span<const std::int16_t> weights,
               std::span<const ScaleRecord> scales, const KernelOutput& output) {
  return op.ifm.element == 1 && output.element == 1 &&
         std::all_of(weights.begin(), weights.end(), fits_in<std::int8_t>) &&
         std::all_of(scales.begin(), scales.end(),
                     [](const ScaleRecord& record) { return fits_in<std::int32_t>(record.bias); });
}

void flip(std::span<std::byte> elements, std::size_t element) {
  for (std::size_t i = element - 1; i < elements.size(); i += element) elements[i] ^= std::byte{0x80};
}

kernels::ConvSpec shape_of(const Operation& op) {
  const WindowAxis rows = rows_of(op), columns = columns_of(op);
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
  spec.groups = op.kind == OperationKind::depthwise ? op.ifm.depth : 1;
  return spec;
}

// The kernels have no form of it, or of its maps.
bool has_form(const Operation& op, std::size_t weights, std::size_t scales, const KernelOutput& output) {
  const bool depthwise = op.kind == OperationKind::depthwise;
  const WindowAxis rows = rows_of(op), columns = columns_of(op);
  const std::size_t channels = static_cast<std::size_t>(op.ofm.depth),
                    row = static_cast<std::size_t>(rows.taps) * static_cast<std::size_t>(columns.taps) *
                          static_cast<std::size_t>(depthwise ? 1 : op.ifm.depth);
  return op.ifm.element <= 2 && op.ifm.width0 > 0 && output.element <= 2 && weights == channels * row &&
         scales == channels && (!depthwise || op.ifm.depth == op.ofm.depth) &&
         reads_all(rows, op.ifm.height, op.kernel.bottom) &&
         reads_all(columns, op.ifm.width, op.kernel.right);
}

}  // namespace

std::unique_ptr<KernelConvolution> KernelConvolution::make(const Operation& op,
                                                           std::span<const std::int16_t> weights,
                                                           std::span<const ScaleRecord> scales,
                                                           const KernelOutput& output, Isa isa) {
  if (!has_form(op, weights.size(), scales.size(), output)) return nullptr;
  std::unique_ptr<KernelConvolution> made(new KernelConvolution);
  Memory& memory = made->memory_;
  const bool words = !all_bytes(op, weights, scales, output);
  const std::size_t element = words ? 2 : 1;
  const std::int32_t half = words ? 1 << 15 : 1 << 7;
  made->flip_input_ = !op.ifm.is_signed && op.ifm.element == element;
  made->flip_output_ = !output.is_signed && output.element == element;
  const std::int32_t input_offset = made->flip_input_ ? half : 0,
                     output_offset = made->flip_output_ ? half : 0;
  const std::int64_t low = output.low - output_offset, high = output.high - output_offset;
  kernels::ConvSpec spec = shape_of(op);
  spec.dtype = words ? DType::int16 : DType::int8;
  if (low < -half || high >= half || low > high ||
      __builtin_sub_overflow(op.ifm.zero_point, input_offset, &spec.in_zero_point) ||
      __builtin_sub_overflow(output.zero_point, output_offset, &spec.requant.zero_point))
    return nullptr;
  spec.requant.low = static_cast<std::int32_t>(low);
  spec.requant.high = static_cast<std::int32_t>(high);
  if (!set_scales(scales, output.rounding, memory, spec.requant)) return nullptr;
  if (words)
    set_weights<std::int16_t, std::int64_t>(weights, scales, memory, spec);
  else
    set_weights<std::int8_t, std::int32_t>(weights, scales, memory, spec);
  std::int64_t largest = 0;
  // Sums wrap in the hardware, but not in the kernels.
  if (!kernels::prepare_conv(spec, isa, memory, made->conv_).ok() ||
      !kernels::largest_accumulator(spec, largest).ok() ||
      largest >= std::int64_t{1} << (output.accumulator_bits - 1) ||
      kernels::kernel_choice(made->conv_).isa == Isa::reference)
    return nullptr;
  made->map_ = op.ifm;
  made->stored_ = output;
  made->words_ = words;
  made->inputs_ = elements_of(op.ifm);
  made->count_ = elements_of(op.ofm);
  made->input_ = static_cast<std::byte*>(memory.allocate(made->inputs_ * element + kReadBeyond, kAlignment));
  made->narrow_ = op.ifm.element < element ? memory.array<std::byte>(made->inputs_) : nullptr;
  made->output_ = static_cast<std::byte*>(memory.allocate(made->count_ * element, kAlignment));
  made->results_ = output.element < element ? memory.array<std::byte>(made->count_) : made->output_;
  made->scratch_ = memory.allocate(made->conv_.scratch_bytes, kAlignment);
  return made;
}

template <class T>
void KernelConvolution::widen() noexcept {
  for (std::size_t i = 0; i < inputs_; ++i) {
    T from;
    std::memcpy(&from, narrow_ + i, 1);
    const auto to = static_cast<std::int16_t>(from);
    std::memcpy(input_ + 2 * i, &to, 2);
  }
}

void KernelConvolution::read(std::span<const std::byte> region) noexcept {
  if (narrow_ == nullptr) {
    const std::span<std::byte> elements(input_, inputs_ * map_.element);
    read_bytes(map_, region, elements);
    if (flip_input_) flip(elements, map_.element);
    return;
  }
  read_bytes(map_, region, {narrow_, inputs_});
  if (map_.is_signed)
    widen<std::int8_t>();
  else
    widen<std::uint8_t>();
}

void KernelConvolution::run(std::span<const std::byte> region) noexcept {
  read(region);
  conv_.run(conv_, input_, output_, scratch_);
  if (flip_output_) flip(results(), stored_.element);
  if (results_ == output_) return;
  for (std::size_t i = 0; i < count_; ++i) results_[i] = output_[2 * i];  // the low bytes of words
}

}  // namespace runnel::npu
