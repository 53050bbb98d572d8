#include "services/fleet/send/lane.h"

#include <chrono>
#include <utility>

namespace runnel::fleet {

Result<bool> Lane::put(const Piece& piece, bool waits, const std::atomic<bool>* stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!status_.ok()) return status_;
    RUNNEL_ASSIGN(const bool taken, backlog_->put(piece));
    if (taken) {
      taken_ += piece.chunk.samples;
      run_ = piece.chunk.run;
      next_ = piece.next();
      return true;
    }
    if (!waits) {
      lost_ += piece.chunk.samples;
      return true;
    }
    if (stop != nullptr && stop->load()) return false;
    room_.wait_for(lock, std::chrono::milliseconds(100));
  }
}

void Lane::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

Result<std::optional<Piece>> Lane::front(std::size_t most) {
  const std::lock_guard lock(mutex_);
  return backlog_->front(most);
}

Status Lane::stored(std::uint64_t run, std::int64_t next, bool ended) {
  const std::lock_guard lock(mutex_);
  room_.notify_all();
  return backlog_->stored(run, next, ended);
}

Status Lane::sync() {
  const std::lock_guard lock(mutex_);
  return backlog_->sync();
}

std::pair<std::uint64_t, std::int64_t> Lane::newest() const {
  const std::lock_guard lock(mutex_);
  return {run_, next_};
}

bool Lane::done() const {
  const std::lock_guard lock(mutex_);
  return closed_ && (backlog_->empty() || !status_.ok());
}

void Lane::fail(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (status_.ok()) status_ = why;
  room_.notify_all();
}

Status Lane::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

LaneFacts Lane::facts() const {
  const std::lock_guard lock(mutex_);
  return {taken_, lost_, backlog_->samples(), backlog_->bytes(), backlog_->pieces()};
}

}  // namespace runnel::fleet
