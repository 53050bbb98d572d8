// States of owned streams, with the entry that says whose they are.

#include "services/fleet/work/worker_stream.h"

namespace runnel::fleet {

// After the one that is known, and only one such.
std::uint64_t Worker::write(const Stream& it, const Entry& entry, const std::vector<std::byte>& data) {
  const std::string subject = entry_subject(it);
  Headers headers = headers_of(entry);
  headers.emplace_back(kMessageId, subject + ' ' + std::to_string(entry.version));
  return exchange_.append(subject, it.holding->sequence, headers,
                          {reinterpret_cast<const char*>(data.data()), data.size()});
}

void Worker::save(Stream& it, Time now, bool hand_over) {
  Holding& holding = *it.holding;
  std::vector<std::byte> data;
  auto entry = holding.owned->save(data);
  holding.save_due = false;
  holding.next_save = now + options_.save;
  if (!entry.ok()) {
    trouble("save", it.name + ": " + std::string(entry.status().text()));
    return wake(it, holding.next_save);
  }
  entry->owner = hand_over ? "" : options_.id;
  entry->version = holding.version + 1;
  holding.save = *entry;
  holding.saved_covered = entry->covered;
  holding.saving = true;
  holding.handing_over = hand_over;
  ++facts_.saves;
  facts_.saved_bytes += data.size();
  ask(write(it, *entry, data), Kind::save, it);
}

void Worker::save_answered(Stream& it, const Answer& answer) {
  Holding& holding = *it.holding;
  if (!holding.saving) return;
  switch (answer.outcome) {
    case Answer::Outcome::done:
      holding.saving = false;
      holding.sequence = answer.sequence;
      holding.version = holding.save.version;
      holding.owned->saved(holding.save);
      if (!holding.handing_over) return;
      ++facts_.handed_over;
      owned_by(it, {}, holding.version);
      tell(it, now_);
      return drop(it);
    case Answer::Outcome::outdated:
      // Another worker has it, or this save was stored although its answer was lost: then it is claimed anew.
      ++facts_.lost;
      return drop(it);
    case Answer::Outcome::failed:
      // Whether it was stored is not known: with the same condition it is either stored now or outdated.
      holding.saving = false;
      holding.save_due = true;
      holding.next_save = now_ + kPauseAfterFailure;
      return;
  }
}

}  // namespace runnel::fleet
