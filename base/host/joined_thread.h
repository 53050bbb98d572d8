// A thread that is waited for when its owner goes: std::jthread without its stop token, which LLVM's standard
// library has not.
#pragma once

#include <thread>
#include <type_traits>
#include <utility>

namespace runnel {

// Can be moved; one owner at a time. What the thread runs must end by itself. Starting it throws
// std::system_error where the system gives no more threads, as std::thread does.
class JoinedThread {
 public:
  JoinedThread() noexcept = default;
  template <class Function, class... Arguments>
  requires(!std::is_same_v<std::remove_cvref_t<Function>, JoinedThread>) explicit JoinedThread(
      Function&& function, Arguments&&... arguments)
      : thread_(std::forward<Function>(function), std::forward<Arguments>(arguments)...) {}
  JoinedThread(JoinedThread&&) noexcept = default;
  JoinedThread& operator=(JoinedThread&& other) noexcept {
    if (this != &other) {
      wait();
      thread_ = std::move(other.thread_);
    }
    return *this;
  }
  ~JoinedThread() { wait(); }

  // Until what it runs has ended; at once when nothing was started.
  void wait() {
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] bool joinable() const noexcept { return thread_.joinable(); }

 private:
  std::thread thread_;
};

}  // namespace runnel
