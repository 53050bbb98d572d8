#include "inference/host/thread_pool.h"

#include <bit>
#include <chrono>
#include <system_error>

#include "base/host/wait_for_change.h"

namespace runnel {
namespace {

// How long to look before sleeping: several times what waking up costs, and longer than most operators that
// run in one thread.
constexpr auto kLookFor = std::chrono::microseconds(50);
constexpr std::uint64_t kStop = 0xffffffff;  // as the round

std::uint64_t round_of(std::uint64_t state) noexcept { return state >> 32; }

}  // namespace

Result<std::unique_ptr<ThreadPool>> ThreadPool::make(int threads) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool());
  try {
    for (int i = 1; i < threads; ++i) pool->threads_.emplace_back([at = pool.get(), i] { at->serve(i); });
  } catch (const std::system_error& error) {
    return Status(Code::io_error) << "thread " << pool->threads_.size() + 2 << " of " << threads
                                  << " could not be started: " << error.what();
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  state_.store(kStop << 32, std::memory_order_release);
  state_.notify_all();
}

void ThreadPool::run(int parts, void (*task)(const void* argument, int part) noexcept,
                     const void* argument) noexcept {
  if (parts < 2 || parts > kMaxParts) {
    for (int part = 0; part < parts; ++part) task(argument, part);
    return;
  }
  std::uint64_t round = round_of(state_.load(std::memory_order_relaxed)) + 1;
  if (round == kStop) round = 0;
  task_.store(task, std::memory_order_relaxed);
  argument_.store(argument, std::memory_order_relaxed);
  left_.store(parts - 1, std::memory_order_relaxed);
  // Part 0 is the caller's.
  state_.store(round << 32 | ((std::uint64_t{1} << parts) - 2), std::memory_order_release);
  state_.notify_all();
  task(argument, 0);
  while (take(round, 0)) {
  }
  for (int left = left_.load(std::memory_order_acquire); left != 0;
       left = left_.load(std::memory_order_acquire))
    wait_for_change(left_, left, kLookFor);
}

// Takes a part of this round and does it; false when there is none left.
bool ThreadPool::take(std::uint64_t round, int thread) noexcept {
  std::uint64_t state = state_.load(std::memory_order_acquire);
  for (;;) {
    const auto free = static_cast<std::uint32_t>(state);
    if (round_of(state) != round || free == 0) return false;
    const int part = thread < kMaxParts && (free >> thread & 1) != 0 ? thread : std::countr_zero(free);
    const auto task = task_.load(std::memory_order_relaxed);
    const void* const argument = argument_.load(std::memory_order_relaxed);
    // Succeeds only while this part is free, so that what was read belongs to its round: no other begins
    // before all are done.
    if (!state_.compare_exchange_weak(state, state & ~(std::uint64_t{1} << part), std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      continue;
    task(argument, part);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_all();
    return true;
  }
}

void ThreadPool::serve(int thread) noexcept {
  std::uint64_t seen = 0;
  for (;;) {
    const std::uint64_t state = state_.load(std::memory_order_acquire);
    const std::uint64_t round = round_of(state);
    if (round == kStop) return;
    if (round == seen) {
      wait_for_change(state_, state, kLookFor);
      continue;
    }
    while (take(round, thread)) {
    }
    seen = round;
  }
}

}  // namespace runnel
