#include "services/page/message_log.h"

#include <algorithm>
#include <utility>

namespace runnel::page {

void MessageLog::add(std::string text) {
  {
    const std::lock_guard lock(mutex_);
    bytes_ += text.size();
    messages_.push_back({next_++, std::move(text)});
    while (bytes_ > most_bytes_ && messages_.size() > 1) {
      bytes_ -= messages_.front().text.size();
      messages_.pop_front();
    }
    for (const pipeline::Wake* const wake : wakes_) wake->up();
  }
  added_.notify_all();
}

void MessageLog::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const pipeline::Wake* const wake : wakes_) wake->up();
  }
  added_.notify_all();
}

void MessageLog::wake(const pipeline::Wake* wake) {
  const std::lock_guard lock(mutex_);
  wakes_.push_back(wake);
}

void MessageLog::forget(const pipeline::Wake* wake) {
  const std::lock_guard lock(mutex_);
  std::erase(wakes_, wake);
}

std::uint64_t MessageLog::next() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

std::vector<MessageLog::Message> MessageLog::read(std::uint64_t from, std::chrono::milliseconds patience,
                                                  bool& closed) const {
  constexpr std::size_t kMax = 64;
  std::unique_lock lock(mutex_);
  added_.wait_for(lock, patience, [&] { return closed_ || next_ > from; });
  closed = closed_ && next_ <= from;
  std::vector<Message> found;
  if (messages_.empty()) return found;
  // Numbers are consecutive.
  const std::uint64_t first = std::max(from, messages_.front().number);
  for (std::uint64_t number = first; number < next_ && found.size() < kMax; ++number)
    found.push_back(messages_[static_cast<std::size_t>(number - messages_.front().number)]);
  return found;
}

}  // namespace runnel::page
