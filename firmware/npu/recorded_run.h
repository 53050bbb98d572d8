// What one run of an NPU did, as the desk has recorded it and a board without an NPU plays it back: shared by
// the recorder (tests/firmware/npu_test.cpp) and the image (firmware/npu_image.cpp).
#pragma once

#include <cstdint>

namespace runnel::firmware {

// In a file, little endian, one record after the other; after each the bytes of the regions that the run
// has written, in order.
struct RecordedRun {
  static constexpr std::uint32_t kMagic = 0x314e5552;   // "RUN1"
  static constexpr std::uint32_t kSilent = 0xffffffff;  // as status: the device never raises its interrupt
  static constexpr std::uint32_t kRegions = 8;

  std::uint32_t magic = kMagic;
  std::uint32_t status = 0;                        // of the device at the end (npu/device.h)
  std::uint32_t stream_bytes = 0, stream_crc = 0;  // of the command queue; CRC-32C
  std::uint32_t bytes[kRegions] = {},
                crc[kRegions] = {};  // of each region before the run; 0 bytes: no address was given
  std::uint32_t written = 0;         // bits of regions
};

}  // namespace runnel::firmware
