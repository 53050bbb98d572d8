// A stream becomes this worker's, step by step, and is its no more.
#include <algorithm>
#include <utility>

#include "services/fleet/chunk.h"
#include "services/fleet/share_out.h"
#include "services/fleet/work/worker_stream.h"

namespace runnel::fleet {

void Worker::claim(Stream& it) {
  if (it.refused) return;
  if (!rules_known_ || claims_ >= options_.most_claims) {
    if (!std::exchange(it.waits_to_claim, true)) waiting_to_claim_.push_back(it.id);
    return;
  }
  if (now_ < it.not_before) return wake(it, it.not_before);
  // When it lives no more, or has handed the stream over, the shares are another matter.
  const std::string& owner = shares_.owner(it.id);
  if (!owner.empty() && owner != options_.id && beats_.lives(owner)) return;
  if (claims_ + owned_ >= options_.most_streams) {
    trouble("room", "there are more streams than the " + std::to_string(options_.most_streams) +
                        " that this worker may have: the others wait for another worker");
    return wake(it, now_ + kPauseAfterRefusal);
  }
  ++claims_;
  ++held_;
  it.holding = std::make_unique<Holding>();
  it.holding->number = ++holdings_;
  apply_rules(it);
  ask(exchange_.last(entry_subject(it)), Kind::read, it);
}

void Worker::give_up_claim(Stream& it) {
  it.holding = nullptr;
  --held_;
  --claims_;
}

void Worker::read(Stream& it, const Answer& answer) {
  Holding& holding = *it.holding;
  if (holding.place != Holding::Place::reading) return;
  const auto again = [&] {
    it.not_before = now_ + kPauseAfterFailure;
    give_up_claim(it);
  };
  if (answer.outcome != Answer::Outcome::done) return again();
  Entry entry;
  if (answer.message) {
    const auto parsed = read_entry(answer.message->headers);
    if (!parsed.ok()) {
      trouble("entry", it.name + ": an entry that cannot be read: " + std::string(parsed.status().text()));
      it.refused = true;
      return give_up_claim(it);
    }
    entry = *parsed;
    holding.data = answer.message->data;
  }
  if (it.older.distrusted(entry.version, it.version, now_)) return again();
  holding.sequence = answer.message ? answer.message->sequence : 0;
  // Versions go on from the highest that is known, also where entries have gone back.
  owned_by(it, entry.owner, std::max(entry.version, it.version));
  const bool another = !entry.owner.empty() && entry.owner != options_.id && beats_.lives(entry.owner);
  if (another || (entry.owner.empty() && !it.mine)) {
    // Its note is on its way, or was lost.
    tell(it, now_ + kTellForOthers);
    return give_up_claim(it);
  }
  // A stream that nobody has heard yet. From here on its graph is changed only by an event of its log.
  if (entry.graph == 0) entry.graph = holding.wanted;
  std::vector<std::uint32_t> needed;
  if (entry.format && !entry.ended) needed.push_back(entry.graph);
  if (entry.becomes) needed.push_back(*entry.becomes);
  for (const std::uint32_t graph : needed) {
    if (library_.find(graph) != nullptr) continue;
    if (library_.coming(graph)) {
      it.not_before = now_ + kPauseAfterFailure;
      return give_up_claim(it);
    }
    // Later it may be there.
    it.refused = !library_.makes();
    it.not_before = now_ + kPauseAfterRefusal;
    ++facts_.refused;
    trouble("graph",
            it.name + ": its state was saved with another graph or another model than this worker's");
    return give_up_claim(it);
  }
  entry.owner = options_.id;
  // One that was refused, and is not there either: servers know its name from an entry that they have lost,
  // and store no other one under it for two minutes.
  entry.version = std::max(it.version, entry.version < it.tried ? it.tried : 0) + 1;
  holding.entry = entry;
  holding.place = Holding::Place::claiming;
  ask(write(it, entry, holding.data), Kind::claim, it);
}

void Worker::claimed(Stream& it, const Answer& answer) {
  Holding& holding = *it.holding;
  if (holding.place != Holding::Place::claiming) return;
  // Answers and notes come by different ways: one may have shown already what came behind this claim.
  const bool passed = answer.outcome == Answer::Outcome::done && it.version > holding.entry.version;
  if (answer.outcome != Answer::Outcome::done || passed) {
    // What counts comes with the next reading.
    bool pause = answer.outcome == Answer::Outcome::failed;
    if (answer.outcome == Answer::Outcome::outdated) {
      pause = it.tried + 1 == holding.entry.version;
      it.tried = holding.entry.version;
    }
    it.not_before = now_ + (pause ? kPauseAfterFailure : Time(0));
    return give_up_claim(it);
  }
  holding.sequence = answer.sequence;
  holding.version = holding.entry.version;
  owned_by(it, options_.id, holding.version);
  tell(it, now_);
  OwnedStream::Limits limits = options_.limits;
  limits.doubts = true;
  holding.owned = std::make_unique<OwnedStream>(it.name, library_, limits);
  const Status status = holding.owned->resume(holding.entry, holding.data);
  holding.data = {};
  if (!status.ok()) {
    trouble("resume", std::string(status.text()));
    ++facts_.refused;
    // Its entry names this worker, so nobody else tries.
    it.not_before = now_ + kPauseWhenBroken;
    return give_up_claim(it);
  }
  ++facts_.taken;
  holding.saved_covered = holding.entry.covered;
  // Streams that were taken together are not all saved together.
  const auto part = static_cast<std::int64_t>(hash_of(it.name, options_.id) % 1000);
  holding.next_save = now_ + options_.save * (part + 1) / 1000;
  holding.place = Holding::Place::asking;
  ask_log(it);
  ask(exchange_.last(it.name), Kind::end, it);
}

void Worker::ask_log(Stream& it) { ask(exchange_.last(options_.events + '.' + it.name), Kind::log, it); }

void Worker::log_known(Stream& it, const Answer& answer) {
  Holding& holding = *it.holding;
  if (answer.outcome != Answer::Outcome::done) return ask_log(it);
  holding.owned->log_ends(answer.message ? &*answer.message : nullptr);
  if (holding.place != Holding::Place::asking) return;
  holding.place = Holding::Place::here;
  --claims_;
  ++owned_;
  follow_on(it);
}

// The last chunk in the log when the stream was taken. If its number is below what was heard, but not its
// samples, then copies number differently, and no consumer that goes on by numbers gives it.
void Worker::end_known(Stream& it, const Answer& answer) {
  if (!answer.message) return;
  Holding& holding = *it.holding;
  holding.taken_at = answer.message->sequence;
  if (holding.taken_at > holding.owned->newest()) return;
  Message message = *answer.message;
  unpack(message);
  take_chunk(it, std::move(message), holding.feed);
}

void Worker::drop(Stream& it) {
  const Holding& holding = *it.holding;
  if (holding.place == Holding::Place::here)
    --owned_;
  else
    --claims_;
  it.version = std::max(it.version, holding.version);
  gone_.add(holding.owned->counts());
  stop_following(it);
  feeds_.erase(holding.doubt_feed);
  it.holding = nullptr;
  --held_;
  shares_changed_ = true;
  touch(it);
}

}  // namespace runnel::fleet
