// What a capture thread hands to the processing thread: a ring of slots without locks.
//
// One thread fills slots, one takes them. Each slot says which samples it holds, counted from the start of
// the stream, so whoever takes them sees what is missing between two slots, whatever the reason. Neither side
// ever waits for the other.
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
    std::byte* data = nullptr;  // room for what make() was told
  };

  // Allocates; before the threads start. Both at least 1.
  void make(std::size_t slots, std::size_t bytes_per_slot);
  // All memory that the capture thread touches, to lock it in place.
  [[nodiscard]] std::byte* memory() noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return bytes_.size(); }

  // The capture thread. A slot to fill; nullptr: all are taken. put() hands over the slot that writable()
  // gave.
  [[nodiscard]] Slot* writable() noexcept;
  void put() noexcept;
  // Gives up the oldest slot that nobody has taken yet: how many samples it held. 0: the other thread is
  // taking it just now.
  std::int64_t drop_oldest() noexcept;

  // The processing thread. The oldest slot; nullptr: there is none. release() gives it back, and must follow
  // soon.
  [[nodiscard]] const Slot* take() noexcept;
  void release() noexcept;

  // Slots that are filled. Either thread.
  [[nodiscard]] std::size_t filled() const noexcept;
  [[nodiscard]] std::size_t slots() const noexcept { return slots_.size(); }

 private:
  // tail_ is twice the number of slots that were taken or given up, plus 1 while the oldest one is being
  // read.
  Slot& slot(std::uint64_t number) noexcept { return slots_[number % slots_.size()]; }

  std::vector<Slot> slots_;
  std::vector<std::byte> bytes_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace runnel::pipeline
