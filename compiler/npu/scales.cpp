#include "compiler/npu/scales.h"

#include <algorithm>

namespace runnel::compiler::ethos_u {

double real_scale(const Tensor& tensor) {
  return static_cast<double>(tensor.scales.empty()
                                 ? kernels::power_of_two(tensor.exponents.empty() ? 0 : tensor.exponents[0])
                                 : tensor.scales[0]);
}

Result<npu::Scale> scale_of(const kernels::Multiplier& multiplier, int headroom) {
  const int shift = npu::kMultiplierBits + multiplier.shift - headroom;
  if (multiplier.value != 0 && (shift < 0 || shift > npu::kMaxShift))
    return Status(Code::unsupported) << "a shift of " << shift << ", expected 0 to " << npu::kMaxShift;
  return npu::Scale{static_cast<std::uint32_t>(multiplier.value),
                    static_cast<std::uint8_t>(std::clamp(shift, 0, npu::kMaxShift))};
}
Result<npu::Scale> scale_of(int shift, kernels::Rounding rounding) {
  if (shift > 0 && rounding != kernels::Rounding::half_up)
    return Status(Code::unsupported) << "rounds ties to even, which the NPU does not do";
  if (shift < -npu::kMultiplierBits) return Status(Code::unsupported) << "a shift of " << shift;
  return shift <= 0 ? npu::Scale{1u << -shift, 0}
                    : npu::Scale{1, static_cast<std::uint8_t>(std::min(shift, npu::kMaxShift))};
}

}  // namespace runnel::compiler::ethos_u
