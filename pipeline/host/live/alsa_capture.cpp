#include "pipeline/host/live/alsa_capture.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <system_error>

namespace runnel::pipeline {
namespace {

// Above ordinary programs, below what drivers and sound servers usually take.
constexpr int kPriority = 20;
constexpr timespec kRingIsFull{0, 2000000};

}  // namespace

Status AlsaCapture::open(const AlsaSettings& settings, double milliseconds, Overload overload) noexcept {
  overload_ = overload;
  RUNNEL_TRY(device_.open(settings));
  // Some plug-ins return nothing for a request that is larger than the buffer.
  slot_frames_ = std::min(device_.period_frames(), device_.buffer_frames());
  const double slots = std::ceil(milliseconds * 1e-3 * device_.rate() / static_cast<double>(slot_frames_));
  const std::size_t bytes = static_cast<std::size_t>(slot_frames_) * device_.frame_bytes();
  ring_.make(static_cast<std::size_t>(std::max(slots, 2.0)), bytes);
  spare_bytes_.resize(bytes);
  spare_.data = spare_bytes_.data();
  return {};
}

void AlsaCapture::become_realtime() noexcept {
  sched_param priority{};
  priority.sched_priority = kPriority;
  const bool fast = pthread_setschedparam(thread_.native_handle(), SCHED_FIFO, &priority) == 0;
  const bool locked = mlock(ring_.memory(), ring_.memory_bytes()) == 0;
  if (!fast && !locked)
    not_allowed_ =
        "capture runs without real-time priority and locked memory: the system does not allow them";
  else if (!fast)
    not_allowed_ = "capture runs without real-time priority: the system does not allow it";
  else if (!locked)
    not_allowed_ = "capture runs without locked memory: the system does not allow it";
}

Status AlsaCapture::start(std::int64_t samples, bool realtime) noexcept {
  last_sample_ = samples;
  RUNNEL_TRY(device_.start());
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return Status(Code::io_error) << "cannot start the capture thread: " << error.what();
  }
  if (realtime) become_realtime();
  return {};
}

void AlsaCapture::stop() noexcept {
  ask_to_stop();
  if (thread_.joinable()) thread_.join();
}

// Where the next samples go; nullptr: the ring is full, try again.
CaptureRing::Slot* AlsaCapture::next_slot() noexcept {
  if (CaptureRing::Slot* slot = ring_.writable(); slot != nullptr) return slot;
  if (overload_ == Overload::block) {
    nanosleep(&kRingIsFull, nullptr);
    return nullptr;
  }
  if (overload_ == Overload::drop_oldest) {
    dropped_ += ring_.drop_oldest();
    // The oldest slot cannot be dropped while it is being read.
    if (CaptureRing::Slot* slot = ring_.writable(); slot != nullptr) return slot;
  }
  return &spare_;
}

void AlsaCapture::run() noexcept {
  while (!stopping_.load(std::memory_order_relaxed) && !device_.gone()) {
    const std::int64_t wanted =
        last_sample_ > 0 ? std::min(slot_frames_, last_sample_ - device_.position()) : slot_frames_;
    if (wanted <= 0) break;
    CaptureRing::Slot* slot = next_slot();
    if (slot == nullptr) continue;
    const Result<std::int64_t> read = device_.read(slot->data, wanted);
    if (!read.ok()) {
      failure_ = read.status();
      break;
    }
    if (*read == 0) continue;
    if (slot == &spare_) {
      dropped_ += *read;
      continue;
    }
    slot->first = device_.position() - *read;
    slot->count = *read;
    ring_.put();
    if (const std::size_t filled = ring_.filled(); filled > largest_backlog_.load(std::memory_order_relaxed))
      largest_backlog_ = filled;
  }
  finished_.store(true, std::memory_order_release);
}

}  // namespace runnel::pipeline
