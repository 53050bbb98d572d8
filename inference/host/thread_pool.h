// Threads that share the heavy operators of one runner.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/host/joined_thread.h"
#include "base/status.h"
#include "inference/workers.h"

namespace runnel {

// A thread that finds nothing to do polls for some microseconds, because the next operator follows at once,
// and then sleeps: an idle pool takes no processor time. The calling thread works too and takes over
// whatever no other has begun.
class ThreadPool final : public Workers {
 public:
  static constexpr int kMaxParts = 32;

  // `threads`: at least 1, the calling thread included. Fails with `io_error` when the system gives no
  // more threads.
  static Result<std::unique_ptr<ThreadPool>> make(int threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  // One thread at a time may call this. Thread i takes part i when it is free, and any other part after that:
  // what a thread wrote in one operator is in its cache when it reads on in the next one. More than
  // kMaxParts parts run in the calling thread.
  void run(int parts, void (*task)(const void* argument, int part) noexcept,
           const void* argument) noexcept override;

 private:
  ThreadPool() = default;
  void serve(int thread) noexcept;
  bool take(std::uint64_t round, int thread) noexcept;

  // The round in the upper half, a bit for each free part in the lower one: a part is taken from exactly the
  // round that was looked at. On cache lines of their own: each is polled by one side while the other writes.
  alignas(64) std::atomic<std::uint64_t> state_{0};
  alignas(64) std::atomic<int> left_{0};  // parts of this round that others have to finish
  // Of the current round. Written only while no part is free. Atomic, because a thread may read them then;
  // it fails to take a part.
  alignas(64) std::atomic<void (*)(const void*, int) noexcept> task_{nullptr};
  std::atomic<const void*> argument_{nullptr};
  std::vector<JoinedThread> threads_;
};

}  // namespace runnel
