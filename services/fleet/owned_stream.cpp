#include "services/fleet/owned_stream.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/fleet/events/reader.h"

namespace runnel::fleet {
namespace {

constexpr std::size_t kEachMessage = 256;  // bytes beside its data

std::size_t bytes_of(const Message& message) { return message.data.size() + kEachMessage; }

// A line for those who read the events.
std::string change_text(std::string_view stream, const Change& change, std::uint32_t graph) {
  return nlohmann::ordered_json({{"type", "deployed"},
                                 {"source", stream},
                                 {"graph", digits_of(graph)},
                                 {"sample", change.sample}})
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

void ChunkCounts::add(const ChunkCounts& other) noexcept {
  heard += other.heard;
  doubled += other.doubled;
  gaps += other.gaps;
  lost += other.lost;
  doubted += other.doubted;
  believed += other.believed;
  mended += other.mended;
  set_apart += other.set_apart;
  repeated_events += other.repeated_events;
}

OwnedStream::OwnedStream(std::string name, Runners& runners, const Limits& limits)
    : name_(std::move(name)), runners_(runners), limits_(limits) {}

Status OwnedStream::resume(const Entry& entry, std::span<const std::byte> data) {
  at_ = entry;
  at_.owner.clear();
  saved_changes_ = entry.change.count;
  intends_ = entry.becomes;
  held_ = intends_.has_value();
  at_.becomes.reset();
  if (intends_ && runners_.find(*intends_) == nullptr)
    return Status(Code::mismatch) << name_ << ": graph " << digits_of(*intends_)
                                  << ", which takes over, is not here";
  if (!entry.format || entry.ended) return {};
  runner_ = runners_.find(entry.graph);
  if (runner_ == nullptr)
    return Status(Code::mismatch) << name_ << ": its state was saved with another graph or another model";
  const bool changed = entry.change.count > 0 && entry.change.run == entry.run;
  RUNNEL_ASSIGN(run_, runner_->start(name_, *entry.format, changed ? entry.change.sample : 0));
  return run_->restore(data);
}

void OwnedStream::log_ends(const Message* last) {
  known_ = true;
  log_at_ = last == nullptr ? 0 : last->sequence;
  log_number_ = last == nullptr ? 0 : event_number(last->headers);
  for (; !events_.empty() && events_.front().number <= log_number_; events_.pop_front())
    ++counts_.repeated_events;
  Coming seen;
  if (last != nullptr) {
    const std::string* const change = find(last->headers, kChangeHeader);
    const std::string* const graph = find(last->headers, kGraphHeader);
    if (change != nullptr && graph != nullptr) {
      const auto parsed = read_change(*change);
      const auto digits = read_digits(*graph);
      if (parsed.ok() && digits.ok()) seen = {*parsed, *digits};
    }
  }
  // An empty log: nothing was said yet, or it was cleared.
  if (last == nullptr || seen.change.count == at_.change.count) {
    // Another event has the number of the change: by a worker that does not know of it.
    if (held_ && at_.events < log_number_) held_ = false, intends_.reset();
    return;
  }
  const bool passed = at_.covered > seen.change.covered || at_.events >= seen.change.number;
  overtaken_ = seen.change.count != at_.change.count + 1 || passed;
  coming_ = seen;
  held_ = false;
  intends_.reset();
}

void OwnedStream::wants(std::uint32_t graph, std::optional<std::int64_t> at) {
  if (held_) return;
  if (graph == at_.graph)
    wanted_.reset();
  else
    wanted_ = Wanted{graph, at};
}

void OwnedStream::uses(std::set<std::uint32_t>& graphs) const {
  graphs.insert(at_.graph);
  if (wanted_) graphs.insert(wanted_->graph);
  if (intends_) graphs.insert(*intends_);
  if (coming_) graphs.insert(coming_->graph);
}

Change OwnedStream::change_here() const {
  return {at_.change.count + 1, at_.covered, at_.run, at_.next, at_.events + 1};
}

// Its event is in the log. What the graph before it still holds comes out; the next one begins at this
// sample.
Status OwnedStream::change_to(const Change& change, std::uint32_t graph) {
  if (!(change == change_here()))
    return Status(Code::mismatch) << name_ << ": the log has a change of the graph as event " << change.number
                                  << ", expected " << at_.events + 1;
  Runner* const after = runners_.find(graph);
  if (run_ != nullptr && after == nullptr)
    return Status(Code::mismatch) << name_ << ": graph " << digits_of(graph) << " is not here";
  at_.change = change;
  at_.events = change.number;
  at_.graph = graph;
  held_ = changing_ = false;
  intends_.reset();
  coming_.reset();
  if (wanted_ && wanted_->graph == graph) wanted_.reset();
  runner_ = after;
  if (run_ == nullptr) return {};
  RUNNEL_TRY(run_->end());
  collect();
  RUNNEL_ASSIGN(run_, runner_->start(name_, *at_.format, at_.next));
  return {};
}

void OwnedStream::arrives(Message message) {
  if (message.sequence <= newest()) {
    if (!limits_.doubts || !is_new(message)) return;
    message.sequence = newest();
  }
  waiting_bytes_ += bytes_of(message);
  waiting_.push_back(std::move(message));
}

void OwnedStream::pop_front() {
  waiting_bytes_ -= bytes_of(waiting_.front());
  waiting_.pop_front();
}

// Copies may number the same messages differently: whether one was there before is told by its samples.
bool OwnedStream::is_new(const Message& message) const {
  const auto chunk = read_chunk(message);
  if (!chunk.ok() || (waiting_.empty() && !at_.format)) return false;
  std::uint64_t run = at_.run;
  std::int64_t next = at_.next;
  bool ended = at_.ended;
  serve::SampleFormat format = at_.format.value_or(chunk->format);
  if (!waiting_.empty()) {
    const auto last = read_chunk(waiting_.back());
    if (!last.ok()) return false;
    run = last->run, next = last->first + last->samples, ended = last->end, format = last->format;
  }
  // Jumps are set apart: that happened when it was there first.
  if (chunk->run != run) return chunk->run > run;
  return !ended && chunk->format == format && chunk->first - next <= limits_.most_gap_seconds * format.rate &&
         (chunk->first + chunk->samples > next || (chunk->end && chunk->first + chunk->samples == next));
}

bool OwnedStream::doubts(const Message& message, const Chunk& chunk, bool begins, std::int64_t missing) {
  // A run that follows one which did not end may hide the rest of that one.
  const bool broken_off = begins && run_ != nullptr;
  if (!limits_.doubts || (!broken_off && (missing <= 0 || chunk.gap >= missing))) return false;
  Gap gap;
  gap.found_run = chunk.run;
  gap.found = chunk.first;
  gap.found_format = gap.format = chunk.format;
  gap.run = chunk.run;
  gap.begun = !begins || broken_off;
  if (gap.begun) {
    gap.run = at_.run;
    gap.next = at_.next;
    gap.format = *at_.format;
  }
  gap.covered = at_.covered;
  gap.sequence = message.sequence;
  if (last_doubt_ == gap) return false;
  last_doubt_ = doubted_ = gap;
  ++counts_.doubted;
  return true;
}

void OwnedStream::believe() {
  if (!doubted_) return;
  doubted_.reset();
  ++counts_.believed;
}

void OwnedStream::mend(std::vector<Message> found) {
  if (!doubted_) return;
  // They go between their neighbours, whatever their own copy calls them. Where no number is left, the one
  // before the gap is used again: who goes on from there begins with what follows them.
  const std::uint64_t last = std::max(doubted_->covered, doubted_->sequence - 1);
  doubted_.reset();
  counts_.mended += found.size();
  for (auto at = found.rbegin(); at != found.rend(); ++at) {
    at->sequence = std::clamp(at->sequence, at_.covered, last);
    waiting_bytes_ += bytes_of(*at);
    waiting_.push_front(std::move(*at));
  }
}

Status OwnedStream::begin_run(const Chunk& chunk) {
  if (run_ != nullptr) RUNNEL_TRY(end_run());
  RUNNEL_ASSIGN(run_, runner_->start(name_, chunk.format, 0));
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
    if (!known_ || at_.events > log_number_)
      events_.push_back({at_.events, lines.substr(at, end - at)});
    else
      ++counts_.repeated_events;
    at = end + 1;
  }
}

bool OwnedStream::wants_change() const {
  return wanted_ && !coming_ && runners_.find(wanted_->graph) != nullptr;
}

bool OwnedStream::ready_to_change() const { return known_ && at_.change.count == saved_changes_; }

Result<OwnedStream::Next> OwnedStream::next(std::string& broken, Message& apart) {
  while (events_.size() < limits_.most_events && !held_ && !overtaken_ && !doubted_) {
    if (coming_ && at_.covered == coming_->change.covered && at_.run == coming_->change.run &&
        at_.next == coming_->change.sample) {
      if (run_ != nullptr && runners_.find(coming_->graph) == nullptr) return Next{};  // not here yet
      RUNNEL_TRY(change_to(coming_->change, coming_->graph));
      continue;
    }
    // Asked anew after every step: the graph may have come meanwhile.
    const bool changes = wants_change();
    if (changes && (run_ == nullptr || !wanted_->at || at_.next >= *wanted_->at)) {
      // Where the log has more than was computed here, another worker went on beyond, with the graph before.
      if (ready_to_change() && at_.events >= log_number_) {
        held_ = true;
        return Next{};
      }
      // A promised sample is not passed while an answer is on its way.
      if (!ready_to_change() && run_ != nullptr && wanted_->at) return Next{};
    }
    if (waiting_.empty()) break;
    Message& message = waiting_.front();
    const auto skip = [&] {
      at_.covered = message.sequence;
      pop_front();
    };
    const auto set_apart = [&](std::string_view why) {
      broken = why;
      ++counts_.set_apart;
      at_.covered = message.sequence;
      waiting_bytes_ -= bytes_of(message);
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
    if (doubts(message, *chunk, begins, missing)) return Next{};
    if (begins) {
      // Where no run is under way, the graph is looked for only now.
      if (runner_ == nullptr) runner_ = runners_.find(at_.graph);
      if (runner_ == nullptr) return Next{};
      RUNNEL_TRY(begin_run(*chunk));
    }
    // The sample before which another graph takes over, where that is inside of this chunk.
    std::int64_t until = chunk->first + chunk->samples;
    if (coming_ && at_.covered == coming_->change.covered)
      until = std::min(until, coming_->change.sample);
    else if (changes && wanted_->at && at_.next < *wanted_->at)
      until = std::min(until, *wanted_->at);
    if (until < chunk->first) until = chunk->first;
    cut_ = until < chunk->first + chunk->samples;
    const std::int64_t known = std::clamp<std::int64_t>(-missing, 0, until - chunk->first);
    if (missing < 0 && at_.change.sample != at_.next) ++counts_.doubled;
    if (missing > 0) {
      run_->lose(missing);
      ++counts_.gaps;
      counts_.lost += static_cast<std::uint64_t>(missing);
      at_.next = chunk->first;
    }
    after_hearing_ = std::max(at_.next, until);
    ends_ = chunk->end && !cut_;
    hearing_ = message.sequence;
    if (known == until - chunk->first) {
      RUNNEL_TRY(heard());
      continue;
    }
    const std::size_t frame = chunk->format.frame_bytes();
    return Next{runner_, run_.get(),
                std::span(message.data)
                    .subspan(static_cast<std::size_t>(known) * frame,
                             static_cast<std::size_t>(until - chunk->first - known) * frame)};
  }
  return Next{};
}

Status OwnedStream::heard() {
  at_.next = after_hearing_;
  if (std::exchange(cut_, false)) {
    hearing_ = 0;
    collect();
    return {};
  }
  ++counts_.heard;
  at_.covered = std::exchange(hearing_, 0);
  pop_front();
  collect();
  return std::exchange(ends_, false) ? end_run() : Status();
}

OwnedStream::Append OwnedStream::begin_append() {
  under_way_ = true;
  const auto message = [&](std::uint64_t number, const Change& change, std::uint32_t graph,
                           std::string text) {
    Append out{log_at_, {{std::string(kEventHeader), std::to_string(number)}}, std::move(text), number};
    if (change.count == 0) return out;
    out.headers.emplace_back(kChangeHeader, text_of(change));
    out.headers.emplace_back(kGraphHeader, digits_of(graph));
    return out;
  };
  if (!events_.empty()) return message(events_.front().number, at_.change, at_.graph, events_.front().text);
  changing_ = true;
  const Change change = change_here();
  return message(change.number, change, *intends_, change_text(name_, change, *intends_));
}

Status OwnedStream::appended(std::uint64_t sequence) {
  under_way_ = false;
  log_at_ = sequence;
  if (changing_) {
    const Change change = change_here();
    log_number_ = change.number;
    return change_to(change, *intends_);
  }
  log_number_ = events_.front().number;
  events_.pop_front();
  return {};
}

void OwnedStream::append_failed() { under_way_ = known_ = changing_ = false; }

void OwnedStream::saved(const Entry& entry) {
  saved_changes_ = entry.change.count;
  if (held_ && entry.becomes) intends_ = entry.becomes;
}

Result<Entry> OwnedStream::save(std::vector<std::byte>& data) {
  data.clear();
  if (run_ != nullptr) {
    RUNNEL_ASSIGN(data, run_->save());
  }
  Entry out = at_;
  if (intends_)
    out.becomes = intends_;
  else if (held_)
    out.becomes = wanted_->graph;
  return out;
}

}  // namespace runnel::fleet
