// What workers tell each other about streams: notes, and entries that say otherwise.
#include <algorithm>
#include <utility>

#include "services/fleet/note.h"
#include "services/fleet/work/worker_stream.h"

namespace runnel::fleet {

void Worker::note_seen(std::string_view name, const Message& message) {
  const bool repeated = message.sequence <= seen_notes_;
  seen_notes_ = std::max(seen_notes_, message.sequence);
  const auto note = read_note(message.headers);
  if (!note.ok()) {
    trouble("note", std::string(name) + ": a note that cannot be read: " + std::string(note.status().text()));
    return;
  }
  if (note->gone && !streams_.contains(name)) return;
  Stream& it = stream(name);
  it.noted = true;
  touch(it);
  // Servers may number messages differently, and old notes come again from one that was left behind: which of
  // two says more is known by the entries' own numbers.
  const bool owned = it.holding != nullptr && it.holding->owned != nullptr;
  if (note->version < it.version ||
      (owned && note->owner != options_.id && note->version <= it.holding->version)) {
    if (repeated) return;  // newer ones follow
    // Somebody was overtaken: this note is now the last one, and those who start later believe it. What is
    // to be told stays so, whatever owner it names: others may know of one between the two.
    const std::string& owner = shares_.owner(it.id);
    if (note->owner != owner && (owner == options_.id || finds())) tell(it, now_);
    return;
  }
  if (it.tell_due) it.tell_due = false, --tells_;
  it.gone = note->gone;
  it.refused = it.refused && note->version == it.version;
  owned_by(it, note->owner, note->version);
  if (!owned || note->owner == options_.id) return;
  ++facts_.lost;
  drop(it);
}

// Entries decide. Streams that are not known are found by lists.
void Worker::entry_seen(std::string_view name, const Message& message) {
  const auto at = streams_.find(name);
  if (at == streams_.end() || at->second->gone) return;
  Stream& it = *at->second;
  const auto entry = read_entry(message.headers);
  if (!entry.ok() || entry->version == 0) return;
  if (it.holding != nullptr) {
    // A copy is behind, or this entry went back: that is told when it is saved, which nothing else asks for
    // where nothing new is heard.
    Holding& holding = *it.holding;
    if (entry->version >= holding.version || holding.place != Holding::Place::here || holding.saving) return;
    holding.saved_covered = ~std::uint64_t{0};
    return touch(it);
  }
  if (entry->owner == shares_.owner(it.id)) return;
  // A copy may be behind.
  if (entry->version < it.version) return;
  ++facts_.corrected;
  owned_by(it, entry->owner, entry->version);
  tell(it, now_ + kTellForOthers);
}

// Others hear who owns it.
void Worker::tell(Stream& it, Time when) {
  it.tell_at = it.tell_due ? std::min(it.tell_at, when) : when;
  if (!std::exchange(it.tell_due, true)) ++tells_;
  touch(it);
}

void Worker::send_note(Stream& it) {
  it.tell_due = false;
  it.telling = true;
  ask(exchange_.append(options_.bucket + ".o." + it.name, Exchange::kAnyway,
                       headers_of(Note{shares_.owner(it.id), it.version, it.gone}), {}),
      Kind::note, it);
}

void Worker::note_answered(Stream& it, const Answer& answer) {
  it.telling = false;
  --tells_;
  touch(it);
  if (answer.outcome == Answer::Outcome::done)
    it.noted = true;
  else
    tell(it, now_ + kPauseAfterFailure);
}

}  // namespace runnel::fleet
