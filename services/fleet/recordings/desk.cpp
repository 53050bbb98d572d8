#include "services/fleet/recordings/desk.h"

#include <algorithm>

#include "services/batch/run.h"
#include "services/fleet/recordings/queued_recording.h"

namespace runnel::fleet {
namespace {

// An acknowledgement that is not confirmed after this is said again.
constexpr std::chrono::seconds kConfirmed(1);

}  // namespace

Desk::Desk(WorkQueue& queue, batch::QueueOutput& output, DeskOptions options)
    : queue_(queue), output_(output), options_(std::move(options)) {}

Trial Desk::trial_of(const batch::Recording& recording, std::int64_t tries, Trial::State state,
                     std::string reason) const {
  return {tries, state, recording.path, options_.worker, std::move(reason)};
}

void Desk::take(QueueItem item, Time now) {
  const std::uint64_t sequence = item.sequence;
  // Given again although it is here: the queue heard nothing of it for too long, so the newest delivery
  // counts.
  if (const auto known = held_.find(sequence); known != held_.end()) {
    known->second.item = std::move(item);
    return;
  }
  for (auto* const list : {&outcomes_, &unacknowledged_}) {
    const auto known = std::find_if(list->begin(), list->end(),
                                    [&](const Finished& one) { return one.item.sequence == sequence; });
    if (known == list->end()) continue;
    known->item = std::move(item);
    known->said = Time(-1);
    return;
  }
  if (output_.has(static_cast<std::int64_t>(sequence) - 1)) {
    unacknowledged_.push_back({std::move(item), {}, {}, {}, Time(-1)});
    return;
  }
  if (held_.empty()) kept_ = now;
  std::int64_t bytes = -1;
  Result<batch::Recording> recording = recording_of(item, bytes);
  if (!recording.ok()) {
    batch::Recording none;
    none.path = "message " + std::to_string(sequence) + " of queue " + options_.queue;
    none.index = static_cast<std::int64_t>(sequence) - 1;
    const Status wrong = recording.status().at(none.path);
    set_apart(item, none, 1, std::string(wrong.text()), batch::failure_of(none, wrong));
    return;
  }
  const bool again = item.deliveries > 1;
  Held& held = held_[sequence];
  held.item = std::move(item);
  held.job.refused = check_queued(*recording, bytes, options_.inside);
  held.job.recording = *std::move(recording);
  (again ? unknown_ : ready_).push_back(sequence);
}

void Desk::work(Time now) {
  if (now - kept_ >= options_.patience / 3) {
    for (const auto& [sequence, held] : held_) queue_.keep(held.item);
    kept_ = now;
  }
  acknowledge_all(now);
  const std::size_t questions = unknown_.size();
  for (std::size_t i = 0; i < questions && !unknown_.empty(); ++i) {
    const std::size_t before = unknown_.size();
    look_at_suspect(unknown_.front());
    if (unknown_.size() == before) break;  // no answer: later
  }
  if (alone_ == 0 && !suspects_.empty() && running_ == 0 && outcomes_.empty()) start_suspect();
}

void Desk::look_at_suspect(std::uint64_t sequence) {
  const auto note = queue_.note(trial_name(sequence));
  if (!note.ok()) return;
  unknown_.pop_front();
  Held& held = held_[sequence];
  held.revision = note->revision;
  Trial last;
  last.tries = 1;  // without a note: beside others
  if (note->revision != 0) {
    if (const auto read = parse_trial(note->text); read.ok()) last = *read;
  }
  held.tries = std::max<std::int64_t>(last.tries, 0) + 1;
  if (last.tries >= options_.tries) {
    std::string reason = std::to_string(last.tries) +
                         " workers ended or were silent while they processed it, the last was " + last.worker;
    if (!last.reason.empty()) reason = last.reason;
    const QueueItem item = held.item;
    const batch::Recording recording = held.job.recording;
    held_.erase(sequence);
    set_apart(item, recording, last.tries, reason,
              batch::failure_of(recording, Status(Code::invalid_data) << recording.path << ": " << reason));
    return;
  }
  // A failure killed nobody.
  (last.state == Trial::State::failed ? ready_ : suspects_).push_back(sequence);
}

void Desk::start_suspect() {
  const std::uint64_t sequence = suspects_.front();
  Held& held = held_[sequence];
  const auto set =
      queue_.set_note(trial_name(sequence), held.revision,
                      text_of(trial_of(held.job.recording, held.tries, Trial::State::begun, {})));
  if (!set.ok()) return;  // later
  held.revision = *set;
  if (*set == 0) {
    // Another worker has it meanwhile; or it is the note of an earlier attempt whose answer was lost.
    const auto note = queue_.note(trial_name(sequence));
    if (!note.ok()) return;
    const auto trial = parse_trial(note->text);
    if (trial.ok() && trial->worker == options_.worker && trial->tries == held.tries &&
        trial->state == Trial::State::begun)
      held.revision = note->revision;
  }
  suspects_.pop_front();
  if (held.revision == 0)
    held_.erase(sequence);
  else
    alone_ = sequence;
}

bool Desk::begin(Job& job) {
  std::uint64_t sequence = alone_;
  if (alone_ != 0) {
    if (held_[alone_].running || running_ > 0) return false;
  } else {
    if (ready_.empty() || !suspects_.empty()) return false;
    sequence = ready_.front();
    ready_.pop_front();
  }
  Held& held = held_[sequence];
  held.running = true;
  ++running_;
  job = held.job;
  return true;
}

void Desk::finished(const batch::Recording& recording, batch::Outcome outcome) {
  const auto sequence = static_cast<std::uint64_t>(recording.index) + 1;
  const auto at = held_.find(sequence);
  if (at == held_.end()) return;
  const Held held = std::move(at->second);
  held_.erase(at);
  --running_;
  if (alone_ == sequence) alone_ = 0;
  if (outcome.counts.code == Code::ok) {
    outcomes_.push_back({held.item, recording, std::move(outcome), {}, Time(-1)});
    return;
  }
  const std::string reason = outcome.reason;
  if (held.tries >= options_.tries) {
    set_apart(held.item, recording, held.tries, reason, std::move(outcome));
    return;
  }
  const auto set = queue_.set_note(trial_name(sequence), held.revision,
                                   text_of(trial_of(recording, held.tries, Trial::State::failed, reason)));
  // If another worker has it meanwhile, it is that one's. Without an answer it comes again by itself.
  if (set.ok() && *set != 0) queue_.give_back(held.item, options_.give_back_after);
}

void Desk::set_apart(const QueueItem& item, const batch::Recording& recording, std::int64_t tries,
                     std::string reason, batch::Outcome outcome) {
  ++set_apart_;
  news_.push_back(recording.path + " is set apart after " + std::to_string(tries) +
                  (tries == 1 ? " try: " : " tries: ") + reason);
  outcomes_.push_back({item, recording, std::move(outcome),
                       text_of(trial_of(recording, tries, Trial::State::apart, std::move(reason))),
                       Time(-1)});
}

Status Desk::settle(Time now) {
  if (outcomes_.empty()) return {};
  for (Finished& one : outcomes_) RUNNEL_TRY(output_.append(one.recording, std::move(one.outcome)));
  RUNNEL_TRY(output_.sync());
  for (Finished& one : outcomes_) {
    one.outcome = {};
    unacknowledged_.push_back(std::move(one));
  }
  outcomes_.clear();
  acknowledge_all(now);
  return {};
}

void Desk::acknowledge_all(Time now) {
  for (const std::uint64_t sequence : queue_.confirmed())
    std::erase_if(unacknowledged_, [&](const Finished& one) { return one.item.sequence == sequence; });
  for (Finished& one : unacknowledged_) {
    if (!one.apart.empty()) {
      // Whoever notes it first.
      if (!queue_.set_note(apart_name(one.item.sequence), 0, one.apart).ok()) return;
      one.apart.clear();
    }
    if (one.said.count() >= 0 && now - one.said < kConfirmed) continue;
    queue_.acknowledge(one.item);
    one.said = now;
  }
}

void Desk::leave() {
  for (const auto& [sequence, held] : held_) {
    // It was not the recording's fault.
    if (sequence == alone_) {
      const auto set =
          queue_.set_note(trial_name(sequence), held.revision,
                          text_of(trial_of(held.job.recording, held.tries - 1, Trial::State::begun, {})));
      if (!set.ok() || *set == 0) continue;
    }
    queue_.give_back(held.item, 0);
  }
  held_.clear();
  ready_.clear();
  unknown_.clear();
  suspects_.clear();
  alone_ = 0;
  running_ = 0;
}

}  // namespace runnel::fleet
