#include "services/fleet/worker.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "services/fleet/chunk.h"
#include "services/fleet/doubt.h"
#include "services/fleet/entry.h"
#include "services/fleet/note.h"
#include "services/fleet/share_out.h"

namespace runnel::fleet {
namespace {

constexpr std::string_view kLeaving = "Runnel-Leaving", kJoining = "Runnel-Joining";
constexpr Time kQuiet = std::chrono::minutes(1);
// Others are told what a stream's entry says if its owner has not done so by then.
constexpr Time kTellForOthers = std::chrono::seconds(1);
// For each stream of the fleet: a list of all has megabytes, and a sharing looks at many.
constexpr Time kListEach = std::chrono::microseconds(50), kShareEach = std::chrono::microseconds(1);
// One worker looks for new streams; where there are many, the others do so rarely.
constexpr int kRarely = 30;
// A list may miss what comes while it is made, and those of a server that was left behind what came later.
constexpr std::uint8_t kAbsentLists = 3;
constexpr Time kAbsent = Older::kPatience;
constexpr Time kPauseAfterFailure = std::chrono::milliseconds(200),
               kPauseAfterRefusal = std::chrono::seconds(1), kPauseWhenBroken = std::chrono::seconds(30);

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

// While it is claimed, or owned.
struct Worker::Holding {
  enum class Place : std::uint8_t {
    reading,   // its entry, to claim it
    claiming,  // the entry with this owner is under way
    asking,    // for the end of the log of events
    here,      // owned
  };
  std::uint64_t number = 0;  // of all that this worker had
  Place place = Place::reading;
  std::uint64_t sequence = 0;   // of the newest entry, by the server that said so: for conditions
  std::uint64_t version = 0;    // and the entry's own number
  Entry entry;                  // with which it was claimed
  std::vector<std::byte> data;  // of this entry
  std::unique_ptr<OwnedStream> owned;
  std::uint64_t feed = 0;                           // 0: no more chunks are taken now
  std::unique_ptr<Doubt> doubt;                     // of a gap in the stream
  std::uint64_t doubt_request = 0, doubt_feed = 0;  // as far as this worker knows
  Time doubt_due{0};
  std::uint64_t taken_at = 0;  // sequence of the last chunk in the log at that time, once it is known
  std::deque<Time> arrivals;   // of the chunks that wait
  bool saving = false, handing_over = false, save_due = false, broken = false;
  Time mended{0};  // broken: when it is tried again
  Entry save;      // under way
  // By the rules:
  std::uint32_t wanted = 0;
  std::optional<std::int64_t> wanted_at;
  Time next_save{0}, woken{0};
  std::uint64_t saved_covered = 0;
};

// Small, because every worker has one for each stream of the fleet.
struct Worker::Stream {
  explicit Stream(const std::string& its) : name(its) {}
  const std::string& name;
  Id id = 0;
  // Of the entry or note that said whose it is. Owners write newer entries all the time.
  std::uint64_t version = 0;
  std::uint64_t tried = 0;  // the version of an entry that was refused
  std::uint64_t sharing = 0, list = 0;
  Time not_before{0}, tell_at{0};
  Older older;              // answers about the entry
  Time absent_since{0};     // the first list without it
  std::uint8_t absent = 0;  // such lists
  bool mine = false;        // by the last sharing
  bool refused = false;     // its entry cannot be used here
  bool gone = false;        // its log is empty
  bool noted = false;       // it has a note
  bool tell_due = false, telling = false, touched = false, waits_to_claim = false;
  std::unique_ptr<Holding> holding;
};

Worker::Worker(Exchange& exchange, Runner& runner, WorkerOptions options, MakeRunner make)
    : exchange_(exchange),
      runner_(runner),
      options_(std::move(options)),
      library_(exchange, runner, options_.bucket, std::move(make)),
      beats_(options_.id, options_.missed),
      look_(exchange, options_.bucket + ".s.>", options_.look, hash_of(options_.id, options_.bucket)),
      shares_(options_.id) {
  watch_rules_ = exchange_.watch(rules_subject(options_.bucket));
  watch_notes_ = exchange_.watch(options_.bucket + ".o.>");
  watch_beats_ = exchange_.watch(options_.bucket + ".w.>");
}

Worker::~Worker() = default;

void Worker::ask(std::uint64_t request, Kind kind) { requests_[request] = {kind, 0, 0}; }
void Worker::ask(std::uint64_t request, Kind kind, const Stream& it) {
  requests_[request] = {kind, it.id, it.holding == nullptr ? 0 : it.holding->number};
}

std::string Worker::entry_subject(const Stream& it) const { return options_.bucket + ".s." + it.name; }

Worker::Stream& Worker::stream(std::string_view name) {
  if (const auto at = streams_.find(name); at != streams_.end()) return *at->second;
  const auto at = streams_.emplace(std::string(name), nullptr).first;
  at->second = std::make_unique<Stream>(at->first);
  Stream& out = *at->second;
  out.id = shares_.add(at->first);
  if (by_id_.size() <= out.id) by_id_.resize(out.id + 1);
  by_id_[out.id] = &out;
  shares_changed_ = true;
  return out;
}

void Worker::forget(Stream& it) {
  by_id_[it.id] = nullptr;
  shares_.remove(it.id);
  shares_changed_ = true;
  streams_.erase(streams_.find(it.name));
}

void Worker::owned_by(Stream& it, std::string_view owner, std::uint64_t version) {
  it.version = version;
  if (shares_.owner(it.id) == owner) return;
  shares_.set_owner(it.id, owner);
  shares_changed_ = true;
}

void Worker::touch(Stream& it) {
  if (std::exchange(it.touched, true)) return;
  touched_.push_back(it.id);
}

void Worker::wake(const Stream& it, Time when) { due_.emplace(when, it.id); }

void Worker::trouble(std::string_view kind, std::string sentence) {
  const auto [at, fresh] = told_.try_emplace(std::string(kind), now_);
  if (!fresh) {
    if (now_ - at->second < kQuiet) return;
    at->second = now_;
  }
  news_.push_back(std::move(sentence));
}

void Worker::happened(Happening happening) {
  if (auto* const answer = std::get_if<Answer>(&happening); answer != nullptr)
    answered(*answer);
  else if (auto* const delivery = std::get_if<Delivery>(&happening); delivery != nullptr)
    delivered(*std::move(delivery));
}

void Worker::delivered(Delivery delivery) {
  Message& message = delivery.message;
  const std::uint64_t feed = delivery.feed;
  if (const auto its = feeds_.find(feed); its != feeds_.end()) {
    Stream& it = at(its->second);
    take_chunk(it, std::move(message), feed);
    return touch(it);
  }
  const std::string_view subject = message.subject;
  // Before a name are the bucket, a dot, a letter, and another dot.
  const std::size_t before = options_.bucket.size() + 3;
  // A feed that begins anew may repeat: what was seen before says nothing about now.
  if (feed == watch_rules_) {
    if (message.sequence <= rules_sequence_) return;
    rules_sequence_ = message.sequence;
    rules_due_ = true;
  } else if (subject.size() <= before) {
    return;
  } else if (feed == watch_beats_) {
    if (message.sequence <= seen_beats_) return;
    seen_beats_ = message.sequence;
    const Beats::Kind kind = find(message.headers, kLeaving) != nullptr   ? Beats::Kind::leaving
                             : find(message.headers, kJoining) != nullptr ? Beats::Kind::joining
                                                                          : Beats::Kind::living;
    const bool joined = beats_.joined();
    if (beats_.heard(subject.substr(before), kind, message.sequence)) living_changed_ = true;
    if (!joined && beats_.joined()) next_beat_ = now_;
  } else if (feed == watch_notes_) {
    note_seen(subject.substr(before), message);
  } else if (feed == look_.feed()) {
    look_.delivered(delivery.waiting, now_);
    entry_seen(subject.substr(before), message);
  }
}

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

void Worker::apply_rules(Stream& it) const {
  const Rule* const rule = rules_.find(it.name);
  it.holding->wanted = rule == nullptr ? runner_.identity() : rule->graph;
  it.holding->wanted_at = rule == nullptr ? std::nullopt : rule->at;
}

void Worker::rules_read(const Answer& answer) {
  rules_asked_ = false;
  const std::uint64_t found = answer.message ? answer.message->sequence : 0;
  if (answer.outcome != Answer::Outcome::done || older_rules_.distrusted(found, rules_sequence_, now_)) {
    rules_due_ = true;
    next_rules_ = now_ + kPauseAfterFailure;
    return;
  }
  rules_known_ = true;
  rules_sequence_ = found;
  if (!answer.message) return;
  const std::vector<std::byte>& data = answer.message->data;
  auto rules = read_rules({reinterpret_cast<const char*>(data.data()), data.size()});
  if (!rules.ok())
    return trouble("rules", "rules that cannot be read: " + std::string(rules.status().text()));
  rules_ = *std::move(rules);
  std::set<std::uint32_t> used;
  for (const Rule& rule : rules_.now) {
    used.insert(rule.graph);
    library_.find(rule.graph);  // so that it is here before it is needed
  }
  for (Stream* const it : by_id_) {
    if (it == nullptr) continue;
    if (std::exchange(it->refused, false)) touch(*it);
    if (it->holding == nullptr) continue;
    apply_rules(*it);
    touch(*it);
    used.insert(it->holding->entry.graph);
    if (it->holding->entry.becomes) used.insert(*it->holding->entry.becomes);
    if (it->holding->owned != nullptr) it->holding->owned->uses(used);
  }
  library_.keep(used);
}

void Worker::answered(const Answer& answer) {
  if (library_.answered(answer)) return;
  const auto found = requests_.find(answer.request);
  if (found == requests_.end()) return;
  const Request request = found->second;
  requests_.erase(found);
  if (answer.outcome == Answer::Outcome::failed)
    trouble("exchange", "the exchange: " + answer.why + "; what was under way is tried again");
  if (request.kind == Kind::beat) beating_ = false;
  if (request.kind == Kind::rules) return rules_read(answer);
  if (request.kind == Kind::list) {
    listing_ = false;
    if (answer.outcome == Answer::Outcome::done) listed(answer.subjects);
    return;
  }
  if (request.kind == Kind::beat || request.kind == Kind::other || by_id_[request.stream] == nullptr) return;
  Stream& it = at(request.stream);
  if (request.kind == Kind::note) return note_answered(it, answer);
  if (it.holding == nullptr || it.holding->number != request.holding) return;
  touch(it);
  switch (request.kind) {
    case Kind::read:
      return read(it, answer);
    case Kind::claim:
      return claimed(it, answer);
    case Kind::log:
      return log_known(it, answer);
    case Kind::end:
      return end_known(it, answer);
    case Kind::event:
      return event_answered(it, answer);
    case Kind::save:
      return save_answered(it, answer);
    case Kind::doubt:
      if (it.holding->doubt != nullptr) it.holding->doubt->answered(answer, now_);
      return;
    default:
      return;
  }
}

void Worker::beat(Time now) {
  // One at a time: those that queue up while the exchange is away would come back all at once, and age
  // others.
  if (beating_ || now < next_beat_) return;
  beating_ = true;
  next_beat_ = now + options_.beat;
  Headers headers;
  if (!beats_.joined()) headers.emplace_back(kJoining, "1");
  ask(exchange_.append(options_.bucket + ".w." + options_.id, Exchange::kAnyway, headers, {}), Kind::beat);
}

// One does for all what one can do: the first by name.
bool Worker::finds() const { return !living_.empty() && living_.front() == options_.id; }

void Worker::find_streams(Time now) {
  if (listing_ || leaving_ || living_.empty()) return;
  const Time all = kListEach * static_cast<std::int64_t>(streams_.size());
  const Time each = std::max(options_.list, all);
  // Of many that start together, each is the first for a moment.
  if (now <
      (finds() ? std::max(next_list_, first_since_ + options_.beat / 4) : next_list_ + each + kRarely * all))
    return;
  listing_ = true;
  next_list_ = now + each;
  ask(exchange_.list(options_.input), Kind::list);
}

void Worker::listed(const std::vector<std::string>& names) {
  ++lists_;
  const bool finder = finds();
  for (const std::string& name : names) {
    Stream& it = stream(name);
    it.list = lists_;
    it.absent = 0;
    if (finder && std::exchange(it.gone, false))
      tell(it, now_);
    else if (!it.noted && !it.telling)
      tell(it, finder ? now_ : now_ + kTellForOthers);
  }
  if (!finder) return;
  for (Stream* const it : by_id_) {
    if (it == nullptr || it->gone || it->list == lists_) continue;
    if (it->absent == 0) it->absent_since = now_;
    if (it->absent < kAbsentLists) ++it->absent;
    if (it->absent < kAbsentLists || now_ - it->absent_since < kAbsent) continue;
    it->gone = true;
    tell(*it, now_);
  }
}

void Worker::remove_old_beats() {
  if (living_.empty()) return;
  // Its last beat, and none that it may give after all.
  for (const Beats::Gone& gone : beats_.take_gone())
    if (finds()) exchange_.remove(options_.bucket + ".w." + gone.worker, gone.sequence);
}

void Worker::share(Time now) {
  const bool urgent = std::exchange(living_changed_, false);
  if (urgent) {
    const bool found = finds();
    if (living_.empty()) next_list_ = now;
    living_ = beats_.living();
    if (!found && finds()) first_since_ = now;
  }
  if (!urgent && !(shares_changed_ && now >= next_share_)) return;
  shares_changed_ = false;
  next_share_ = now + kShareEach * static_cast<std::int64_t>(streams_.size());
  std::vector<Id> mine = shares_.share(living_);
  homeless_ = streams_.size();
  for (const std::string& worker : living_) homeless_ -= shares_.streams_of(worker);
  ++sharings_;
  for (const Id id : mine) at(id).sharing = sharings_;
  for (const Id id : mine_) {
    Stream* const it = by_id_[id];
    if (it == nullptr || it->sharing == sharings_ || !it->mine) continue;
    it->mine = false;
    touch(*it);
  }
  for (const Id id : mine) {
    Stream& it = at(id);
    if (!std::exchange(it.mine, true) || it.holding == nullptr) touch(it);
  }
  mine_ = std::move(mine);
}

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

void Worker::read(Stream& it, const Answer& answer) {
  Holding& holding = *it.holding;
  if (holding.place != Holding::Place::reading) return;
  const auto back = [&] {
    it.holding = nullptr;
    --held_;
    --claims_;
  };
  const auto again = [&] {
    it.not_before = now_ + kPauseAfterFailure;
    back();
  };
  if (answer.outcome != Answer::Outcome::done) return again();
  Entry entry;
  if (answer.message) {
    const auto parsed = read_entry(answer.message->headers);
    if (!parsed.ok()) {
      trouble("entry", it.name + ": an entry that cannot be read: " + std::string(parsed.status().text()));
      it.refused = true;
      return back();
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
    return back();
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
      return back();
    }
    // Later it may be there.
    it.refused = !library_.makes();
    it.not_before = now_ + kPauseAfterRefusal;
    ++facts_.refused;
    trouble("graph",
            it.name + ": its state was saved with another graph or another model than this worker's");
    return back();
  }
  entry.owner = options_.id;
  // One that was refused, and is not there either: servers know its name from an entry that they have lost,
  // and store no other one under it for two minutes.
  entry.version = std::max(it.version, entry.version < it.tried ? it.tried : 0) + 1;
  holding.entry = entry;
  holding.place = Holding::Place::claiming;
  ask(write(it, entry, holding.data), Kind::claim, it);
}

// After the one that is known, and only one such.
std::uint64_t Worker::write(const Stream& it, const Entry& entry, const std::vector<std::byte>& data) {
  const std::string subject = entry_subject(it);
  Headers headers = headers_of(entry);
  headers.emplace_back(kMessageId, subject + ' ' + std::to_string(entry.version));
  return exchange_.append(subject, it.holding->sequence, headers,
                          {reinterpret_cast<const char*>(data.data()), data.size()});
}

void Worker::claimed(Stream& it, const Answer& answer) {
  Holding& holding = *it.holding;
  if (holding.place != Holding::Place::claiming) return;
  const auto back = [&] {
    it.holding = nullptr;
    --held_;
    --claims_;
  };
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
    return back();
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
    return back();
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

bool Worker::work(Time now) {
  now_ = now;
  if (!said_goodbye_) beat(now);
  if (rules_due_ && !rules_asked_ && now >= next_rules_) {
    rules_due_ = false;
    rules_asked_ = true;
    ask(exchange_.last(rules_subject(options_.bucket)), Kind::rules);
  }
  library_.work(now);
  for (std::string& line : library_.take_news()) news_.push_back(std::move(line));
  share(now);
  find_streams(now);
  if (!living_.empty()) look_.work(now, streams_.size(), homeless_ > 0 || mine_.size() != owned_);
  remove_old_beats();
  for (; !due_.empty() && due_.top().first <= now; due_.pop())
    if (Stream* const it = by_id_[due_.top().second]; it != nullptr) touch(*it);
  std::vector<Id> round = std::exchange(touched_, {});
  // Those of the next round are touched from here on.
  for (const Id id : round)
    if (by_id_[id] != nullptr) at(id).touched = false;
  const bool more = hear(round);
  for (const Id id : round)
    if (by_id_[id] != nullptr) advance(at(id), now);
  while (rules_known_ && !leaving_ && claims_ < options_.most_claims && !waiting_to_claim_.empty()) {
    Stream* const it = by_id_[waiting_to_claim_.front()];
    waiting_to_claim_.pop_front();
    if (it == nullptr || !std::exchange(it->waits_to_claim, false)) continue;
    if (it->holding == nullptr && (it->mine || shares_.owner(it->id) == options_.id)) claim(*it);
  }
  if (leaving_ && !said_goodbye_ && left()) {
    said_goodbye_ = true;
    ask(exchange_.append(options_.bucket + ".w." + options_.id, Exchange::kAnyway,
                         {{std::string(kLeaving), "1"}}, {}),
        Kind::beat);
  }
  return more;
}

void Worker::leave() {
  leaving_ = true;
  look_.end();
  for (Stream* const it : by_id_)
    if (it != nullptr && it->holding != nullptr) touch(*it);
}

bool Worker::left() const noexcept { return leaving_ && held_ == 0 && tells_ == 0; }

WorkerFacts Worker::facts() const {
  WorkerFacts out = facts_;
  out.chunks = gone_;
  out.known = streams_.size();
  out.graphs_here = library_.size();
  const std::vector<std::string> living = beats_.living();
  out.workers = living.size();
  for (const std::string& worker : living) out.shares[worker] = shares_.streams_of(worker);
  for (const Stream* const it : by_id_) {
    if (it == nullptr || it->holding == nullptr || it->holding->owned == nullptr) continue;
    ++out.streams;
    const std::uint32_t graph = it->holding->owned->entry().graph;
    ++out.graphs[graph];
    if (out.own.size() < WorkerFacts::kMostNamed) out.own.emplace_back(it->name, graph);
    out.chunks.add(it->holding->owned->counts());
  }
  return out;
}

std::vector<StreamFacts> Worker::stream_facts() const {
  constexpr std::string_view kPlaces[] = {"reading", "claiming", "asking", "here"};
  std::vector<StreamFacts> out;
  for (const Stream* const it : by_id_) {
    if (it == nullptr) continue;
    StreamFacts facts{it->name, "elsewhere", shares_.owner(it->id)};
    if (it->holding == nullptr && !it->mine && facts.owner != options_.id) continue;
    facts.version = it->version;
    facts.mine = it->mine;
    facts.refused = it->refused;
    if (it->holding != nullptr) {
      const Holding& holding = *it->holding;
      facts.place = kPlaces[static_cast<std::size_t>(holding.place)];
      facts.sequence = holding.sequence;
      facts.version = holding.version;
      const Entry& entry = holding.owned == nullptr ? holding.entry : holding.owned->entry();
      facts.covered = entry.covered;
      facts.events = entry.events;
      facts.feed = holding.feed;
      facts.saving = holding.saving;
      facts.handing_over = holding.handing_over;
      facts.broken = holding.broken;
      if (holding.owned != nullptr) {
        facts.waiting = holding.owned->waiting();
        facts.settled = holding.owned->settled();
      }
    }
    out.push_back(std::move(facts));
  }
  std::sort(out.begin(), out.end(),
            [](const StreamFacts& a, const StreamFacts& b) { return a.name < b.name; });
  return out;
}

std::vector<std::string> Worker::streams() const {
  std::vector<std::string> out;
  for (const Stream* const it : by_id_)
    if (it != nullptr && it->holding != nullptr && it->holding->place == Holding::Place::here)
      out.push_back(it->name);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> Worker::take_news() { return std::exchange(news_, {}); }

}  // namespace runnel::fleet
