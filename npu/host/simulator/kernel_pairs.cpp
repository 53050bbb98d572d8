#include "npu/host/simulator/kernel_pairs.h"

#include <cstring>

namespace runnel::npu {
namespace {

constexpr int kFractionBits = 31;        // of the multipliers of kernels
constexpr std::size_t kReadBeyond = 64;  // bytes behind the operands, for vectors

// The elements of an operand that are repeated over the whole map, in its order; 0: others than the last
// axes.
std::size_t period(const FeatureMap& map, const FeatureMap& whole) {
  std::size_t count = 1;
  bool same = true;
  const std::int32_t sizes[][2] = {
      {map.depth, whole.depth}, {map.width, whole.width}, {map.height, whole.height}};
  for (const auto& [size, full] : sizes) {
    same = same && size == full;
    if (same)
      count *= static_cast<std::size_t>(full);
    else if (size != 1)
      return 0;
  }
  return count;
}

bool has_form(const FeatureMap& map, std::uint8_t element) {
  return map.width0 > 0 && map.storage != Storage::chained && map.storage != Storage::none && map.is_signed &&
         map.element == element;
}

}  // namespace

kernels::Multiplier KernelPairs::multiplier_of(const Scale& scale, int room) noexcept {
  kernels::Multiplier made{static_cast<std::int32_t>(scale.multiplier),
                           int{scale.shift} + room - kFractionBits};
  // Without a shift nothing is rounded, and the multiplier may have more bits.
  while (scale.shift == 0 && made.value > 0 && made.value < 1 << 30) {
    made.value *= 2;
    ++made.shift;
  }
  return made;
}

std::unique_ptr<KernelPairs> KernelPairs::make(const Operation& op, kernels::AffinePairSpec spec,
                                               const KernelOutput& output, Isa isa) {
  const std::uint8_t element = op.ifm.element;
  if (element > 2 || !has_form(op.ifm, element) || output.element != element || !output.is_signed)
    return nullptr;
  const bool scalar = op.scalar;
  if (!scalar && !has_form(op.ifm2, element)) return nullptr;
  spec.dtype = element == 1 ? DType::int8 : DType::int16;
  spec.count = elements_of(op.ofm);
  spec.a_count = period(op.ifm, op.ofm);
  spec.b_count = scalar ? 1 : period(op.ifm2, op.ofm);
  spec.a_zero = op.ifm.zero_point;
  spec.b_zero = op.ifm2.zero_point;
  spec.y_zero = output.zero_point;
  spec.low = static_cast<std::int32_t>(output.low);
  spec.high = static_cast<std::int32_t>(output.high);
  if (spec.a_count == 0 || spec.b_count == 0) return nullptr;
  const auto in_type = [&](std::int32_t zero) {
    return zero >= kernels::lowest(spec.dtype) && zero <= kernels::highest(spec.dtype);
  };
  if (output.low > output.high || output.low < kernels::lowest(spec.dtype) ||
      output.high > kernels::highest(spec.dtype))
    return nullptr;
  if (!in_type(spec.a_zero) || !in_type(spec.b_zero) || !in_type(spec.y_zero)) return nullptr;
  const bool largest = spec.op == kernels::AffinePair::max || spec.op == kernels::AffinePair::min;
  if (largest && (spec.a_zero != spec.b_zero || spec.a_zero != spec.y_zero)) return nullptr;
  std::unique_ptr<KernelPairs> made(new KernelPairs);
  made->kernel_ = kernels::affine_pairs_for(spec, isa);
  if (made->kernel_ == kernels::affine_pairs) return nullptr;
  made->first_.resize(spec.a_count * element + kReadBeyond);
  made->second_.resize(spec.b_count * element + kReadBeyond);
  if (scalar) {
    const std::int32_t value = op.product == Product::u85 ? op.u85.scalar : op.ifm2_scalar;
    if (!in_type(value)) return nullptr;
    std::memcpy(made->second_.data(), &value, element);
  }
  made->results_.resize(spec.count * element);
  made->spec_ = spec;
  made->first_map_ = op.ifm;
  made->second_map_ = op.ifm2;
  made->scalar_ = scalar;
  return made;
}

void KernelPairs::run(std::span<const std::byte> first, std::span<const std::byte> second) {
  read_bytes(first_map_, first, std::span(first_).first(first_.size() - kReadBeyond));
  if (!scalar_) read_bytes(second_map_, second, std::span(second_).first(second_.size() - kReadBeyond));
  kernel_(spec_, first_.data(), second_.data(), results_.data());
}

}  // namespace runnel::npu
