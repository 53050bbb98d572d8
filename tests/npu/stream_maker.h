// Command streams written by hand: registers by name, plain weights, scale records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npu/host/segment.h"
#include "npu/operation.h"

namespace runnel::test {

// Parameters of a map; strides 0: without gaps.
struct MapSpec {
  int height = 1, width = 1, depth = 1;
  int element = 1;  // bytes
  bool is_signed = true, blocked = false;
  int zero_point = 0;
  std::int64_t base = 0;
  int region = npu::kScratch;

  [[nodiscard]] std::int64_t stride_x() const { return blocked ? 16 * element : depth * element; }
  [[nodiscard]] std::int64_t stride_y() const {
    return blocked ? std::int64_t{16} * element * width * ((depth + 15) / 16)
                   : std::int64_t{width} * depth * element;
  }
  [[nodiscard]] std::int64_t stride_c() const {
    return blocked ? std::int64_t{16} * element * width : element;
  }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(height) * static_cast<std::size_t>(stride_y());
  }
  // Byte of an element, counted from the base.
  [[nodiscard]] std::size_t at(int y, int x, int c) const {
    return static_cast<std::size_t>(
        y * stride_y() +
        (blocked ? c / 16 * stride_c() + x * 16 * element + c % 16 * element : x * stride_x() + c * element));
  }
};

class StreamMaker {
 public:
  explicit StreamMaker(std::uint32_t config = 0x1807) : config_(config) {}

  StreamMaker& set(npu::Short code, int value);
  // param: in addition to a payload of 32 bits.
  StreamMaker& set(npu::Long code, std::int64_t value, int param = -1);
  StreamMaker& op(npu::OpCode code, int param = 0);
  // Sets all registers of that map.
  StreamMaker& ifm(const MapSpec& map, int operand_to_scale = 0);
  StreamMaker& ifm2(const MapSpec& map, int broadcast = 0);
  StreamMaker& ofm(const MapSpec& map, npu::Rounding rounding = npu::Rounding::tfl, bool global_scale = false,
                   int block_depth = 16);
  StreamMaker& kernel(const npu::Kernel& kernel);
  StreamMaker& scale(npu::Long code, std::uint32_t multiplier, int shift);
  // The words so far, and STOP.
  [[nodiscard]] std::vector<std::uint32_t> words() const;
  // The driver's payload.
  [[nodiscard]] std::vector<std::byte> payload() const;

 private:
  std::uint32_t config_;
  std::vector<std::uint32_t> words_;
};

// The simplest stream: nine-bit values in sequence.
std::vector<std::byte> plain_weights(std::span<const std::int16_t> weights);
void append_scale_record(std::vector<std::byte>& to, std::int64_t bias, std::uint32_t multiplier, int shift);

// A segment over bytes that the caller keeps.
Result<npu::Segment> segment_of(std::span<const std::byte> payload, std::span<const std::byte> constants,
                                std::size_t scratch);

}  // namespace runnel::test
