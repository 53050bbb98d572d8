// Commands of an Ethos-U: register setters, and operations that use the registers.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string_view>

#include "npu/accelerator.h"

namespace runnel::npu {

// Commands of one word that start an operation.
enum class OpCode : std::uint16_t {
  stop = 0x000,
  irq = 0x001,
  conv = 0x002,
  depthwise = 0x003,
  pool = 0x005,
  elementwise = 0x006,
  resize = 0x007,
  dma_start = 0x010,
  dma_wait = 0x011,
  kernel_wait = 0x012,
  pmu_mask = 0x013
};

// Registers of 16 bits, set by commands of one word.
enum class Short : std::uint16_t {
  ifm_pad_top = 0x100,
  ifm_pad_left,
  ifm_pad_right,
  ifm_pad_bottom,
  ifm_depth_m1,
  ifm_precision,
  ifm_upscale = 0x107,
  ifm_broadcast,
  ifm_zero_point,
  ifm_width0_m1,
  ifm_height0_m1,
  ifm_height1_m1,
  ifm_ib_end,
  ifm_region = 0x10f,
  ofm_width_m1 = 0x111,
  ofm_height_m1,
  ofm_depth_m1,
  ofm_precision,
  ofm_block_width_m1,
  ofm_block_height_m1,
  ofm_block_depth_m1,
  ofm_zero_point,
  ofm_width0_m1 = 0x11a,
  ofm_height0_m1,
  ofm_height1_m1,
  ofm_region = 0x11f,
  kernel_width_m1 = 0x120,
  kernel_height_m1,
  kernel_stride,
  parallel_mode,
  acc_format,
  activation,
  activation_min,
  activation_max,
  weight_region,
  scale_region,
  ab_start = 0x12d,
  block_dependency = 0x12f,
  dma_source_region = 0x130,
  dma_target_region,
  dma_size0,
  dma_size1,
  ifm2_broadcast = 0x180,
  ifm2_scalar,
  ifm2_precision = 0x185,
  ifm2_zero_point = 0x189,
  ifm2_width0_m1 = 0x18a,
  ifm2_height0_m1,
  ifm2_height1_m1,
  ifm2_ib_start,
  ifm2_region = 0x18f
};

// Registers of up to 40 bits, set by commands of two words.
enum class Long : std::uint16_t {
  ifm_base0 = 0x000,
  ifm_stride_x = 0x004,
  ifm_stride_y,
  ifm_stride_c,
  ofm_base0 = 0x010,
  ofm_stride_x = 0x014,
  ofm_stride_y,
  ofm_stride_c,
  weight_base = 0x020,
  weight_length,
  scale_base,
  scale_length,
  ofm_scale,
  opa_scale,
  opb_scale,
  dma_source = 0x030,
  dma_target,
  dma_length,
  dma_skip0,
  dma_skip1,
  ifm2_base0 = 0x080,
  ifm2_stride_x = 0x084,
  ifm2_stride_y,
  ifm2_stride_c,
  weight1_base = 0x090,
  weight1_length,
  scale1_base,
  scale1_length
};

// As in the device's documents: "IFM_PAD_TOP"; empty when the product has no such register.
std::string_view short_name(Product product, std::uint16_t code) noexcept;
std::string_view long_name(Product product, std::uint16_t code) noexcept;
// "CONV", ...; empty for a code that the product does not know.
std::string_view operation_name(Product product, std::uint16_t code) noexcept;

// The registers set so far, which keep their values from operation to operation.
class Registers {
 public:
  static constexpr std::uint16_t kFirstShort = 0x100, kShorts = 0x100, kLongs = 0x101;

  // `code` as in Short and Long; for Long, the payload and the command's own 16 bits.
  void set(std::uint16_t code, std::uint16_t value) noexcept {
    short_[code - kFirstShort] = value;
    short_set_[code - kFirstShort] = true;
  }
  void set_long(std::uint16_t code, std::uint16_t param, std::uint32_t payload) noexcept {
    long_[code] = {payload, param};
    long_set_[code] = true;
  }

  [[nodiscard]] bool is_set(Short code) const noexcept {
    return short_set_[static_cast<std::uint16_t>(code) - kFirstShort];
  }
  [[nodiscard]] bool is_set(Long code) const noexcept { return long_set_[static_cast<std::uint16_t>(code)]; }
  [[nodiscard]] std::uint16_t get(Short code) const noexcept {
    return short_[static_cast<std::uint16_t>(code) - kFirstShort];
  }
  // As a length or scale, an address, a distance, and the shift beside a scale.
  [[nodiscard]] std::uint32_t payload(Long code) const noexcept { return at(code).payload; }
  [[nodiscard]] std::int64_t address(Long code) const noexcept {
    return static_cast<std::int64_t>(std::uint64_t{at(code).param & 0xffu} << 32 | at(code).payload);
  }
  [[nodiscard]] std::int64_t distance(Long code) const noexcept {
    const std::int64_t value = address(code);
    return value >= std::int64_t{1} << 39 ? value - (std::int64_t{1} << 40) : value;
  }
  [[nodiscard]] std::uint16_t param(Long code) const noexcept { return at(code).param; }

 private:
  struct LongValue {
    std::uint32_t payload = 0;
    std::uint16_t param = 0;
  };
  [[nodiscard]] const LongValue& at(Long code) const noexcept {
    return long_[static_cast<std::uint16_t>(code)];
  }

  std::array<std::uint16_t, kShorts> short_{};
  std::array<LongValue, kLongs> long_{};
  std::bitset<kShorts> short_set_;
  std::bitset<kLongs> long_set_;
};

}  // namespace runnel::npu
