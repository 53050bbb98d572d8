#include "services/describe/tensors.h"

#include "base/cpu.h"
#include "kernels/elementwise/affine.h"
#include "kernels/elementwise/elementwise.h"

namespace runnel::describe {

std::string tensor_label(const Model& model, int tensor) {
  const std::string_view name = model.tensor_name(tensor);
  return name.empty() ? "#" + std::to_string(tensor) : std::string(name);
}

std::vector<std::byte> quantize_for(const Model& model, const TensorView& tensor,
                                    std::span<const std::byte> floats) {
  const std::size_t count = floats.size() / sizeof(float);
  std::vector<std::byte> out(count * size_of(tensor.dtype));
  if (!tensor.scales.empty()) {
    kernels::affine_quantize({tensor.dtype, tensor.scales[0], tensor.zero_point()},
                             kernels::Rounding::tflite_double, count,
                             reinterpret_cast<const float*>(floats.data()), out.data());
    return out;
  }
  const auto rounding = model.operator_count() > 0 ? static_cast<kernels::Rounding>(model.op(0).rounding())
                                                   : kernels::Rounding::half_up;
  kernels::elementwise(best_isa())
      .quantize(tensor.dtype, count, reinterpret_cast<const float*>(floats.data()), out.data(),
                tensor.exponent(), rounding);
  return out;
}

}  // namespace runnel::describe
