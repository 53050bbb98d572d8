#include "npu/host/encoder/stream_encoder.h"

#include <bit>
#include <cstring>

namespace runnel::npu {
namespace {

std::int32_t width_field(std::uint8_t element) { return element == 1 ? 0 : element == 2 ? 1 : 2; }
std::int32_t layout_field(const FeatureMap& map) { return map.layout == Layout::nhcwb16 ? 1 << 6 : 0; }
std::int32_t precision_field(const FeatureMap& map) {
  return (map.is_signed ? 1 : 0) | width_field(map.element) << 2 | layout_field(map);
}
Long plus(Long code, int count) { return static_cast<Long>(static_cast<int>(code) + count); }

}  // namespace

std::uint32_t config_word(const Accelerator& accelerator) noexcept {
  const auto macs =
      static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(accelerator.macs)) - 1);
  return macs | static_cast<std::uint32_t>(accelerator.banks * accelerator.cores) << 8 |
         static_cast<std::uint32_t>(accelerator.product) << 28;
}

void StreamEncoder::set(Short code, std::int32_t value) {
  const auto bits = static_cast<std::uint16_t>(value);
  auto& known = short_[static_cast<std::uint16_t>(code) - Registers::kFirstShort];
  if (known == bits) return;
  known = bits;
  words_.push_back(static_cast<std::uint32_t>(code) | std::uint32_t{bits} << 16);
}
void StreamEncoder::set_long(Long code, std::uint16_t param, std::uint32_t payload) {
  auto& known = long_[static_cast<std::uint16_t>(code)];
  if (known && *known == std::pair(param, payload)) return;
  known.emplace(param, payload);
  words_.push_back(static_cast<std::uint32_t>(code) | 0x4000u | std::uint32_t{param} << 16);
  words_.push_back(payload);
}
void StreamEncoder::set(Long code, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  set_long(code, static_cast<std::uint16_t>(bits >> 32 & 0xff), static_cast<std::uint32_t>(bits));
}
void StreamEncoder::set(Long code, const Scale& scale) { set_long(code, scale.shift, scale.multiplier); }

void StreamEncoder::command(OpCode code, std::uint16_t param) {
  words_.push_back(static_cast<std::uint32_t>(code) | std::uint32_t{param} << 16);
}

void StreamEncoder::map(const FeatureMap& map, const MapRegisters& codes) {
  set(codes.region, map.region);
  for (int tile = 0; tile < 4; ++tile) set(plus(codes.base0, tile), map.base[tile]);
  set(codes.height0, map.height0 - 1);
  set(codes.height1, map.height1 - 1);
  set(codes.width0, map.width0 - 1);
  set(codes.stride_x, map.stride_x);
  set(codes.stride_y, map.stride_y);
  set(codes.stride_c, map.stride_c);
  set(codes.zero_point, map.zero_point);
}

void StreamEncoder::ifm(const Operation& op) {
  map(op.ifm, kIfm);
  set(Short::ifm_depth_m1, op.ifm.depth - 1);
  set(Short::ifm_precision, precision_field(op.ifm) | op.operand_to_scale << 8);
  set(Short::ifm_upscale, static_cast<int>(op.upscale));
}

void StreamEncoder::ifm2(const Operation& op) {
  if (!op.has_ifm2) return;
  set(Short::ifm2_broadcast, op.broadcast | (op.reversed ? 1 << 6 : 0) | (op.scalar ? 1 << 7 : 0));
  set(Short::ifm2_precision, precision_field(op.ifm2));
  if (op.scalar) {
    set(Short::ifm2_zero_point, op.ifm2.zero_point);
    return set(Short::ifm2_scalar, op.ifm2_scalar);
  }
  map(op.ifm2, kIfm2);
  set(Short::ifm2_ib_start, op.ifm2_ib_start);
}

void StreamEncoder::ofm(const Operation& op) {
  map(op.ofm, kOfm);
  set(Short::ofm_height_m1, op.ofm.height - 1);
  set(Short::ofm_width_m1, op.ofm.width - 1);
  set(Short::ofm_depth_m1, op.ofm.depth - 1);
  set(Short::ofm_precision, (op.ofm.is_signed ? 1 : 0) | width_field(op.ofm.element) << 1 |
                                layout_field(op.ofm) | (op.global_scale ? 1 << 8 : 0) |
                                static_cast<int>(op.rounding) << 14);
  set(Short::ofm_block_height_m1, op.block_height - 1);
  set(Short::ofm_block_width_m1, op.block_width - 1);
  set(Short::ofm_block_depth_m1, op.block_depth - 1);
  set(Short::ifm_ib_end, op.ib_end);
  set(Short::ab_start, op.ab_start);
  set(Short::acc_format, op.acc_format);
  set(Short::activation, op.activation.function | op.activation.clip << 12);
  set(Short::activation_min, op.activation.low);
  set(Short::activation_max, op.activation.high);
  set(Short::block_dependency, op.block_dependency);
}

void StreamEncoder::kernel(const Operation& op) {
  const Kernel& kernel = op.kernel;
  const int x = kernel.stride_x - 1, y = kernel.stride_y - 1;
  set(Short::kernel_height_m1, kernel.height - 1);
  set(Short::kernel_width_m1, kernel.width - 1);
  set(Short::kernel_stride, (x & 1) | (y & 1) << 1 | (kernel.part_kernel ? 1 << 2 : 0) |
                                (kernel.dilation_x - 1) << 3 | (kernel.dilation_y - 1) << 4 | (x >> 1) << 6 |
                                (y >> 1) << 9);
  set(Short::ifm_pad_top, kernel.top);
  set(Short::ifm_pad_left, kernel.left);
  set(Short::ifm_pad_bottom, kernel.bottom);
  set(Short::ifm_pad_right, kernel.right);
}

void StreamEncoder::streams(const Operation& op) {
  set(Short::weight_region, op.weight_region);
  set(Short::scale_region, op.scale_region);
  set(Long::weight_base, op.weights[0].base);
  set(Long::weight_length, op.weights[0].length);
  set(Long::scale_base, op.scales[0].base);
  set(Long::scale_length, op.scales[0].length);
  if (accelerator_.cores < 2) return;
  set(Short::parallel_mode, op.cores - 1);
  if (op.cores < 2) return;
  set(Long::weight1_base, op.weights[1].base);
  set(Long::weight1_length, op.weights[1].length);
  set(Long::scale1_base, op.scales[1].base);
  set(Long::scale1_length, op.scales[1].length);
}

void StreamEncoder::dma(const Dma& dma) {
  const auto place = [](const DmaPlace& at) {
    return at.region | (at.internal ? 1 << 8 : 0) | (at.dimensions - 1) << 9;
  };
  set(Short::dma_source_region, place(dma.source));
  set(Short::dma_target_region, place(dma.target));
  set(Long::dma_source, dma.source.address);
  set(Long::dma_target, dma.target.address);
  set(Long::dma_length, dma.length);
  const int dimensions =
      dma.source.dimensions > dma.target.dimensions ? dma.source.dimensions : dma.target.dimensions;
  if (dimensions > 1) {
    set(Short::dma_size0, static_cast<std::int32_t>(dma.rows));
    set(Long::dma_skip0, dma.skip0);
  }
  if (dimensions > 2) {
    set(Short::dma_size1, static_cast<std::int32_t>(dma.planes));
    set(Long::dma_skip1, dma.skip1);
  }
}

void StreamEncoder::add(const Operation& op) {
  switch (op.kind) {
    case OperationKind::conv:
    case OperationKind::depthwise:
      ifm(op);
      kernel(op);
      streams(op);
      ofm(op);
      if (op.global_scale) set(Long::ofm_scale, op.ofm_scale);
      return command(op.kind == OperationKind::conv ? OpCode::conv : OpCode::depthwise, 0);
    case OperationKind::pool:
      ifm(op);
      kernel(op);
      ofm(op);
      if (op.global_scale) set(Long::ofm_scale, op.ofm_scale);
      return command(OpCode::pool, op.mode);
    case OperationKind::elementwise:
      ifm(op);
      ifm2(op);
      ofm(op);
      set(Long::ofm_scale, op.ofm_scale);
      set(Long::opa_scale, op.opa_scale);
      set(Long::opb_scale, op.opb_scale);
      return command(OpCode::elementwise, op.mode);
    case OperationKind::dma:
      dma(op.dma);
      return command(OpCode::dma_start, op.param);
    case OperationKind::kernel_wait:
      return command(OpCode::kernel_wait, op.param);
    case OperationKind::dma_wait:
      return command(OpCode::dma_wait, op.param);
    case OperationKind::irq:
      return command(OpCode::irq, op.param);
    case OperationKind::pmu_mask:
      return command(OpCode::pmu_mask, op.param);
    default:
      return;
  }
}

std::vector<std::uint32_t> StreamEncoder::words() const {
  std::vector<std::uint32_t> all = words_;
  all.push_back(0xffff0000u);  // STOP with every bit of the interrupt mask
  return all;
}

std::vector<std::byte> StreamEncoder::payload() const {
  // The driver's actions: configuration, nothing (padding to 16 bytes), command stream.
  constexpr std::uint32_t kConfiguration = 0x00100001, kNothing = 5, kCommandStream = 2,
                          kArchitecture = 0x10060000;
  const std::vector<std::uint32_t> commands = words();
  const auto count = static_cast<std::uint32_t>(commands.size());
  std::vector<std::uint32_t> all{0x31504f43u,
                                 kConfiguration,
                                 config_word(accelerator_),
                                 kArchitecture,
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
