// A serial line of a device, of which lines of text are read.
#pragma once

#include <chrono>
#include <string>

#include "base/status.h"

namespace runnel::device {

// Whether the path names a terminal: a serial device, or a pseudo-terminal.
bool is_serial_line(const std::string& path);

// Not thread-safe.
class SerialLine {
 public:
  // Opens it for reading, raw, without flow control, with `baud` bits per second, 8 bits, no parity. Errors:
  // invalid_argument for a rate that the system does not know; io_error.
  static Result<SerialLine> open(const std::string& path, int baud);
  SerialLine(SerialLine&& other) noexcept;
  SerialLine& operator=(SerialLine&& other) noexcept;
  SerialLine(const SerialLine&) = delete;
  SerialLine& operator=(const SerialLine&) = delete;
  ~SerialLine();

  // The next line, without its end; waits for it until `deadline`. What is longer than a report's lines is
  // cut. False at the deadline, and when the line was closed (see closed()). Error: io_error.
  Result<bool> read(std::string& line, std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  explicit SerialLine(int file) : file_(file) {}
  int file_ = -1;
  bool closed_ = false;
  std::string waiting_;
};

}  // namespace runnel::device
