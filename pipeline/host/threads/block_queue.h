// Blocks on their way from one thread of a graph to another.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/host/heap_memory.h"
#include "base/status.h"
#include "pipeline/block.h"

namespace runnel::pipeline {

// When a thread may look at its queues: they share one, because a thread may have several.
struct Bell {
  std::atomic<std::uint32_t> rung{0};
  void ring() noexcept {
    rung.fetch_add(1);  // sequentially consistent: a thread about to sleep has either seen it or is notified
    rung.notify_one();
  }
};

// What belongs to a step of the source wherever it is computed.
struct Moment {
  std::int64_t step = 0;
  std::int64_t since = 0;    // when its samples were there: nanoseconds of the steady clock
  bool skip_models = false;  // LiveInfer::skip
};

// What the executor does to the stages after one of them, in the order in which it does it.
struct Message {
  enum class Kind : std::uint8_t {
    block,  // frames
    flush,  // the input has ended, or samples were lost after it
    gap,    // samples were lost
    reset,  // the next frame is `first`
  };
  Kind kind = Kind::block;
  Moment moment;
  std::int64_t count = 0;     // block: frames
  std::int64_t first = 0;     // block, reset
  Gap lost{};                 // gap
  std::byte* data = nullptr;  // block: room for the frames; of the queue
};

// A ring of messages with room for a block each, from one thread to one other. Memory is bounded: a producer
// that is ahead sleeps until half of the ring is free. No allocation after make().
class BlockQueue {
 public:
  // How long either side looks again before it sleeps: less than most blocks take.
  static constexpr std::chrono::microseconds kLookFor{20};

  // `depth` messages (a power of two, at least 2) of up to `block_bytes`; `bell` is rung for every
  // `ring_after` messages and outlives the queue. `count`: of messages before the first one, for tests.
  // Error: out_of_memory.
  Status make(std::size_t depth, std::size_t block_bytes, std::uint32_t ring_after, Bell& bell,
              std::uint32_t count = 0);

  // The producer: waits for a free message, to be filled in place and sent.
  [[nodiscard]] Message& free() noexcept;
  // An awake consumer sees every message at once. Waking one up costs more than many blocks, so it is left
  // asleep until there are some, until announce(), or until the ring is full.
  void send() noexcept;
  void announce() noexcept;

  // The consumer: the oldest message, null when there is none, and the end of its use.
  [[nodiscard]] const Message* oldest() const noexcept;
  void release() noexcept;

  // Any thread: waits until everything that was sent before has been released.
  void wait_until_empty() const noexcept;

 private:
  HeapMemory memory_;
  std::vector<Message> messages_;  // message i at i % depth, also when the counts overflow
  Bell* bell_ = nullptr;
  std::uint32_t ring_after_ = 1, not_rung_ = 0;  // the producer's
  // Counts, modulo 2^32, on cache lines of their own.
  alignas(64) std::atomic<std::uint32_t> sent_{0};
  alignas(64) std::atomic<std::uint32_t> released_{0};
};

}  // namespace runnel::pipeline
