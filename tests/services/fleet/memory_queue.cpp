#include "tests/services/fleet/memory_queue.h"

#include <algorithm>

namespace runnel::fleet::test {

bool MemoryQueueServer::done() const {
  return std::all_of(items_.begin(), items_.end(), [](const Item& one) { return one.done; });
}

std::vector<std::uint64_t> MemoryQueueServer::held_by(const MemoryQueue& client) const {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (items_[i].holder == client.number_ && !items_[i].done) out.push_back(i + 1);
  return out;
}

Status MemoryQueue::reach() {
  return server_.down_ ? Status(Code::io_error, "the server is away") : Status();
}

bool MemoryQueue::next(QueueItem& out, int) {
  if (server_.down_) {
    asked_ = 0;  // requests do not outlive their connection
    return false;
  }
  if (asked_ == 0) return false;
  // What came back before what is new.
  MemoryQueueServer::Item* found = nullptr;
  for (MemoryQueueServer::Item& one : server_.items_) {
    if (one.done || one.due > server_.now_) continue;
    if (found == nullptr || (one.deliveries > 0 && found->deliveries == 0)) found = &one;
  }
  if (found == nullptr) return false;
  --asked_;
  ++found->deliveries;
  found->holder = number_;
  found->due = server_.now_ + server_.patience_;
  out.sequence = static_cast<std::uint64_t>(found - server_.items_.data()) + 1;
  out.deliveries = found->deliveries;
  out.handle = std::to_string(found->deliveries);
  out.data = found->data;
  return true;
}

void MemoryQueue::acknowledge(const QueueItem& item) {
  if (server_.down_ || !server_.lucky(server_.faults_.lost_acknowledgement)) return;
  server_.items_[item.sequence - 1].done = true;
  if (server_.lucky(server_.faults_.lost_answer)) confirmed_.push_back(item.sequence);
}

void MemoryQueue::keep(const QueueItem& item) {
  if (server_.down_) return;
  MemoryQueueServer::Item& one = server_.items_[item.sequence - 1];
  if (item.handle == std::to_string(one.deliveries)) one.due = server_.now_ + server_.patience_;
}

void MemoryQueue::give_back(const QueueItem& item, double seconds) {
  if (server_.down_) return;
  MemoryQueueServer::Item& one = server_.items_[item.sequence - 1];
  if (item.handle != std::to_string(one.deliveries)) return;
  one.due = server_.now_ + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  one.holder = 0;
}

Result<QueueState> MemoryQueue::state() {
  RUNNEL_TRY(reach());
  QueueState out;
  for (const MemoryQueueServer::Item& one : server_.items_) {
    ++out.total;
    if (!one.done) ++(one.deliveries == 0 ? out.waiting : out.under_way);
  }
  return out;
}

Result<std::size_t> MemoryQueue::add(std::span<const QueueEntry> entries) {
  std::size_t added = 0;
  for (const QueueEntry& one : entries) {
    RUNNEL_TRY(reach());
    if (!server_.keys_.insert(one.key).second) continue;
    server_.items_.emplace_back().data = one.data;
    ++added;
    if (!server_.lucky(server_.faults_.lost_answer)) return Status(Code::io_error, "the answer was lost");
  }
  return added;
}

Result<QueueNote> MemoryQueue::note(std::string_view name) {
  RUNNEL_TRY(reach());
  const auto at = server_.notes_.find(name);
  return at == server_.notes_.end() ? QueueNote{} : at->second;
}

Result<std::uint64_t> MemoryQueue::set_note(std::string_view name, std::uint64_t after,
                                            std::string_view text) {
  RUNNEL_TRY(reach());
  QueueNote& note = server_.notes_[std::string(name)];
  if (note.revision != after) return std::uint64_t{0};
  note = {++server_.revisions_, std::string(text)};
  if (!server_.lucky(server_.faults_.lost_answer)) return Status(Code::io_error, "the answer was lost");
  return note.revision;
}

Result<std::vector<std::string>> MemoryQueue::notes(std::string_view prefix) {
  RUNNEL_TRY(reach());
  std::vector<std::string> out;
  for (const auto& [name, note] : server_.notes_)
    if (note.revision > 0 && name.starts_with(std::string(prefix) + '.')) out.push_back(name);
  return out;
}

}  // namespace runnel::fleet::test
