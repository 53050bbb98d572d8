// Bytes of a pipe, a serial line, a socket or a file, as they come.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "pipeline/host/live/socket.h"

namespace runnel::pipeline {

// Not thread-safe, but for the stop flag. Waits in poll(), never spins.
class ByteInput {
 public:
  // A path, or "-" for the standard input. A serial line is set to `baud` and to bytes as they are; a FIFO
  // may have no writer yet. Errors name the path.
  Status open(const std::string& path, std::int64_t baud = 115200);
  // An open socket.
  void take(Descriptor descriptor, std::string name);
  // Ends the stream: what had come until the flag was set is still given.
  void end_at(const std::atomic<bool>* stop) { stop_ = stop; }

  // Between 1 and room.size() bytes, as soon as there are some; 0: the end. Error: io_error.
  Result<std::size_t> read(std::span<std::byte> room);
  // Whether read() would not wait.
  [[nodiscard]] bool ready() const;

  // Whether the end that read() gave is that of the flag, which may lie anywhere.
  [[nodiscard]] bool was_stopped() const { return left_ >= 0; }

  [[nodiscard]] bool is_open() const { return descriptor_.is_open(); }
  [[nodiscard]] bool is_serial() const { return serial_; }
  [[nodiscard]] std::int64_t waited_nanoseconds() const { return waited_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // Until the descriptor is readable: true, or the stop flag is set: false.
  [[nodiscard]] bool wait_for(int descriptor);

 private:
  [[nodiscard]] bool stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  // How many bytes there are to read without waiting.
  [[nodiscard]] std::int64_t waiting() const;

  Descriptor descriptor_;
  std::string name_;
  const std::atomic<bool>* stop_ = nullptr;
  bool serial_ = false, file_ = false;
  std::int64_t left_ = -1;   // bytes to give once it was stopped; negative: it was not
  std::int64_t waited_ = 0;  // ns
};

}  // namespace runnel::pipeline
