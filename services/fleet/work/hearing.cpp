// An owned stream: its chunks, their gaps, and its events.
#include <algorithm>
#include <set>
#include <utility>

#include "services/fleet/work/worker_stream.h"

namespace runnel::fleet {
namespace {

// Streams of one graph are stepped together.
void hear_together(std::vector<Runner::Turn>& turns, const std::vector<Runner*>& runners) {
  if (std::all_of(runners.begin(), runners.end(), [&](const Runner* one) { return one == runners[0]; }))
    return runners[0]->hear(turns);
  const std::set<Runner*> different(runners.begin(), runners.end());
  for (Runner* const runner : different) {
    std::vector<Runner::Turn> its;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (runners[i] != runner) continue;
      its.push_back(turns[i]);
      places.push_back(i);
    }
    runner->hear(its);
    for (std::size_t i = 0; i < its.size(); ++i) turns[places[i]] = std::move(its[i]);
  }
}

}  // namespace

void Worker::take_chunk(Stream& it, Message message, std::uint64_t feed) {
  Holding& holding = *it.holding;
  if (feed != holding.feed) {
    if (holding.doubt != nullptr) holding.doubt->delivered(std::move(message), feed, now_);
    return;
  }
  OwnedStream& owned = *holding.owned;
  const std::size_t before = owned.waiting();
  owned.arrives(std::move(message));
  if (options_.clock && owned.waiting() > before) holding.arrivals.push_back(options_.clock());
  // Its log keeps the rest.
  if (owned.waiting_bytes() > options_.most_waiting_bytes) stop_following(it);
}

// Its chunks come from behind the newest one that is here, wherever the servers put the reading.
void Worker::follow_on(Stream& it) {
  stop_following(it);
  Holding& holding = *it.holding;
  holding.feed = exchange_.follow(it.name, holding.owned->newest() + 1);
  feeds_[holding.feed] = it.id;
}

void Worker::stop_following(Stream& it) {
  Holding& holding = *it.holding;
  if (holding.feed == 0) return;
  exchange_.leave(holding.feed);
  feeds_.erase(std::exchange(holding.feed, 0));
}

// While samples are missing that another copy of its log may have.
void Worker::look_into_doubt(Stream& it) {
  Holding& holding = *it.holding;
  OwnedStream& owned = *holding.owned;
  if (!owned.doubted()) return;
  if (holding.doubt == nullptr) holding.doubt = std::make_unique<Doubt>(exchange_, it.name, *owned.doubted());
  Doubt& doubt = *holding.doubt;
  doubt.work(now_);
  if (doubt.feed() != holding.doubt_feed) {
    feeds_.erase(holding.doubt_feed);
    holding.doubt_feed = doubt.feed();
    if (holding.doubt_feed != 0) feeds_[holding.doubt_feed] = it.id;
  }
  if (doubt.request() != std::exchange(holding.doubt_request, doubt.request()) && doubt.request() != 0)
    ask(doubt.request(), Kind::doubt, it);
  if (!doubt.over()) {
    if (std::exchange(holding.doubt_due, doubt.due()) != doubt.due()) wake(it, doubt.due());
    return;
  }
  std::vector<Message> found = doubt.take();
  holding.doubt = nullptr;
  holding.doubt_due = Time(0);
  touch(it);
  if (found.empty()) return owned.believe();
  trouble("copy", it.name + ": " + std::to_string(found.size()) +
                      " chunks that are missing in one copy of its log were read from another one");
  if (options_.clock) holding.arrivals.insert(holding.arrivals.begin(), found.size(), options_.clock());
  owned.mend(std::move(found));
  // The copy that lacked them may lack more.
  if (holding.feed != 0) follow_on(it);
}

void Worker::event_answered(Stream& it, const Answer& answer) {
  Holding& holding = *it.holding;
  if (answer.outcome == Answer::Outcome::done) {
    ++facts_.events;
    const std::uint64_t before = holding.owned->entry().change.count;
    if (const Status status = holding.owned->appended(answer.sequence); !status.ok()) broke(it, status);
    facts_.changed += holding.owned->entry().change.count - before;
    return;
  }
  holding.owned->append_failed();
  ask_log(it);
}

// It goes on from its saved state after a while, here or elsewhere: what broke it may be over.
void Worker::broke(Stream& it, const Status& status) {
  trouble("run " + it.name, it.name + ": " + std::string(status.text()));
  it.holding->broken = true;
  it.holding->mended = now_ + kPauseWhenBroken;
  wake(it, it.holding->mended);
}

bool Worker::hear(const std::vector<Id>& due) {
  std::vector<Runner::Turn> turns;
  std::vector<Stream*> whose;
  std::vector<Runner*> runners;
  for (const Id id : due) {
    Stream* const it = by_id_[id];
    if (it == nullptr || it->holding == nullptr || leaving_ || !it->mine || it->gone) continue;
    Holding& holding = *it->holding;
    if (holding.place != Holding::Place::here || holding.handing_over || holding.save_due || holding.broken)
      continue;
    // Before the first chunk, which may have the sample from which another graph hears.
    holding.owned->wants(holding.wanted, holding.wanted_at);
    if (holding.owned->idle()) continue;
    std::string why;
    Message apart;
    auto next = holding.owned->next(why, apart);
    if (!why.empty()) {
      trouble("chunk " + it->name, it->name + ", message " + std::to_string(apart.sequence) + ": " + why);
      Headers headers = apart.headers;
      headers.emplace_back("Runnel-Reason", why);
      headers.emplace_back(kMessageId, it->name + ' ' + std::to_string(apart.sequence));
      ask(exchange_.append(options_.apart + '.' + it->name, Exchange::kAnyway, headers,
                           {reinterpret_cast<const char*>(apart.data.data()), apart.data.size()}),
          Kind::other);
    }
    if (!next.ok()) {
      broke(*it, next.status());
      continue;
    }
    // What it waits for may come without a word, as a graph does.
    if (!holding.owned->idle()) touch(*it);
    if (next->run == nullptr) continue;
    turns.push_back({next->run, next->samples, {}});
    whose.push_back(it);
    runners.push_back(next->runner);
  }
  if (turns.empty()) return false;
  hear_together(turns, runners);
  const Time now = options_.clock ? options_.clock() : Time(0);
  bool more = false;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    Holding& holding = *whose[i]->holding;
    Status status = turns[i].status;
    const std::uint64_t before = holding.owned->entry().covered;
    if (status.ok()) status = holding.owned->heard();
    if (!status.ok()) broke(*whose[i], status);
    if (const std::uint64_t covered = holding.owned->entry().covered;
        covered > before && covered <= holding.taken_at)
      ++facts_.behind;
    for (; holding.arrivals.size() > holding.owned->waiting(); holding.arrivals.pop_front())
      lateness_.push_back(now - holding.arrivals.front());
    more = more || holding.owned->waiting() > 0;
  }
  return more;
}

void Worker::advance(Stream& it, Time now) {
  if (it.tell_due && !it.telling) now >= it.tell_at ? send_note(it) : wake(it, it.tell_at);
  if (it.holding == nullptr) {
    if (it.gone) {
      if (!it.tell_due && !it.telling) forget(it);
      return;
    }
    // One that names this worker, which does not have it: a claim whose answer was lost. Nobody else takes it
    // while this worker lives; should it be another's, it is handed over.
    if ((it.mine || shares_.owner(it.id) == options_.id) && !leaving_) claim(it);
    return;
  }
  Holding& holding = *it.holding;
  if (holding.place != Holding::Place::here) return;
  // Its state is between two chunks, so it is not saved.
  if (holding.broken) {
    if (leaving_ || now >= holding.mended) drop(it);
    return;
  }
  OwnedStream& owned = *holding.owned;
  if (owned.overtaken()) {
    // It is claimed again, and goes on from the saved state.
    ++facts_.lost;
    trouble("overtaken", it.name + ": another worker went further: it goes on from the last saved state");
    it.not_before = now + kPauseAfterFailure;
    return drop(it);
  }
  if (owned.wants_append()) {
    OwnedStream::Append append = owned.begin_append();
    const std::string subject = options_.events + '.' + it.name;
    append.headers.emplace_back(kMessageId, subject + ' ' + std::to_string(append.number));
    ask(exchange_.append(subject, append.after, append.headers, append.data), Kind::event, it);
  }
  look_into_doubt(it);
  if (holding.feed == 0 && owned.waiting_bytes() < options_.most_waiting_bytes / 2) follow_on(it);
  if (!owned.idle()) touch(it);
  if (holding.saving) return;
  const bool hand_over = leaving_ || !it.mine || it.gone;
  if (!holding.save_due && owned.wants_save()) {
    holding.save_due = true;
    holding.next_save = now;
  }
  if (!hand_over && now >= holding.next_save &&
      (holding.save_due || owned.entry().covered != holding.saved_covered))
    holding.save_due = true;
  if ((hand_over || (holding.save_due && now >= holding.next_save)) && owned.settled())
    return save(it, now, hand_over);
  const bool later = holding.save_due || owned.entry().covered != holding.saved_covered;
  if (later && now < holding.next_save && holding.woken != holding.next_save)
    wake(it, holding.woken = holding.next_save);
}

}  // namespace runnel::fleet
