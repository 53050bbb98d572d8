#include "services/fleet/owned_stream.h"

#include <algorithm>
#include <utility>

namespace runnel::fleet {
namespace {

constexpr std::string_view kEvent = "Runnel-Event";

// The number in the header of an event's message; 0: it has none.
std::uint64_t number_of(const Message& message) {
  const std::string* const text = find(message.headers, kEvent);
  if (text == nullptr) return 0;
  const auto value = read_number(*text, ~std::uint64_t{0});
  return value.ok() ? *value : 0;
}

}  // namespace

void ChunkCounts::add(const ChunkCounts& other) noexcept {
  heard += other.heard;
  doubled += other.doubled;
  gaps += other.gaps;
  lost += other.lost;
  set_apart += other.set_apart;
}

OwnedStream::OwnedStream(std::string name, Runner& runner, const Limits& limits)
    : name_(std::move(name)), runner_(runner), limits_(limits) {}

Status OwnedStream::resume(const Entry& entry, std::span<const std::byte> data) {
  at_ = entry;
  at_.owner.clear();
  if (entry.format && !entry.ended) {
    if (entry.graph != runner_.identity())
      return Status(Code::mismatch) << name_ << ": its state was saved with another graph or another model";
    RUNNEL_ASSIGN(run_, runner_.start(name_, *entry.format));
    RUNNEL_TRY(run_->restore(data));
  }
  at_.graph = runner_.identity();
  return {};
}

void OwnedStream::log_ends(const Message* last) {
  known_ = true;
  log_at_ = last == nullptr ? 0 : last->sequence;
  log_number_ = last == nullptr ? 0 : number_of(*last);
  while (!events_.empty() && events_.front().number <= log_number_) events_.pop_front();
}

void OwnedStream::arrives(Message message) {
  const std::uint64_t newest = waiting_.empty() ? std::max(at_.covered, hearing_) : waiting_.back().sequence;
  if (message.sequence > newest) waiting_.push_back(std::move(message));
}

Status OwnedStream::begin_run(const Chunk& chunk) {
  if (run_ != nullptr) RUNNEL_TRY(end_run());
  RUNNEL_ASSIGN(run_, runner_.start(name_, chunk.format));
  at_.format = chunk.format;
  at_.run = chunk.run;
  at_.next = 0;
  at_.ended = false;
  return {};
}

Status OwnedStream::end_run() {
  RUNNEL_TRY(run_->end());
  collect();
  run_ = nullptr;
  at_.ended = true;
  return {};
}

// Results become events with numbers; those that are in the log already are dropped.
void OwnedStream::collect() {
  const std::string lines = run_->take();
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    ++at_.events;
    if (!known_ || at_.events > log_number_) events_.push_back({at_.events, lines.substr(at, end - at)});
    at = end + 1;
  }
}

Result<OwnedStream::Next> OwnedStream::next(std::string& broken, Message& apart) {
  while (!waiting_.empty() && events_.size() < limits_.most_events) {
    Message& message = waiting_.front();
    const auto skip = [&] {
      at_.covered = message.sequence;
      waiting_.pop_front();
    };
    const auto set_apart = [&](std::string_view why) {
      broken = why;
      ++counts_.set_apart;
      at_.covered = message.sequence;
      apart = std::move(message);
      waiting_.pop_front();
      return Next{};
    };
    const auto chunk = read_chunk(message);
    if (!chunk.ok()) return set_apart(chunk.status().text());
    const bool begins = !at_.format || chunk->run > at_.run;
    if (!begins && (chunk->run < at_.run || at_.ended)) {
      ++counts_.doubled;
      skip();
      continue;
    }
    if (!begins && !(chunk->format == *at_.format))
      return set_apart("a chunk in " + text_of(chunk->format) + " in a run in " + text_of(*at_.format));
    const std::int64_t next = begins ? 0 : at_.next, missing = chunk->first - next;
    if (!begins && missing > limits_.most_gap_seconds * chunk->format.rate)
      return set_apart("a chunk that starts at sample " + std::to_string(chunk->first) + ", expected " +
                       std::to_string(next) + " and at most " + std::to_string(limits_.most_gap_seconds) +
                       " s more");
    if (begins) RUNNEL_TRY(begin_run(*chunk));
    const std::int64_t known = std::clamp<std::int64_t>(-missing, 0, chunk->samples);
    if (missing < 0) ++counts_.doubled;
    if (missing > 0) {
      run_->lose(missing);
      ++counts_.gaps;
      counts_.lost += static_cast<std::uint64_t>(missing);
      at_.next = chunk->first;
    }
    after_hearing_ = std::max(at_.next, chunk->first + chunk->samples);
    ends_ = chunk->end;
    if (known == chunk->samples) {
      hearing_ = message.sequence;
      RUNNEL_TRY(heard());
      continue;
    }
    hearing_ = message.sequence;
    return Next{
        run_.get(),
        std::span(message.data).subspan(static_cast<std::size_t>(known) * chunk->format.frame_bytes())};
  }
  return Next{};
}

Status OwnedStream::heard() {
  ++counts_.heard;
  at_.covered = std::exchange(hearing_, 0);
  at_.next = after_hearing_;
  waiting_.pop_front();
  collect();
  return std::exchange(ends_, false) ? end_run() : Status();
}

OwnedStream::Append OwnedStream::begin_append() {
  under_way_ = true;
  const Event& event = events_.front();
  return {log_at_, {{std::string(kEvent), std::to_string(event.number)}}, event.text};
}

void OwnedStream::appended(std::uint64_t sequence) {
  under_way_ = false;
  log_at_ = sequence;
  log_number_ = events_.front().number;
  events_.pop_front();
}

void OwnedStream::append_failed() { under_way_ = known_ = false; }

Result<Entry> OwnedStream::save(std::vector<std::byte>& data) {
  data.clear();
  if (run_ != nullptr) {
    RUNNEL_ASSIGN(data, run_->save());
  }
  return at_;
}

}  // namespace runnel::fleet
