#include "pipeline/nodes/model/infer_values.h"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise/affine.h"

namespace runnel::pipeline {
namespace {

bool power_of_two_scale(const TensorView& tensor) noexcept { return tensor.scales.empty(); }

// Floats are quantized with the rounding of the operators that read the tensor.
kernels::Rounding rounding_of(const Model& model, int tensor) noexcept {
  for (int i = 0; i < model.operator_count(); ++i) {
    const auto* inputs = model.op(i).inputs();
    if (inputs != nullptr && std::find(inputs->begin(), inputs->end(), tensor) != inputs->end()) {
      return static_cast<kernels::Rounding>(model.op(i).rounding());
    }
  }
  return kernels::Rounding::half_up;
}

kernels::Affine affine(const TensorView& tensor) noexcept {
  return {tensor.dtype, tensor.scales[0], tensor.zero_point()};
}

bool convertible(const TensorView& tensor) noexcept {
  return tensor.dtype == DType::int8 || tensor.dtype == DType::int16 ||
         (tensor.dtype == DType::uint8 && !power_of_two_scale(tensor));
}

}  // namespace

Text name_of_tensor(const Model& model, int tensor) noexcept {
  Text text;
  if (const std::string_view name = model.tensor_name(tensor); !name.empty())
    text << '\'' << name << '\'';
  else
    text << '#' << tensor;
  return text;
}

Status InputValues::prepare(const NodeContext& context, const Model& model, std::string_view path, int tensor,
                            std::int64_t values) noexcept {
  const Format& given = context.input;
  elementwise_ = &kernels::elementwise(context.isa);
  tensor_ = model.tensor(tensor);
  given_ = given.dtype;
  Text input;
  input << "input " << name_of_tensor(model, tensor).view() << " of " << path;
  const std::int32_t offered = given.channels - given.beside;
  if (offered != values) {
    return Status(Code::mismatch) << context.input_label << " gives " << offered
                                  << (offered == 1 ? " value" : " values") << " per frame, " << input.view()
                                  << " takes " << values;
  }
  if (given_ == tensor_.dtype) {
    const bool same_scale = given_ == DType::float32 || given.codes ||
                            (power_of_two_scale(tensor_) && given.exponent == tensor_.exponent());
    if (same_scale) return {};
    return Status(Code::mismatch) << context.input_label << " gives " << describe(given).view() << ", "
                                  << input.view() << " has another scale: give float32";
  }
  if (given_ == DType::float32 && convertible(tensor_)) {
    rounding_ = rounding_of(model, tensor);
    return {};
  }
  return Status(Code::mismatch) << context.input_label << " gives " << name_of(given_) << ", " << input.view()
                                << " takes " << name_of(tensor_.dtype);
}

void InputValues::convert(const std::byte* from, std::int64_t values, std::byte* to) const noexcept {
  const auto* x = reinterpret_cast<const float*>(from);
  const auto count = static_cast<std::size_t>(values);
  if (given_ == tensor_.dtype)
    std::memcpy(to, from, count * size_of(given_));
  else if (power_of_two_scale(tensor_))
    elementwise_->quantize(tensor_.dtype, count, x, to, tensor_.exponent(), rounding_);
  else
    kernels::affine_quantize(affine(tensor_), rounding_, count, x, to);
}

Status OutputValues::prepare(NodeContext& context, const Model& model, std::string_view path, int tensor,
                             bool dequantize) noexcept {
  elementwise_ = &kernels::elementwise(context.isa);
  tensor_ = model.tensor(tensor);
  const bool integers = tensor_.dtype != DType::float32;
  dequantize_ = integers && (dequantize || !power_of_two_scale(tensor_));
  if (dequantize_ && !convertible(tensor_)) {
    return Status(Code::unsupported) << "output " << name_of_tensor(model, tensor).view() << " of " << path
                                     << " is " << name_of(tensor_.dtype) << ", which cannot be made float32";
  }
  context.output.dtype = dequantize_ ? DType::float32 : tensor_.dtype;
  context.output.exponent = integers && !dequantize_ ? tensor_.exponent() : 0;
  context.output.codes = false;
  return {};
}

void OutputValues::convert(const std::byte* from, std::int64_t values, std::byte* to) const noexcept {
  auto* y = reinterpret_cast<float*>(to);
  const auto count = static_cast<std::size_t>(values);
  if (!dequantize_)
    std::memcpy(to, from, count * size_of(tensor_.dtype));
  else if (power_of_two_scale(tensor_))
    elementwise_->dequantize(tensor_.dtype, count, from, y, tensor_.exponent());
  else
    kernels::affine_dequantize(affine(tensor_), count, from, y);
}

}  // namespace runnel::pipeline
