// Quantization of what is known while importing: weights and biases mostly.
#include <algorithm>
#include <cmath>

#include "compiler/import/onnx/fold/fold.h"

namespace runnel::compiler::onnx_source {
namespace {

struct Scales {
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
  DType dtype = DType::none;          // of the integers
  std::int64_t inner = 1, count = 1;  // the entry of element i is i / inner % count
};

// Inputs 1 and 2: one number for all, or one per index of an axis.
Result<Scales> scales_of(const Node& node, const Dims& dims, const std::vector<const Constant*>& inputs,
                         DType otherwise) {
  const Constant& scale = *inputs[1];
  const Constant* const zero = inputs.size() > 2 ? inputs[2] : nullptr;
  Scales out;
  out.dtype = zero != nullptr ? zero->dtype : otherwise;
  if (node.integer("block_size", 0) != 0)
    return node.fail(Code::unsupported)
           << "scales of blocks, expected one scale, or one per index of an axis";
  if (!is_real(scale.dtype))
    return node.fail(Code::unsupported) << "scales of type " << name_of(scale.dtype) << ", expected float32";
  for (const double value : reals_of(scale)) {
    out.scales.push_back(static_cast<float>(value));
    if (!(out.scales.back() > 0) || !std::isfinite(out.scales.back()))
      return node.fail() << "a scale of " << std::to_string(value) << ", expected a positive number";
  }
  out.zero_points.assign(out.scales.size(), 0);
  if (zero != nullptr) out.zero_points = integers_of(*zero);
  if (out.scales.empty() || out.zero_points.size() != out.scales.size())
    return node.fail() << out.scales.size() << " scales and " << out.zero_points.size() << " zero points";
  out.count = static_cast<std::int64_t>(out.scales.size());
  if (out.count == 1) return out;
  RUNNEL_ASSIGN(const int axis, axis_of(node, node.integer("axis", 1), dims.size()));
  if (dims[static_cast<std::size_t>(axis)] != out.count)
    return node.fail() << out.count << " scales for axis " << axis << " of " << text_of(dims);
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < dims.size(); ++i) out.inner *= dims[i];
  return out;
}

bool limits_of(DType type, double& low, double& high) {
  switch (type) {
    case DType::int8:
      low = -128, high = 127;
      return true;
    case DType::uint8:
      low = 0, high = 255;
      return true;
    case DType::int16:
      low = -32768, high = 32767;
      return true;
    case DType::uint16:
      low = 0, high = 65535;
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<std::optional<Constant>> fold_quantized(const Node& node, const std::vector<const Constant*>& inputs) {
  const bool forwards = node.op == "QuantizeLinear";
  if ((!forwards && node.op != "DequantizeLinear") || inputs.size() < 2 || inputs[0] == nullptr ||
      inputs[1] == nullptr)
    return std::optional<Constant>();
  const Constant& x = *inputs[0];
  const DType wanted = dtype_of(node.integer("output_dtype", 0));
  RUNNEL_ASSIGN(
      const Scales of,
      scales_of(node, x.dims, inputs, forwards ? (wanted != DType::none ? wanted : DType::uint8) : x.dtype));
  const auto entry = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(i) / of.inner % of.count);
  };
  if (forwards) {
    double low = 0, high = 0;
    if (!limits_of(of.dtype, low, high))
      return node.fail(Code::unsupported)
             << "to " << name_of(of.dtype) << ", expected int8, uint8, int16 or uint16";
    std::vector<double> values = reals_of(x);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scaled = static_cast<float>(values[i]) / of.scales[entry(i)];
      values[i] = std::clamp(static_cast<double>(std::nearbyint(std::isnan(scaled) ? 0.0f : scaled)) +
                                 static_cast<double>(of.zero_points[entry(i)]),
                             low, high);
    }
    return std::optional(make_reals(of.dtype, x.dims, values));
  }
  if (is_real(x.dtype) || x.dtype == DType::boolean)
    return node.fail() << "of " << name_of(x.dtype) << ", expected integers";
  const std::vector<std::int64_t> integers = integers_of(x);
  std::vector<double> values(integers.size());
  auto grid = std::make_shared<Grid>();
  grid->dtype = x.dtype;
  grid->scales = of.scales;
  grid->zero_points.assign(of.zero_points.begin(), of.zero_points.end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<double>(static_cast<float>(integers[i] - of.zero_points[entry(i)]) * of.scales[entry(i)]);
  }
  Constant out = make_reals(DType::float32, x.dims, values);
  out.grid = std::move(grid);
  return std::optional(std::move(out));
}

}  // namespace runnel::compiler::onnx_source
