#include "npu/host/encoder/u85/adapt.h"

#include <cstring>
#include <utility>

#include "npu/host/encoder/u85/weight_encoder.h"

namespace runnel::npu::u85 {
namespace {

constexpr Scale kOne{1, 0, 0, Rounding::natural};

Rounding rounding_of(npu::Rounding rounding) {
  return rounding == npu::Rounding::tfl       ? Rounding::double_symmetric
         : rounding == npu::Rounding::natural ? Rounding::natural
                                              : Rounding::to_zero;
}

class Adapter {
 public:
  Adapter(Step& step, std::span<const std::byte> second) : step_(step), op_(step.op), second_(second) {}

  Status run() {
    // What only this device computes is written in its terms already.
    if (std::exchange(op_.product, Product::u85) == Product::u85 || !op_.computes()) return {};
    RUNNEL_TRY(activation());
    switch (op_.kind) {
      case OperationKind::conv:
      case OperationKind::depthwise:
        return convolution();
      case OperationKind::pool:
        return pool();
      case OperationKind::elementwise:
        return elementwise();
      default:
        return {};
    }
  }

 private:
  Fields& u85() { return op_.u85; }

  // The multiplier has a bit less than on U55 and U65.
  static Status check(std::uint32_t multiplier) {
    if (multiplier < 1u << kMultiplierBits) return {};
    return Status(Code::unsupported) << "a multiplier of " << multiplier << ", expected less than 2^31";
  }
  Result<Scale> scale(const npu::Scale& scale, int double_round = 0) {
    RUNNEL_TRY(check(scale.multiplier));
    return Scale{scale.multiplier, scale.shift, static_cast<std::uint8_t>(double_round),
                 rounding_of(op_.rounding)};
  }

  Status activation() {
    // Words without a table have no limits.
    u85().clips = !op_.raw_output();
    if (step_.table.empty()) return {};
    constexpr std::size_t kEntries = 256, kSegments = 2048;
    if (step_.table.size() == kSegments) {
      u85().function = Function::s16_s16;
      return {};
    }
    const std::size_t entry = step_.table.size() / kEntries;
    if (step_.table.size() % kEntries != 0 || (entry != 1 && entry != 2 && entry != 4))
      return Status(Code::unsupported) << "a table of " << step_.table.size() << " bytes";
    u85().function = entry == 1 ? Function::s8_s8 : entry == 2 ? Function::s8_s16 : Function::s8_s32;
    return {};
  }

  Status convolution() {
    if (u85().second_weights) {
      RUNNEL_ASSIGN(u85().ofm_scale, scale(op_.ofm_scale));
      return {};
    }
    op_.has_scales = true;
    op_.acc_format = op_.ifm.element == 2 ? 1 : 0;
    u85().ofm_scale = {1, 0, 0, rounding_of(op_.rounding)};
    for (const ScaleRecord& record : step_.scales) {
      RUNNEL_TRY(check(record.multiplier));
      if (op_.acc_format != 0 && record.multiplier >= 1u << 15)
        return Status(Code::unsupported)
               << "a multiplier of " << record.multiplier << " for sums of 48 bits, expected less than 2^15";
    }
    u85().sparse_weights =
        op_.kind == OperationKind::conv && op_.ifm.element == 1 && fits_sparse(step_.weights, op_.ifm.depth);
    return {};
  }

  Status pool() {
    // Of all averages, those over padding alone divide each sum by what is in its window.
    const bool divides = op_.is(npu::PoolMode::average) && !op_.global_scale;
    op_.global_scale = true;
    if (divides) {
      constexpr std::int32_t kMost = 8, kOneBits = 30;
      if (op_.kernel.height > kMost || op_.kernel.width > kMost)
        return Status(Code::unsupported) << "an average over padding of " << op_.kernel.height << " x "
                                         << op_.kernel.width << ", expected at most 8 x 8";
      u85().ofm_scale = {1u << kOneBits, kOneBits, 0, Rounding::natural};
      return {};
    }
    if (op_.is(npu::PoolMode::max)) {
      u85().ofm_scale = kOne;
      return {};
    }
    if (op_.is(npu::PoolMode::average)) op_.mode = static_cast<std::uint8_t>(PoolMode::sum);
    RUNNEL_ASSIGN(u85().ofm_scale, scale(op_.ofm_scale));
    return {};
  }

  Status elementwise() {
    const npu::ElementwiseMode mode = op_.elementwise();
    const bool sums = mode == npu::ElementwiseMode::add || mode == npu::ElementwiseMode::sub,
               multiplies = mode == npu::ElementwiseMode::mul;
    u85().ofm_scale = {1, 0, 0, rounding_of(op_.rounding)};
    if (sums || multiplies) {
      RUNNEL_ASSIGN(u85().ofm_scale, scale(op_.ofm_scale));
    }
    if (sums) RUNNEL_TRY(operand_scales());
    const bool scaled = u85().ofm_scale.multiplier != 1 || u85().ofm_scale.shift != 0;
    op_.acc_format = op_.ifm.element == 2 && scaled ? 1 : 0;
    if (op_.has_ifm2) second_scalar();
    if (op_.reversed) change();
    return {};
  }

  // Of a sum: both have a scale here, and what the first rounding does not see follows from the type.
  Status operand_scales() {
    const int headroom = op_.ifm.element == 1 ? 20 : 15;
    if (op_.operand_to_scale == 0) {
      RUNNEL_ASSIGN(u85().ifm_scale, scale(op_.opa_scale, headroom));
      RUNNEL_ASSIGN(u85().ifm2_scale, scale(op_.opb_scale, headroom));
      return {};
    }
    RUNNEL_ASSIGN(const Scale scaled, scale(op_.opa_scale, headroom));
    const Scale moved{1u << (headroom - 1), 0, static_cast<std::uint8_t>(headroom), scaled.rounding};
    u85().ifm_scale = op_.operand_to_scale == 1 ? scaled : moved;
    u85().ifm2_scale = op_.operand_to_scale == 1 ? moved : scaled;
    return {};
  }

  void second_scalar() {
    FeatureMap& map = op_.ifm2;
    const std::size_t element = map.element;
    if (op_.scalar) {
      u85().scalar = op_.ifm2_scalar;
    } else if (map.height == 1 && map.width == 1 && map.depth == 1 && second_.size() >= element + offset()) {
      // Sign extended.
      std::int64_t value = 0;
      std::memcpy(&value, second_.data() + offset(), element);
      const auto above = static_cast<int>(64 - 8 * element);
      u85().scalar = static_cast<std::int32_t>(
          static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << above) >> above);
      op_.scalar = true;
      step_.ifm2 = kNoBuffer;
    }
    if (!op_.scalar) return;
    FeatureMap none;
    none.storage = Storage::none;
    none.height = none.width = none.depth = 1;
    none.element = map.element;
    none.is_signed = map.is_signed;
    none.zero_point = map.zero_point;
    map = none;
    op_.broadcast = 0;
  }
  [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(op_.ifm2.base[0]); }

  // Either operand may be broadcast or a scalar, so their order needs no register.
  void change() {
    std::swap(op_.ifm, op_.ifm2);
    std::swap(op_.broadcast, u85().first_broadcast);
    std::swap(op_.scalar, u85().first_scalar);
    std::swap(u85().ifm_scale, u85().ifm2_scale);
    std::swap(step_.ifm, step_.ifm2);
    op_.reversed = false;
  }

  Step& step_;
  Operation& op_;
  std::span<const std::byte> second_;
};

}  // namespace

Status adapt(Step& step, std::span<const std::byte> second) { return Adapter(step, second).run(); }

}  // namespace runnel::npu::u85
