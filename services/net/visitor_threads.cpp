#include "services/net/visitor_threads.h"

#include <cstddef>
#include <system_error>
#include <utility>

#include "services/net/tls/no_sigpipe.h"

namespace runnel::net {

VisitorThreads::~VisitorThreads() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool VisitorThreads::take(Door::Visitor& visitor) {
  {
    const std::lock_guard lock(mutex_);
    const auto most = static_cast<std::size_t>(most_);
    if (over_ || waiting_.size() >= most) return false;
    if (static_cast<std::size_t>(idle_) <= waiting_.size() && threads_.size() < most) {
      // Without a thread for it, it waits for one of the others.
      try {
        threads_.emplace_back([this] { run(); });
      } catch (const std::system_error&) {
        if (threads_.empty()) return false;
      }
    }
    waiting_.push_back(std::move(visitor));
  }
  changed_.notify_one();
  return true;
}

void VisitorThreads::run() {
  block_sigpipe();
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    --idle_;
    if (over_) return;
    {
      Door::Visitor visitor = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      talk_(visitor);
    }
    lock.lock();
  }
}

}  // namespace runnel::net
