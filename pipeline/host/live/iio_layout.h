// The byte layout of the scans of a Linux industrial I/O sensor, read from its folder in sysfs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

// One value of a scan. Its format is "[le|be]:[s|u]BITS/STORAGEBITS>>SHIFT"
// (Documentation/ABI/testing/sysfs-bus-iio of Linux).
struct IioElement {
  std::string name;                  // "in_accel_x"
  std::int64_t index = 0;            // its order
  std::size_t place = 0, bytes = 0;  // in the scan
  int bits = 0, shift = 0;
  bool big_endian = false, is_signed = false;
  double scale = 1,
         offset = 0;  // the value is (raw + offset) * scale, in the units of the kernel's interface

  // The integer of this element in `scan`, a whole scan; unsigned 64-bit values keep their bits.
  [[nodiscard]] std::int64_t raw(std::span<const std::byte> scan) const noexcept;
  [[nodiscard]] double value(std::span<const std::byte> scan) const noexcept;
};

struct IioLayout {
  std::vector<IioElement> channels;  // in the order of the scan
  IioElement time;                   // nanoseconds; bytes == 0: scans have no time stamp
  std::size_t scan_bytes = 0;
  double rate = 0;               // Hz; 0: unknown
  std::filesystem::path enable;  // the file that turns the buffer on with "1" and off with "0"
};

// Reads the layout of the enabled elements. Error: not_found (no such device, or one without buffer),
// invalid_data (no element but the time stamp is enabled; an unexpected value in a file, which is named),
// unsupported (other formats, more than 64 bits).
Result<IioLayout> read_iio_layout(const std::filesystem::path& device);

}  // namespace runnel::pipeline
