// Recorded run of an NPU, recorded on a host and played back on a board without an NPU: shared by the
// recorder (tests/firmware/npu_test.cpp) and the images (played_device.h).
#pragma once

#include <cstdint>

namespace runnel::firmware {

// The head of the file: which device it was.
struct RecordedRuns {
  static constexpr std::uint32_t kMagic = 0x3255504e;  // "NPU2"
  std::uint32_t magic = kMagic, config = 0, id = 0;
};

// File format: little-endian records, each followed by the bytes of the regions that the run wrote, in order.
struct RecordedRun {
  static constexpr std::uint32_t kMagic = 0x314e5552;   // "RUN1"
  static constexpr std::uint32_t kSilent = 0xffffffff;  // status of a device that never raises its interrupt
  static constexpr std::uint32_t kRegions = 8;

  std::uint32_t magic = kMagic;
  std::uint32_t status = 0;                        // of the device at the end (npu/device.h)
  std::uint32_t stream_bytes = 0, stream_crc = 0;  // of the command queue; CRC-32C
  std::uint32_t bytes[kRegions] = {},
                crc[kRegions] = {};  // of each region before the run; 0 bytes: no address was given
  std::uint32_t written = 0;         // bits of regions
  std::uint32_t cycles = 0;          // of its counter
  std::uint32_t events[4] = {};      // of its other counters
};

}  // namespace runnel::firmware
