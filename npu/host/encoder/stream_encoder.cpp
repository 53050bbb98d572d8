#include "npu/host/encoder/stream_encoder.h"

#include <bit>
#include <cstring>

#include "npu/host/encoder/u85/operation_encoder.h"

namespace runnel::npu {
namespace {

std::int32_t precision_field(const FeatureMap& map) {
  return (map.is_signed ? 1 : 0) | width_field(map.element) << 2 | layout_field(map);
}

}  // namespace

std::uint32_t config_word(const Accelerator& accelerator) noexcept {
  if (accelerator.product == Product::u85) return u85::config_word(accelerator);
  const auto macs =
      static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(accelerator.macs)) - 1);
  return macs | static_cast<std::uint32_t>(accelerator.banks * accelerator.cores) << 8 |
         static_cast<std::uint32_t>(accelerator.product) << 28;
}

void StreamEncoder::set(Long code, const Scale& scale) { to_.set_long(code, scale.shift, scale.multiplier); }

void StreamEncoder::ifm(const Operation& op) {
  to_.map(op.ifm, kIfm);
  to_.set(Short::ifm_depth_m1, op.ifm.depth - 1);
  to_.set(Short::ifm_precision, precision_field(op.ifm) | op.operand_to_scale << 8);
  to_.set(Short::ifm_upscale, static_cast<int>(op.upscale));
}

void StreamEncoder::ifm2(const Operation& op) {
  if (!op.has_ifm2) return;
  to_.set(Short::ifm2_broadcast, op.broadcast | (op.reversed ? 1 << 6 : 0) | (op.scalar ? 1 << 7 : 0));
  to_.set(Short::ifm2_precision, precision_field(op.ifm2));
  if (op.scalar) {
    to_.set(Short::ifm2_zero_point, op.ifm2.zero_point);
    return to_.set(Short::ifm2_scalar, op.ifm2_scalar);
  }
  to_.map(op.ifm2, kIfm2);
  to_.set(Short::ifm2_ib_start, op.ifm2_ib_start);
}

void StreamEncoder::ofm(const Operation& op) {
  to_.map(op.ofm, kOfm);
  to_.set(Short::ofm_height_m1, op.ofm.height - 1);
  to_.set(Short::ofm_width_m1, op.ofm.width - 1);
  to_.set(Short::ofm_depth_m1, op.ofm.depth - 1);
  to_.set(Short::ofm_precision, (op.ofm.is_signed ? 1 : 0) | width_field(op.ofm.element) << 1 |
                                    layout_field(op.ofm) | (op.global_scale ? 1 << 8 : 0) |
                                    static_cast<int>(op.rounding) << 14);
  to_.output_block(op);
  to_.set(Short::ifm_ib_end, op.ib_end);
  to_.set(Short::ab_start, op.ab_start);
  to_.set(Short::acc_format, op.acc_format);
  to_.set(Short::activation, op.activation.function | op.activation.clip << 12);
  to_.set(Short::activation_min, op.activation.low);
  to_.set(Short::activation_max, op.activation.high);
  to_.set(Short::block_dependency, op.block_dependency);
}

void StreamEncoder::streams(const Operation& op) {
  to_.set(Short::weight_region, op.weight_region);
  to_.set(Short::scale_region, op.scale_region);
  to_.set(Long::weight_base, op.weights[0].base);
  to_.set(Long::weight_length, op.weights[0].length);
  to_.set(Long::scale_base, op.scales[0].base);
  to_.set(Long::scale_length, op.scales[0].length);
  if (accelerator_.cores < 2) return;
  to_.set(Short::parallel_mode, op.cores - 1);
  if (op.cores < 2) return;
  to_.set(Long::weight1_base, op.weights[1].base);
  to_.set(Long::weight1_length, op.weights[1].length);
  to_.set(Long::scale1_base, op.scales[1].base);
  to_.set(Long::scale1_length, op.scales[1].length);
}

void StreamEncoder::dma(const Dma& dma) {
  const auto place = [](const DmaPlace& at) {
    return at.region | (at.internal ? 1 << 8 : 0) | (at.dimensions - 1) << 9;
  };
  to_.set(Short::dma_source_region, place(dma.source));
  to_.set(Short::dma_target_region, place(dma.target));
  to_.set(Long::dma_source, dma.source.address);
  to_.set(Long::dma_target, dma.target.address);
  to_.set(Long::dma_length, dma.length);
  const int dimensions =
      dma.source.dimensions > dma.target.dimensions ? dma.source.dimensions : dma.target.dimensions;
  if (dimensions > 1) {
    to_.set(Short::dma_size0, static_cast<std::int32_t>(dma.rows));
    to_.set(Long::dma_skip0, dma.skip0);
  }
  if (dimensions > 2) {
    to_.set(Short::dma_size1, static_cast<std::int32_t>(dma.planes));
    to_.set(Long::dma_skip1, dma.skip1);
  }
}

void StreamEncoder::computation(const Operation& op) {
  switch (op.kind) {
    case OperationKind::conv:
    case OperationKind::depthwise:
      ifm(op);
      to_.window(op);
      streams(op);
      ofm(op);
      if (op.global_scale) set(Long::ofm_scale, op.ofm_scale);
      return to_.command(op.kind == OperationKind::conv ? OpCode::conv : OpCode::depthwise, 0);
    case OperationKind::pool:
      ifm(op);
      to_.window(op);
      ofm(op);
      if (op.global_scale) set(Long::ofm_scale, op.ofm_scale);
      return to_.command(OpCode::pool, op.mode);
    case OperationKind::elementwise:
      ifm(op);
      ifm2(op);
      ofm(op);
      set(Long::ofm_scale, op.ofm_scale);
      set(Long::opa_scale, op.opa_scale);
      set(Long::opb_scale, op.opb_scale);
      return to_.command(OpCode::elementwise, op.mode);
    default:
      return;
  }
}

void StreamEncoder::add(const Operation& op) {
  const bool newer = accelerator_.product == Product::u85;
  switch (op.kind) {
    case OperationKind::dma:
      newer ? u85::write_copy(op, to_) : dma(op.dma);
      return to_.command(OpCode::dma_start, op.param);
    case OperationKind::kernel_wait:
      return to_.command(OpCode::kernel_wait, op.param);
    case OperationKind::dma_wait:
      return to_.command(OpCode::dma_wait, op.param);
    case OperationKind::irq:
      return to_.command(OpCode::irq, op.param);
    case OperationKind::pmu_mask:
      return to_.command(OpCode::pmu_mask, op.param);
    case OperationKind::branch:
    case OperationKind::stop:
      return;
    default:
      return newer ? u85::write(op, accelerator_, to_) : computation(op);
  }
}

std::vector<std::uint32_t> StreamEncoder::words() const {
  std::vector<std::uint32_t> all = to_.words();
  all.push_back(0xffff0000u);  // STOP with every bit of the interrupt mask
  return all;
}

std::vector<std::byte> StreamEncoder::payload() const {
  // The driver's actions: configuration, nothing (padding to 16 bytes), command stream.
  constexpr std::uint32_t kConfiguration = 0x00100001, kNothing = 5, kCommandStream = 2,
                          kArchitecture = 0x10060000, kNewerArchitecture = 0x20007000;
  const std::vector<std::uint32_t> commands = words();
  const auto count = static_cast<std::uint32_t>(commands.size());
  std::vector<std::uint32_t> all{0x31504f43u,
                                 kConfiguration,
                                 config_word(accelerator_),
                                 accelerator_.product == Product::u85 ? kNewerArchitecture : kArchitecture,
                                 kNothing,
                                 kNothing,
                                 kNothing,
                                 kCommandStream | (count >> 16 & 0xff) << 8 | count << 16};
  all.insert(all.end(), commands.begin(), commands.end());
  std::vector<std::byte> bytes(4 * all.size());
  std::memcpy(bytes.data(), all.data(), bytes.size());
  return bytes;
}

}  // namespace runnel::npu
