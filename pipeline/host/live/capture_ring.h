// A lock-free ring of slots from the capture thread to the processing thread.
//
// One thread fills slots, one takes them. Each slot has the index of its first sample, counted from the start
// of the stream, so the consumer sees every gap between two slots, whatever its cause. Neither side ever
// waits for the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace runnel::pipeline {

class CaptureRing {
 public:
  struct Slot {
    std::int64_t first = 0;  // index of its first sample
    std::int64_t count = 0;
    std::byte* data = nullptr;  // room for the frames given to make()
  };

  // Allocates; call before the threads start. Both arguments at least 1.
  void make(std::size_t slots, std::size_t bytes_per_slot);
  // All memory that the capture thread touches, for mlock().
  [[nodiscard]] std::byte* memory() noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return bytes_.size(); }

  // For the capture thread. A slot to fill; nullptr: all are full. put() hands over the slot from writable().
  [[nodiscard]] Slot* writable() noexcept;
  void put() noexcept;
  // Drops the oldest slot and returns its number of samples. 0: the other thread is reading it.
  std::int64_t drop_oldest() noexcept;

  // For the processing thread. The oldest slot; nullptr: the ring is empty. release() returns it and must
  // follow soon.
  [[nodiscard]] const Slot* take() noexcept;
  void release() noexcept;

  // Number of filled slots. For either thread.
  [[nodiscard]] std::size_t filled() const noexcept;
  [[nodiscard]] std::size_t slots() const noexcept { return slots_.size(); }

 private:
  // tail_ is twice the number of slots taken or dropped, plus 1 while the oldest one is being read.
  Slot& slot(std::uint64_t number) noexcept { return slots_[number % slots_.size()]; }

  std::vector<Slot> slots_;
  std::vector<std::byte> bytes_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace runnel::pipeline
