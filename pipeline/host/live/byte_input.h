// Bytes of a pipe, a serial line, a socket or a file, as they arrive.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "pipeline/host/live/socket.h"

namespace runnel::pipeline {

// Not thread-safe, except for the stop flag. Waits in poll(), never spins.
class ByteInput {
 public:
  // A path, or "-" for the standard input. A serial line is set to `baud` and raw mode; a FIFO may have no
  // writer yet. Errors name the path.
  Status open(const std::string& path, std::int64_t baud = 115200);
  // An open socket.
  void take(Descriptor descriptor, std::string name);
  // The flag ends the stream: bytes that arrived before it was set are still returned.
  void end_at(const std::atomic<bool>* stop) { stop_ = stop; }

  // Reads between 1 and room.size() bytes, as soon as there are some; 0: the end. Error: io_error.
  Result<std::size_t> read(std::span<std::byte> room);
  // Whether read() would not wait.
  [[nodiscard]] bool ready() const;

  // Whether the stop flag has ended the stream, which may then end within a frame.
  [[nodiscard]] bool was_stopped() const { return left_ >= 0; }

  [[nodiscard]] bool is_open() const { return descriptor_.is_open(); }
  [[nodiscard]] bool is_serial() const { return serial_; }
  [[nodiscard]] std::int64_t waited_nanoseconds() const { return waited_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // Waits. True: the descriptor is readable; false: the stop flag is set.
  [[nodiscard]] bool wait_for(int descriptor);

 private:
  [[nodiscard]] bool stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  // The number of bytes that can be read without waiting.
  [[nodiscard]] std::int64_t waiting() const;

  Descriptor descriptor_;
  std::string name_;
  const std::atomic<bool>* stop_ = nullptr;
  bool serial_ = false, file_ = false;
  std::int64_t left_ = -1;   // bytes left to return after a stop; negative: not stopped
  std::int64_t waited_ = 0;  // ns
};

}  // namespace runnel::pipeline
