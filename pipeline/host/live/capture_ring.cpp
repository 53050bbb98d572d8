#include "pipeline/host/live/capture_ring.h"

namespace runnel::pipeline {

void CaptureRing::make(std::size_t slots, std::size_t bytes_per_slot) {
  slots_.assign(slots, Slot());
  bytes_.assign(slots * bytes_per_slot, std::byte{0});
  for (std::size_t i = 0; i < slots; ++i) slots_[i].data = bytes_.data() + i * bytes_per_slot;
  head_ = tail_ = 0;
}

CaptureRing::Slot* CaptureRing::writable() noexcept {
  const std::uint64_t head = head_.load(std::memory_order_relaxed);
  return head - (tail_.load(std::memory_order_acquire) >> 1) < slots_.size() ? &slot(head) : nullptr;
}

void CaptureRing::put() noexcept {
  head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::int64_t CaptureRing::drop_oldest() noexcept {
  std::uint64_t tail = tail_.load(std::memory_order_acquire);
  if ((tail & 1) != 0 || tail >> 1 == head_.load(std::memory_order_relaxed)) return 0;
  const std::int64_t count = slot(tail >> 1).count;
  return tail_.compare_exchange_strong(tail, tail + 2, std::memory_order_acq_rel) ? count : 0;
}

const CaptureRing::Slot* CaptureRing::take() noexcept {
  std::uint64_t tail = tail_.load(std::memory_order_acquire);
  while (tail >> 1 != head_.load(std::memory_order_acquire)) {
    if (tail_.compare_exchange_weak(tail, tail | 1, std::memory_order_acq_rel)) return &slot(tail >> 1);
  }
  return nullptr;
}

void CaptureRing::release() noexcept {
  tail_.store((tail_.load(std::memory_order_relaxed) | 1) + 1, std::memory_order_release);
}

std::size_t CaptureRing::filled() const noexcept {
  const std::uint64_t tail = tail_.load(std::memory_order_acquire);
  return static_cast<std::size_t>(head_.load(std::memory_order_acquire) - (tail >> 1));
}

}  // namespace runnel::pipeline
