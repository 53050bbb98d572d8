// Convolutions and fully connected layers.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "compiler/npu/lowering.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::ethos_u {
namespace {

constexpr std::int32_t kMaxKernel = 64, kMaxTaps = 4096, kMaxNativeDilation = 2;

template <class T = std::int32_t>
T integer_at(const Tensor& tensor, std::size_t i) {
  T value = 0;
  std::memcpy(&value, tensor.data->data() + i * sizeof value, sizeof value);
  return value;
}
std::int32_t weight_at(const Tensor& tensor, std::size_t i) {
  return tensor.dtype == DType::int16 ? integer_at<std::int16_t>(tensor, i)
                                      : integer_at<std::int8_t>(tensor, i);
}

// How sums of one channel become integers of the output.
class ChannelScales {
 public:
  // `short_multipliers`: of 15 bits, for sums of 48.
  ChannelScales(const Graph& graph, const Node& node, const Tensor& x, const Tensor& w, const Tensor& y,
                bool short_multipliers)
      : graph_(graph), node_(node), x_(x), w_(w), y_(y), short_(short_multipliers) {}

  [[nodiscard]] Result<npu::Rounding> rounding() const {
    if (!x_.scales.empty())
      return node_.rounding == kernels::Rounding::single ? npu::Rounding::natural : npu::Rounding::tfl;
    if (node_.rounding == kernels::Rounding::half_up) return npu::Rounding::natural;
    return Status(Code::unsupported) << "rounds ties to even, which the NPU does not do";
  }
  [[nodiscard]] Result<npu::ScaleRecord> of(std::size_t channel) const {
    RUNNEL_ASSIGN(npu::ScaleRecord record, exact(channel));
    if (!short_ || record.multiplier < 1u << kShort) return record;
    // What has been rounded to 15 bits is kept in the upper half.
    if ((record.multiplier & 0xffff) != 0 || record.shift < 16)
      return Status(Code::unsupported)
             << "a multiplier of " << record.multiplier << " and a shift of " << int{record.shift}
             << " for sums of 48 bits, expected one of " << kShort << " bits";
    record.multiplier >>= 16;
    record.shift = static_cast<std::uint8_t>(record.shift - 16);
    return record;
  }

 private:
  static constexpr int kShort = 15;

  [[nodiscard]] Result<npu::ScaleRecord> exact(std::size_t channel) const {
    npu::ScaleRecord record;
    int shift = 0;
    if (x_.scales.empty()) {
      shift = y_.exponents[0] - x_.exponents[0] - w_.exponents[w_.exponents.size() == 1 ? 0 : channel];
      if (shift < -npu::kMaxLeft) return Status(Code::unsupported) << "a shift of " << shift;
      record.multiplier = shift < 0 ? 1u << -shift : 1u;
      record.shift = static_cast<std::uint8_t>(std::clamp(shift, 0, npu::kMaxShift));
      return record;
    }
    std::int32_t multiplier = 0;
    if (node_.arithmetic == Arithmetic::multipliers) {
      const Tensor &multipliers = tensor(3), &shifts = tensor(4);
      const std::size_t i = multipliers.data->size() == sizeof multiplier ? 0 : channel;
      multiplier = integer_at(multipliers, i);
      shift = integer_at(shifts, i);
    } else {
      const std::size_t i = w_.scales.size() == 1 ? 0 : channel;
      const bool one_product = node_.code == OpCode::fully_connected && w_.scales.size() == 1;
      const double product = one_product
                                 ? static_cast<double>(x_.scales[0] * w_.scales[i])
                                 : static_cast<double>(x_.scales[0]) * static_cast<double>(w_.scales[i]);
      const kernels::Multiplier made = kernels::multiplier_of(product / static_cast<double>(y_.scales[0]));
      multiplier = node_.rounding == kernels::Rounding::single ? kernels::reduced(made.value) : made.value;
      shift = made.shift;
    }
    const int total = shift + npu::kMultiplierBits;
    if (multiplier != 0 && (total < 0 || total > npu::kMaxShift))
      return Status(Code::unsupported) << "a shift of " << total << ", expected 0 to " << npu::kMaxShift;
    record.multiplier = static_cast<std::uint32_t>(multiplier);
    record.shift = static_cast<std::uint8_t>(std::clamp(total, 0, npu::kMaxShift));
    return record;
  }
  [[nodiscard]] const Tensor& tensor(std::size_t input) const {
    return graph_.tensors[static_cast<std::size_t>(node_.inputs[input])];
  }

  const Graph& graph_;
  const Node& node_;
  const Tensor &x_, &w_, &y_;
  bool short_;
};

// Steps of the multipliers for one position and eight channels of input and output each: parts of 8 x 8 taps,
// four taps at a time.
std::int64_t steps_of(std::int32_t rows, std::int32_t columns, std::int32_t channels) {
  constexpr std::int32_t kPart = 8, kTaps = 4;
  std::int64_t steps = 0;
  for (std::int32_t y = 0; y < rows; y += kPart) {
    for (std::int32_t x = 0; x < columns; x += kPart)
      steps += (std::min(rows - y, kPart) * std::min(columns - x, kPart) + kTaps - 1) / kTaps;
  }
  return steps * ((channels + kPart - 1) / kPart);
}

// Columns that a stride goes over together become channels of one column: few channels do not fill the
// multipliers. What is before the first tap and after the last one gets weights of 0. False: they cannot.
bool fold_columns(npu::Step& step, npu::FeatureMap& in, Window& window) {
  WindowAxis& columns = window.columns;
  const std::int32_t stride = columns.stride, channels = in.depth;
  const bool behind_each_other =
      in.stride_x == std::int64_t{channels} * in.element && in.width % std::max(stride, 1) == 0;
  if (stride < 2 || columns.dilation != 1 || !behind_each_other || window.rows.dilation > kMaxNativeDilation)
    return false;
  const std::int32_t pad = (columns.pad + stride - 1) / stride, lead = pad * stride - columns.pad,
                     taps = (lead + columns.taps + stride - 1) / stride;
  std::vector<std::int16_t> weights;
  const auto kernel_row = static_cast<std::ptrdiff_t>(columns.taps * channels);
  const auto folded_row = static_cast<std::size_t>(taps * stride * channels);
  for (auto row = step.weights.begin(); row != step.weights.end(); row += kernel_row) {
    const std::size_t end = weights.size() + folded_row;
    weights.insert(weights.end(), static_cast<std::size_t>(lead * channels), 0);
    weights.insert(weights.end(), row, row + kernel_row);
    weights.resize(end);
  }
  step.weights = std::move(weights);
  in.depth *= stride;
  in.width = in.width0 = in.width / stride;
  in.stride_x *= stride;
  columns = {taps, 1, 1, pad};
  return true;
}

}  // namespace

// Weights [channels][each], biases and scales into the step.
Status Lowering::weighted(const Node& node, const Operand& x, const Operand& y, npu::Step& step,
                          std::int32_t channels, std::int32_t each) {
  const Tensor& w = at(node.inputs[1]);
  if (node.arithmetic != Arithmetic::espdl && node.arithmetic != Arithmetic::multipliers)
    return refuse() << "arithmetic " << name_of(node.code, node.arithmetic);
  const DType type = x.tensor->dtype;
  if ((type != DType::int8 && type != DType::int16) || w.dtype != type || y.tensor->dtype != type) {
    return refuse() << "weights of " << name_of(w.dtype) << " for " << name_of(type)
                    << ", expected int8 or int16";
  }
  const bool wide = type == DType::int16;
  if (!w.data) return refuse() << "weights that are computed";
  const ChannelScales scales(graph_, node, *x.tensor, w, *y.tensor, wide && newest());
  RUNNEL_ASSIGN(step.op.rounding, scales.rounding());
  // Sums have 32 bits, those of int16 40 or 48.
  const std::int64_t limit = std::int64_t{1} << (!wide ? 31 : newest() ? 47 : 39);
  const std::int64_t largest = wide ? 32768 : 255;
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] >= 0;
  step.weights.resize(static_cast<std::size_t>(channels) * static_cast<std::size_t>(each));
  for (std::int32_t channel = 0; channel < channels; ++channel) {
    RUNNEL_ASSIGN(npu::ScaleRecord record, scales.of(static_cast<std::size_t>(channel)));
    if (has_bias) {
      const Tensor& bias = at(node.inputs[2]);
      record.bias = bias.dtype == DType::int64
                        ? integer_at<std::int64_t>(bias, static_cast<std::size_t>(channel))
                        : integer_at(bias, static_cast<std::size_t>(channel));
    }
    std::int64_t most = std::abs(record.bias);
    for (std::int32_t i = 0; i < each; ++i) {
      const std::size_t index =
          static_cast<std::size_t>(channel) * static_cast<std::size_t>(each) + static_cast<std::size_t>(i);
      const std::int32_t weight = weight_at(w, index);
      if (weight < -128 || weight > 127)
        return refuse() << "a weight of " << weight << " for values of int16, expected -128 to 127";
      step.weights[index] = static_cast<std::int16_t>(weight);
      most += largest * std::abs(std::int64_t{weight});
    }
    if (most >= limit || most < 0)
      return refuse() << "sums of channel " << channel << " that may not fit into "
                      << (!wide      ? 32
                          : newest() ? 48
                                     : 40)
                      << " bits";
    step.scales.push_back(record);
  }
  step.ifm = x.place.buffer;
  step.ofm = y.place.buffer;
  return {};
}

Status Lowering::convolution(const Node& node) {
  const Operand x = input(node, 0), y = output(node);
  const auto& o = std::get<ConvOptions>(node.options);
  const Dims& shape = at(node.inputs[1]).shape;
  if (shape.size() != 4) return refuse() << "weights of rank " << shape.size() << ", expected 4";
  RUNNEL_ASSIGN(const npu::FeatureMap in, spatial(x));
  RUNNEL_ASSIGN(const npu::FeatureMap out, spatial(y));
  Window window{{shape[1], o.stride_height, o.dilation_height, o.pad_top},
                {shape[2], o.stride_width, o.dilation_width, o.pad_left}};
  if (form_ != nullptr) form_->adapt_window(node, window);
  const std::int32_t taps = shape[1] * shape[2];
  if (shape[1] > kMaxKernel || shape[2] > kMaxKernel || taps > kMaxTaps)
    return refuse() << "a kernel of " << shape[1] << " x " << shape[2] << ", expected at most " << kMaxKernel
                    << " each";
  npu::Step step;
  RUNNEL_TRY(weighted(node, x, y, step, shape[0], taps * shape[3]));
  set_limits(step.op, y, o.activation);
  const std::int32_t groups = o.groups, in_each = shape[3], out_each = shape[0] / groups;
  if (in_each == 1 && out_each == 1 && groups > 1) {
    step.op.kind = npu::OperationKind::depthwise;
    return this->window(std::move(step), in, out, window);
  }
  step.op.kind = npu::OperationKind::conv;
  if (groups == 1) return folded(std::move(step), in, out, window);
  // Each group reads and writes channels of its own.
  for (std::int32_t group = 0; group < groups; ++group) {
    npu::Step part = step;
    const auto from = static_cast<std::ptrdiff_t>(group * out_each),
               each = static_cast<std::ptrdiff_t>(taps * in_each);
    part.scales.assign(step.scales.begin() + from, step.scales.begin() + from + out_each);
    part.weights.assign(step.weights.begin() + from * each, step.weights.begin() + (from + out_each) * each);
    npu::FeatureMap read = in, written = out;
    read.depth = in_each;
    read.base[0] += std::int64_t{group} * in_each * read.element;
    written.depth = out_each;
    written.base[0] += std::int64_t{group} * out_each * written.element;
    RUNNEL_TRY(this->window(std::move(part), read, written, window));
  }
  return {};
}

Status Lowering::folded(npu::Step step, const npu::FeatureMap& in, const npu::FeatureMap& out,
                        const Window& window) {
  npu::Step narrow = step;
  npu::FeatureMap wide_in = in;
  Window narrow_window = window;
  if (!fold_columns(narrow, wide_in, narrow_window)) return this->window(std::move(step), in, out, window);
  auto as_it_is = pieces(step, in, out, window), with_fold = pieces(narrow, wide_in, out, narrow_window);
  if (newest() && as_it_is.ok() && with_fold.ok() && as_it_is->size() == 1 && with_fold->size() == 1) {
    // Memory decides as well as products: the program takes the quicker one.
    npu::Step& first = as_it_is->front();
    first.others = *std::move(with_fold);
    program_.add(std::move(first));
    return {};
  }
  const bool quicker = steps_of(narrow_window.rows.taps, narrow_window.columns.taps, wide_in.depth) <
                       steps_of(window.rows.taps, window.columns.taps, in.depth);
  auto& taken = quicker ? with_fold : as_it_is;
  if (!taken.ok()) return taken.status();
  for (npu::Step& one : *taken) program_.add(std::move(one));
  return {};
}

Status Lowering::fully_connected(const Node& node) {
  Operand x = input(node, 0), y = output(node);
  const Dims& shape = at(node.inputs[1]).shape;
  if (shape.size() != 2) return refuse() << "weights of rank " << shape.size() << ", expected 2";
  npu::Step step;
  RUNNEL_TRY(weighted(node, x, y, step, shape[0], shape[1]));
  set_limits(step.op, y,
             std::get_if<FullyConnectedOptions>(&node.options) == nullptr
                 ? Activation::none
                 : std::get<FullyConnectedOptions>(node.options).activation);
  step.op.kind = npu::OperationKind::conv;
  // Rows of channels; all axes but the last one are rows.
  std::vector<npu::FeatureMap> in, out;
  RUNNEL_TRY(flatten({&x}, in));
  RUNNEL_TRY(flatten({&y}, out));
  if (in[0].depth != shape[1] || out[0].depth != shape[0] || in[0].height != out[0].height ||
      in[0].width != out[0].width) {
    // Rows of one channel look like channels of one row.
    RUNNEL_ASSIGN(in[0], spatial(x));
    RUNNEL_ASSIGN(out[0], spatial(y));
    if (in[0].depth != shape[1] || in[0].height != out[0].height || in[0].width != out[0].width)
      return refuse() << "rows that do not lie after each other";
  }
  return window(std::move(step), in[0], out[0], Window());
}

}  // namespace runnel::compiler::ethos_u
