#include "kernels/float32/float_matrix.h"

#include <algorithm>

#include "kernels/float32/float_kernels.h"

namespace runnel::kernels {
namespace {

bool finite(float value) noexcept { return value - value == 0; }

}  // namespace

Status pack_float_matrix(const FloatMatrixSource& source, std::int32_t inner, std::int32_t columns, Isa isa,
                         Memory& memory, FloatMatrix& matrix) noexcept {
  const FloatKernels& kernels = float_kernels(isa);
  const std::int64_t lanes = kernels.lanes, vectors = (columns + lanes - 1) / lanes;
  const std::int64_t panels = (vectors + kernels.panel_vectors - 1) / kernels.panel_vectors;
  const auto padded = static_cast<std::size_t>(vectors * lanes);
  // Whole vectors at their own alignment.
  const auto alignment = static_cast<std::size_t>(lanes) * sizeof(float);
  auto* packed = static_cast<float*>(
      memory.allocate(padded * static_cast<std::size_t>(inner) * sizeof(float), alignment));
  auto* const bias = static_cast<float*>(memory.allocate(padded * sizeof(float), alignment));
  if (packed == nullptr || bias == nullptr)
    return Status(Code::out_of_memory) << "no memory for " << inner << " times " << columns << " weights";
  std::fill_n(bias, padded, 0.0f);
  for (std::int32_t n = 0; n < columns; ++n) {
    // Makes a bias of -0 into +0, which adding a zero of the padding would give.
    if (source.bias != nullptr) bias[n] = source.bias[n] + 0.0f;
    if (!finite(bias[n]))
      return Status(Code::invalid_argument) << "the bias of output " << n << " is not finite";
  }
  matrix = {inner, columns, float_segments(inner, columns), packed, bias};
  std::int64_t first = 0;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const std::int64_t width = (vectors / panels + (panel < vectors % panels ? 1 : 0)) * lanes;
    for (std::int32_t k = 0; k < inner; ++k) {
      for (std::int64_t n = first; n < first + width; ++n) {
        const float weight =
            n < columns ? source.weights[n * source.row_step + k * source.column_step] : 0.0f;
        if (!finite(weight))
          return Status(Code::invalid_argument) << "weight " << k << " of output " << n << " is not finite";
        *packed++ = weight;
      }
    }
    first += width;
  }
  return {};
}

float float_dot_reference(std::int32_t inner, std::int32_t segments, const float* x, const float* w,
                          std::ptrdiff_t step) noexcept {
  const std::int32_t length = inner / segments;
  float total = 0;
  for (std::int32_t segment = 0; segment < segments; ++segment) {
    const std::int32_t end = segment + 1 == segments ? inner : (segment + 1) * length;
    float sum = 0;
    for (std::int32_t k = segment * length; k < end; ++k) sum = __builtin_fmaf(x[k], w[k * step], sum);
    total = segment == 0 ? sum : total + sum;
  }
  return total;
}

}  // namespace runnel::kernels
