#include "npu/host/encoder/register_writer.h"

namespace runnel::npu {

void RegisterWriter::set(Short code, std::int32_t value) {
  const auto bits = static_cast<std::uint16_t>(value);
  auto& known = short_[static_cast<std::uint16_t>(code) - Registers::kFirstShort];
  if (known == bits) return;
  known = bits;
  words_.push_back(static_cast<std::uint32_t>(code) | std::uint32_t{bits} << 16);
}
void RegisterWriter::set_long(Long code, std::uint16_t param, std::uint32_t payload) {
  auto& known = long_[static_cast<std::uint16_t>(code)];
  if (known && *known == std::pair(param, payload)) return;
  known.emplace(param, payload);
  words_.push_back(static_cast<std::uint32_t>(code) | 0x4000u | std::uint32_t{param} << 16);
  words_.push_back(payload);
}
void RegisterWriter::set(Long code, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  set_long(code, static_cast<std::uint16_t>(bits >> 32 & 0xff), static_cast<std::uint32_t>(bits));
}

void RegisterWriter::command(OpCode code, std::uint16_t param) {
  words_.push_back(static_cast<std::uint32_t>(code) | std::uint32_t{param} << 16);
}

void RegisterWriter::map(const FeatureMap& map, const MapRegisters& codes) {
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

void RegisterWriter::window(const Operation& op) {
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

void RegisterWriter::output_block(const Operation& op) {
  set(Short::ofm_block_height_m1, op.block_height - 1);
  set(Short::ofm_block_width_m1, op.block_width - 1);
  set(Short::ofm_block_depth_m1, op.block_depth - 1);
}

}  // namespace runnel::npu
