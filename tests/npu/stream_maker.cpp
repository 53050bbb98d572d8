#include "tests/npu/stream_maker.h"

#include <cstring>

namespace runnel::test {

using npu::Long;
using npu::Short;

StreamMaker& StreamMaker::set(Short code, int value) {
  // A U85 has no places in its own memory to set.
  const bool u85 = config_ >> 28 == static_cast<std::uint32_t>(npu::Product::u85);
  if (u85 && npu::short_name(npu::Product::u85, static_cast<std::uint16_t>(code)).empty()) return *this;
  words_.push_back(static_cast<std::uint32_t>(code) | static_cast<std::uint32_t>(value & 0xffff) << 16);
  return *this;
}
StreamMaker& StreamMaker::set(Long code, std::int64_t value, int param) {
  const auto bits = static_cast<std::uint64_t>(value);
  const std::uint32_t high =
      param >= 0 ? static_cast<std::uint32_t>(param) : static_cast<std::uint32_t>(bits >> 32 & 0xff);
  words_.push_back(static_cast<std::uint32_t>(code) | 0x4000u | high << 16);
  words_.push_back(static_cast<std::uint32_t>(bits));
  return *this;
}
StreamMaker& StreamMaker::op(npu::OpCode code, int param) {
  words_.push_back(static_cast<std::uint32_t>(code) | static_cast<std::uint32_t>(param) << 16);
  return *this;
}
StreamMaker& StreamMaker::scale(Long code, std::uint32_t multiplier, int shift) {
  return set(code, multiplier, shift);
}

namespace {
int log2_of(int element) { return element == 1 ? 0 : element == 2 ? 1 : element == 4 ? 2 : 3; }
}  // namespace

StreamMaker& StreamMaker::ifm(const MapSpec& map, int operand_to_scale) {
  set(Short::ifm_region, map.region).set(Long::ifm_base0, map.base);
  set(Short::ifm_height0_m1, map.height - 1)
      .set(Short::ifm_height1_m1, map.height - 1)
      .set(Short::ifm_width0_m1, map.width - 1)
      .set(Short::ifm_depth_m1, map.depth - 1);
  set(Long::ifm_stride_x, map.stride_x())
      .set(Long::ifm_stride_y, map.stride_y())
      .set(Long::ifm_stride_c, map.stride_c());
  set(Short::ifm_zero_point, map.zero_point).set(Short::ifm_upscale, 0);
  return set(Short::ifm_precision, (map.is_signed ? 1 : 0) | log2_of(map.element) << 2 |
                                       (map.blocked ? 1 : 0) << 6 | operand_to_scale << 8);
}
StreamMaker& StreamMaker::ifm2(const MapSpec& map, int broadcast) {
  set(Short::ifm2_region, map.region).set(Long::ifm2_base0, map.base);
  set(Short::ifm2_height0_m1, map.height - 1)
      .set(Short::ifm2_height1_m1, map.height - 1)
      .set(Short::ifm2_width0_m1, map.width - 1);
  set(Long::ifm2_stride_x, map.stride_x())
      .set(Long::ifm2_stride_y, map.stride_y())
      .set(Long::ifm2_stride_c, map.stride_c());
  set(Short::ifm2_zero_point, map.zero_point)
      .set(Short::ifm2_broadcast, broadcast)
      .set(Short::ifm2_ib_start, 10);
  return set(Short::ifm2_precision,
             (map.is_signed ? 1 : 0) | log2_of(map.element) << 2 | (map.blocked ? 1 : 0) << 6);
}
StreamMaker& StreamMaker::ofm(const MapSpec& map, npu::Rounding rounding, bool global_scale,
                              int block_depth) {
  set(Short::ofm_region, map.region).set(Long::ofm_base0, map.base);
  set(Short::ofm_height0_m1, map.height - 1)
      .set(Short::ofm_height1_m1, map.height - 1)
      .set(Short::ofm_width0_m1, map.width - 1);
  set(Short::ofm_height_m1, map.height - 1)
      .set(Short::ofm_width_m1, map.width - 1)
      .set(Short::ofm_depth_m1, map.depth - 1);
  set(Long::ofm_stride_x, map.stride_x())
      .set(Long::ofm_stride_y, map.stride_y())
      .set(Long::ofm_stride_c, map.stride_c());
  set(Short::ofm_zero_point, map.zero_point);
  set(Short::ofm_precision, (map.is_signed ? 1 : 0) | log2_of(map.element) << 1 | (map.blocked ? 1 : 0) << 6 |
                                (global_scale ? 1 : 0) << 8 | static_cast<int>(rounding) << 14);
  set(Short::ofm_block_height_m1, 1)
      .set(Short::ofm_block_width_m1, 1)
      .set(Short::ofm_block_depth_m1, block_depth - 1);
  set(Short::ifm_ib_end, 6)
      .set(Short::ab_start, 14)
      .set(Short::acc_format, 0)
      .set(Short::block_dependency, 0)
      .set(Short::parallel_mode, 0);
  const int low = map.element == 1 ? (map.is_signed ? -128 : 0) : -32768,
            high = map.element == 1 ? (map.is_signed ? 127 : 255) : 32767;
  return set(Short::activation, 0).set(Short::activation_min, low).set(Short::activation_max, high);
}
StreamMaker& StreamMaker::kernel(const npu::Kernel& kernel) {
  set(Short::kernel_height_m1, kernel.height - 1).set(Short::kernel_width_m1, kernel.width - 1);
  set(Short::ifm_pad_top, kernel.top)
      .set(Short::ifm_pad_left, kernel.left)
      .set(Short::ifm_pad_bottom, kernel.bottom)
      .set(Short::ifm_pad_right, kernel.right);
  const int x = kernel.stride_x - 1, y = kernel.stride_y - 1;
  return set(Short::kernel_stride, (x & 1) | (y & 1) << 1 | (kernel.part_kernel ? 1 : 0) << 2 |
                                       (kernel.dilation_x - 1) << 3 | (kernel.dilation_y - 1) << 4 |
                                       (x >> 1) << 6 | (y >> 1) << 9);
}

std::vector<std::uint32_t> StreamMaker::words() const {
  std::vector<std::uint32_t> all = words_;
  all.push_back(0xffff0000u);
  return all;
}
std::vector<std::byte> StreamMaker::payload() const {
  const std::vector<std::uint32_t> commands = words();
  std::vector<std::uint32_t> all{0x31504f43u, 0x00100001u, config_, 0x10060000u, 0x00000005u};
  const auto count = static_cast<std::uint32_t>(commands.size());
  all.push_back(2u | count >> 16 << 8 | count << 16);
  all.insert(all.end(), commands.begin(), commands.end());
  std::vector<std::byte> bytes(4 * all.size());
  std::memcpy(bytes.data(), all.data(), bytes.size());
  return bytes;
}

namespace {

class BitWriter {
 public:
  void put(std::uint32_t value, int count) {
    for (int i = 0; i < count; ++i, ++bit_) {
      if (bit_ % 8 == 0) bytes_.push_back(std::byte{0});
      if ((value >> i & 1) != 0) bytes_.back() |= std::byte{1} << bit_ % 8;
    }
  }
  // The end marker, and ones up to a multiple of 16 bytes.
  std::vector<std::byte> finish() {
    put(7, 3);
    while (bit_ % 8 != 0) put(1, 1);
    bytes_.resize((bytes_.size() + 15) / 16 * 16, std::byte{0xff});
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t bit_ = 0;
};

}  // namespace

std::vector<std::byte> plain_weights(std::span<const std::int16_t> weights) {
  constexpr int kBits = 9;  // magnitudes up to 255, and the sign
  BitWriter out;
  for (std::size_t first = 0; first < weights.size(); first += 32768) {
    const auto part = weights.subspan(first, std::min<std::size_t>(32768, weights.size() - first));
    out.put(6, 3);
    out.put(static_cast<std::uint32_t>(part.size() - 1), 15);
    out.put(7, 3);
    out.put(0, 1);
    out.put(1, 1);
    out.put(0, 5);
    out.put(0, 5);
    out.put(kBits - 2, 3);
    // Chunks of eight are adjacent, as their quotients take no bits.
    for (const std::int16_t weight : part)
      out.put(static_cast<std::uint32_t>(weight < 0 ? -weight : weight) << 1 | (weight < 0 ? 1u : 0u), kBits);
  }
  return out.finish();
}

void append_scale_record(std::vector<std::byte>& to, std::int64_t bias, std::uint32_t multiplier, int shift) {
  for (int i = 0; i < 5; ++i) to.push_back(static_cast<std::byte>(bias >> 8 * i & 0xff));
  for (int i = 0; i < 4; ++i) to.push_back(static_cast<std::byte>(multiplier >> 8 * i & 0xff));
  to.push_back(static_cast<std::byte>(shift));
}

Result<npu::Segment> segment_of(std::span<const std::byte> payload, std::span<const std::byte> constants,
                                std::size_t scratch) {
  RUNNEL_ASSIGN(npu::Segment segment, npu::read_segment(payload));
  segment.constants = constants;
  segment.scratch = scratch;
  return segment;
}

}  // namespace runnel::test
