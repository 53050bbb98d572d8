#include "pipeline/host/threads/block_queue.h"

#include <algorithm>

#include "base/host/wait_for_change.h"

namespace runnel::pipeline {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

Status BlockQueue::make(std::size_t depth, std::size_t block_bytes, std::uint32_t ring_after, Bell& bell,
                        std::uint32_t count) {
  bell_ = &bell;
  ring_after_ = ring_after;
  sent_ = released_ = count;
  messages_.resize(depth);
  for (Message& message : messages_) {
    message.data = static_cast<std::byte*>(memory_.allocate(std::max(block_bytes, kAlignment), kAlignment));
    if (message.data == nullptr)
      return Status(Code::out_of_memory) << "the queues between threads need " << depth << " times "
                                         << block_bytes << " bytes, more than there is";
  }
  return {};
}

Message& BlockQueue::free() noexcept {
  const std::uint32_t sent = sent_.load(std::memory_order_relaxed);
  const auto size = static_cast<std::uint32_t>(messages_.size());
  std::uint32_t released = released_.load(std::memory_order_acquire);
  if (sent - released == size) {
    announce();
    // Not woken for each message, which would cost more than many of them.
    while (sent - released > size / 2) {
      wait_for_change(released_, released, kLookFor);
      released = released_.load(std::memory_order_acquire);
    }
  }
  return messages_[sent % size];
}

void BlockQueue::send() noexcept {
  sent_.fetch_add(1, std::memory_order_release);
  if (++not_rung_ >= ring_after_) announce();
}

void BlockQueue::announce() noexcept {
  if (not_rung_ == 0) return;
  not_rung_ = 0;
  bell_->ring();
}

const Message* BlockQueue::oldest() const noexcept {
  const std::uint32_t released = released_.load(std::memory_order_relaxed);
  if (sent_.load(std::memory_order_acquire) == released) return nullptr;
  return &messages_[released % messages_.size()];
}

void BlockQueue::release() noexcept {
  // Sequentially consistent: a producer about to sleep has either seen it or is notified.
  const std::uint32_t released = released_.fetch_add(1) + 1;
  if (sent_.load(std::memory_order_acquire) - released <= messages_.size() / 2) released_.notify_all();
}

void BlockQueue::wait_until_empty() const noexcept {
  for (;;) {
    const std::uint32_t released = released_.load(std::memory_order_acquire);
    if (released == sent_.load(std::memory_order_acquire)) return;
    wait_for_change(released_, released, kLookFor);
  }
}

}  // namespace runnel::pipeline
