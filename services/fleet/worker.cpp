#include "services/fleet/worker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "services/fleet/entry.h"

namespace runnel::fleet {
namespace {

constexpr std::string_view kLeaving = "Runnel-Leaving";
constexpr Time kQuiet = std::chrono::minutes(1);
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

struct Worker::Stream {
  enum class Place : std::uint8_t {
    elsewhere,  // not owned
    reading,    // its entry, to claim it
    claiming,   // the entry with this owner is under way
    asking,     // for the end of the log of events
    here,       // owned
  };
  std::string name;
  Place place = Place::elsewhere;
  bool listed = false;         // has a log
  std::uint64_t sequence = 0;  // of the newest entry known, by the server that said so: for conditions
  std::uint64_t version = 0;   // its own number: says which of two is newer
  Entry entry;
  bool mine = false;     // by the last sharing
  bool refused = false;  // this entry cannot be used here
  Time not_before{0};    // after a failure
  Older older;           // answers about the entry

  std::unique_ptr<OwnedStream> owned;
  Entry claim;                  // under way: what is known of the entry may change meanwhile
  std::vector<std::byte> data;  // of the claim
  std::uint64_t feed = 0;
  bool saving = false, handing_over = false, save_due = false, broken = false;
  Time mended{0};  // broken: when it is tried again
  Entry save;      // under way
  // By the rules:
  std::uint32_t wanted = 0;
  std::optional<std::int64_t> wanted_at;
  Time next_save{0};
  std::uint64_t saved_covered = 0;
};

Worker::Worker(Exchange& exchange, Runner& runner, WorkerOptions options, MakeRunner make)
    : exchange_(exchange),
      runner_(runner),
      options_(std::move(options)),
      library_(exchange, runner, options_.bucket, std::move(make)),
      beats_(options_.id, options_.missed) {
  watch_ = exchange_.watch(options_.bucket + ".>");
}

Worker::~Worker() = default;

void Worker::ask(std::uint64_t request, Kind kind, std::string_view stream) {
  requests_[request] = {kind, std::string(stream)};
}

std::string Worker::entry_subject(std::string_view name) const {
  return options_.bucket + ".s." + std::string(name);
}

Worker::Stream& Worker::stream(std::string_view name) {
  const auto at = streams_.find(name);
  if (at != streams_.end()) return *at->second;
  auto made = std::make_unique<Stream>();
  made->name = name;
  Stream& out = *made;
  apply_rules(out);
  streams_.emplace(std::string(name), std::move(made));
  shares_changed_ = true;
  return out;
}

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
    delivered(std::move(delivery->message), delivery->feed);
}

void Worker::delivered(Message message, std::uint64_t feed) {
  if (feed != watch_) {
    const auto at = feeds_.find(feed);
    if (at != feeds_.end()) at->second->owned->arrives(std::move(message));
    return;
  }
  const std::string_view subject = message.subject;
  const std::string beats = options_.bucket + ".w.", entries = options_.bucket + ".s.";
  // A feed that begins anew may repeat: what was seen before says nothing about now.
  const bool repeated = message.sequence <= watched_;
  watched_ = std::max(watched_, message.sequence);
  if (subject.starts_with(beats)) {
    if (repeated) return;
    const std::vector<std::string> before = beats_.living();
    beats_.heard(subject.substr(beats.size()), find(message.headers, kLeaving) != nullptr);
    if (before != beats_.living()) shares_changed_ = true;
  } else if (subject.starts_with(entries)) {
    entry_seen(subject.substr(entries.size()), message);
  } else if (subject == rules_subject(options_.bucket) && message.sequence > rules_sequence_) {
    rules_sequence_ = message.sequence;
    rules_due_ = true;
  }
}

void Worker::entry_seen(std::string_view name, const Message& message) {
  Stream& it = stream(name);
  const auto entry = read_entry(message.headers);
  if (!entry.ok()) {
    trouble("entry",
            std::string(name) + ": an entry that cannot be read: " + std::string(entry.status().text()));
    return;
  }
  // Entries without a version are those of a fleet that was begun by an older runnel.
  const bool numbered = entry->version != 0 || it.version != 0;
  if (numbered ? entry->version <= it.version : message.sequence <= it.sequence) return;
  it.version = entry->version;
  it.sequence = message.sequence;
  it.entry = *entry;
  it.refused = false;
  shares_changed_ = true;
  if (it.owned != nullptr && entry->owner != options_.id) {
    ++(it.handing_over && entry->owner.empty() ? facts_.handed_over : facts_.lost);
    drop(it);
  }
}

void Worker::apply_rules(Stream& it) const {
  const Rule* const rule = rules_.find(it.name);
  it.wanted = rule == nullptr ? runner_.identity() : rule->graph;
  it.wanted_at = rule == nullptr ? std::nullopt : rule->at;
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
  for (const auto& [name, it] : streams_) {
    it->refused = false;
    apply_rules(*it);
    used.insert(it->entry.graph);
    if (it->entry.becomes) used.insert(*it->entry.becomes);
    if (it->owned != nullptr) it->owned->uses(used);
  }
  library_.keep(used);
}

void Worker::answered(const Answer& answer) {
  if (library_.answered(answer)) return;
  const auto at = requests_.find(answer.request);
  if (at == requests_.end()) return;
  const Request request = std::move(at->second);
  requests_.erase(at);
  if (answer.outcome == Answer::Outcome::failed)
    trouble("exchange", "the exchange: " + answer.why + "; what was under way is tried again");
  if (request.kind == Kind::beat) beating_ = false;
  if (request.kind == Kind::rules) return rules_read(answer);
  if (request.kind == Kind::list) {
    for (const std::string& name : answer.subjects) {
      Stream& it = stream(name);
      if (!it.listed) shares_changed_ = true;
      it.listed = true;
    }
    return;
  }
  const auto found = streams_.find(request.stream);
  if (found == streams_.end()) return;
  Stream& it = *found->second;
  switch (request.kind) {
    case Kind::read:
      return read(it, answer);
    case Kind::claim:
      return claimed(it, answer);
    case Kind::log:
      return log_known(it, answer);
    case Kind::event:
      return event_answered(it, answer);
    case Kind::save:
      return save_answered(it, answer);
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
  ask(exchange_.append(options_.bucket + ".w." + options_.id, Exchange::kAnyway, {}, {}), Kind::beat);
}

void Worker::share(Time now) {
  if (now >= next_list_ && !leaving_) {
    next_list_ = now + options_.list;
    ask(exchange_.list(options_.input), Kind::list);
  }
  if (!shares_changed_) return;
  shares_changed_ = false;
  Owners owners;
  for (const auto& [name, it] : streams_)
    if (it->listed) owners.emplace(name, it->entry.owner);
  const Owners wanted = share_out(owners, beats_.living());
  for (const auto& [name, it] : streams_) {
    const auto at = wanted.find(name);
    it->mine = at != wanted.end() && at->second == options_.id;
  }
}

void Worker::claim(Stream& it) {
  if (!rules_known_ || claims_ >= options_.most_claims || it.refused || now_ < it.not_before) return;
  if (!it.entry.owner.empty() && it.entry.owner != options_.id && beats_.lives(it.entry.owner)) return;
  if (claims_ + owned_ >= options_.most_streams) {
    trouble("room", "there are more streams than the " + std::to_string(options_.most_streams) +
                        " that this worker may have: the others wait for another worker");
    return;
  }
  ++claims_;
  it.place = Stream::Place::reading;
  ask(exchange_.last(entry_subject(it.name)), Kind::read, it.name);
}

void Worker::read(Stream& it, const Answer& answer) {
  if (it.place != Stream::Place::reading) return;
  const auto back = [&] {
    it.place = Stream::Place::elsewhere;
    --claims_;
  };
  const auto again = [&] {
    it.not_before = now_ + kPauseAfterFailure;
    back();
  };
  if (answer.outcome != Answer::Outcome::done) return again();
  Entry entry;
  it.data.clear();
  if (answer.message) {
    const auto parsed = read_entry(answer.message->headers);
    if (!parsed.ok()) {
      trouble("entry", it.name + ": an entry that cannot be read: " + std::string(parsed.status().text()));
      it.refused = true;
      return back();
    }
    entry = *parsed;
    it.data = answer.message->data;
  }
  if (it.older.distrusted(entry.version, it.version, now_)) return again();
  it.sequence = answer.message ? answer.message->sequence : 0;
  it.version = entry.version;
  it.entry = entry;
  if (!entry.owner.empty() && entry.owner != options_.id && beats_.lives(entry.owner)) {
    shares_changed_ = true;
    return back();
  }
  // A stream that nobody has heard yet. From here on its graph is changed only by an event of its log.
  if (entry.graph == 0) entry.graph = it.wanted;
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
  it.entry = entry;
  ++entry.version;
  it.claim = entry;
  it.place = Stream::Place::claiming;
  ask(write(it, it.claim, it.data), Kind::claim, it.name);
}

// After the one that is known, and only one such.
std::uint64_t Worker::write(const Stream& it, const Entry& entry, const std::vector<std::byte>& data) {
  const std::string subject = entry_subject(it.name);
  Headers headers = headers_of(entry);
  headers.emplace_back(kMessageId, subject + ' ' + std::to_string(entry.version));
  return exchange_.append(subject, it.sequence, headers,
                          {reinterpret_cast<const char*>(data.data()), data.size()});
}

void Worker::claimed(Stream& it, const Answer& answer) {
  if (it.place != Stream::Place::claiming) return;
  // Answers and the watch come by different ways: it may have shown already what came behind this claim.
  const bool passed = answer.outcome == Answer::Outcome::done && it.version > it.claim.version;
  if (answer.outcome != Answer::Outcome::done || passed) {
    // What counts is in the watch, or comes with the next reading.
    it.place = Stream::Place::elsewhere;
    it.not_before = now_ + (answer.outcome == Answer::Outcome::failed ? kPauseAfterFailure : Time(0));
    --claims_;
    return;
  }
  it.sequence = answer.sequence;
  it.version = it.claim.version;
  it.entry = it.claim;
  it.owned = std::make_unique<OwnedStream>(it.name, library_, options_.limits);
  const Status status = it.owned->resume(it.claim, it.data);
  it.data = {};
  if (!status.ok()) {
    trouble("resume", std::string(status.text()));
    ++facts_.refused;
    // Its entry names this worker, so nobody else tries.
    it.not_before = now_ + kPauseWhenBroken;
    it.owned = nullptr;
    it.place = Stream::Place::elsewhere;
    --claims_;
    return;
  }
  ++facts_.taken;
  it.saving = it.handing_over = it.save_due = it.broken = false;
  it.saved_covered = it.entry.covered;
  it.next_save = now_ + options_.save;
  it.place = Stream::Place::asking;
  ask(exchange_.last(options_.events + '.' + it.name), Kind::log, it.name);
}

void Worker::log_known(Stream& it, const Answer& answer) {
  if (it.owned == nullptr) return;
  if (answer.outcome != Answer::Outcome::done) {
    ask(exchange_.last(options_.events + '.' + it.name), Kind::log, it.name);
    return;
  }
  it.owned->log_ends(answer.message ? &*answer.message : nullptr);
  if (it.place != Stream::Place::asking) return;
  it.place = Stream::Place::here;
  --claims_;
  ++owned_;
  it.feed = exchange_.follow(it.name, it.owned->entry().covered + 1);
  feeds_[it.feed] = &it;
}

void Worker::event_answered(Stream& it, const Answer& answer) {
  if (it.owned == nullptr) return;
  if (answer.outcome == Answer::Outcome::done) {
    ++facts_.events;
    const std::uint64_t before = it.owned->entry().change.count;
    if (const Status status = it.owned->appended(answer.sequence); !status.ok()) broke(it, status);
    facts_.changed += it.owned->entry().change.count - before;
    return;
  }
  it.owned->append_failed();
  ask(exchange_.last(options_.events + '.' + it.name), Kind::log, it.name);
}

void Worker::save(Stream& it, Time now, bool hand_over) {
  std::vector<std::byte> data;
  auto entry = it.owned->save(data);
  it.save_due = false;
  it.next_save = now + options_.save;
  if (!entry.ok()) {
    trouble("save", it.name + ": " + std::string(entry.status().text()));
    return;
  }
  entry->owner = hand_over ? "" : options_.id;
  entry->version = it.version + 1;
  it.save = *entry;
  it.saved_covered = entry->covered;
  it.saving = true;
  it.handing_over = hand_over;
  ++facts_.saves;
  facts_.saved_bytes += data.size();
  ask(write(it, *entry, data), Kind::save, it.name);
}

void Worker::save_answered(Stream& it, const Answer& answer) {
  if (it.owned == nullptr || !it.saving) return;
  switch (answer.outcome) {
    case Answer::Outcome::done:
      it.saving = false;
      it.sequence = answer.sequence;
      it.version = std::max(it.version, it.save.version);
      it.owned->saved(it.save);
      if (!it.handing_over) return;
      ++facts_.handed_over;
      it.entry.owner.clear();
      return drop(it);
    case Answer::Outcome::outdated:
      // Another worker has it, or this save was stored although its answer was lost: then it is claimed anew.
      ++facts_.lost;
      return drop(it);
    case Answer::Outcome::failed:
      // Whether it was stored is not known: with the same condition it is either stored now or outdated.
      it.saving = false;
      it.save_due = true;
      it.next_save = now_ + kPauseAfterFailure;
      return;
  }
}

void Worker::drop(Stream& it) {
  if (it.place == Stream::Place::asking) --claims_;
  if (it.place == Stream::Place::here) --owned_;
  gone_.add(it.owned->counts());
  if (it.feed != 0) {
    exchange_.leave(it.feed);
    feeds_.erase(it.feed);
    it.feed = 0;
  }
  std::erase_if(requests_, [&](const auto& one) { return one.second.stream == it.name; });
  it.owned = nullptr;
  it.place = Stream::Place::elsewhere;
  it.saving = it.handing_over = it.save_due = false;
  shares_changed_ = true;
}

// It goes on from its saved state after a while, here or elsewhere: what broke it may be over.
void Worker::broke(Stream& it, const Status& status) {
  trouble("run " + it.name, it.name + ": " + std::string(status.text()));
  it.broken = true;
  it.mended = now_ + kPauseWhenBroken;
}

bool Worker::hear() {
  std::vector<Runner::Turn> turns;
  std::vector<Stream*> whose;
  std::vector<Runner*> runners;
  for (const auto& [feed, it] : feeds_) {
    if (it->place != Stream::Place::here || it->handing_over || it->save_due || it->broken || leaving_ ||
        !it->mine || it->owned->idle())
      continue;
    std::string why;
    Message apart;
    auto next = it->owned->next(why, apart);
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
    if (next->run == nullptr) continue;
    turns.push_back({next->run, next->samples, {}});
    whose.push_back(it);
    runners.push_back(next->runner);
  }
  if (turns.empty()) return false;
  hear_together(turns, runners);
  bool more = false;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    Status status = turns[i].status;
    if (status.ok()) status = whose[i]->owned->heard();
    if (!status.ok()) broke(*whose[i], status);
    more = more || whose[i]->owned->waiting() > 0;
  }
  return more;
}

void Worker::advance(Stream& it, Time now) {
  if (it.place == Stream::Place::elsewhere) {
    // One that names this worker, which does not have it: a claim whose answer was lost. Nobody else takes it
    // while this worker lives; should it be another's, it is handed over.
    if ((it.mine || it.entry.owner == options_.id) && it.listed && !leaving_) claim(it);
    return;
  }
  if (it.place != Stream::Place::here) return;
  // Its state is between two chunks, so it is not saved.
  if (it.broken) {
    if (leaving_ || now >= it.mended) drop(it);
    return;
  }
  if (it.owned->overtaken()) {
    // It is claimed again, and goes on from the saved state.
    ++facts_.lost;
    trouble("overtaken", it.name + ": another worker went further: it goes on from the last saved state");
    it.not_before = now + kPauseAfterFailure;
    return drop(it);
  }
  it.owned->wants(it.wanted, it.wanted_at);
  if (it.owned->wants_append()) {
    OwnedStream::Append append = it.owned->begin_append();
    const std::string subject = options_.events + '.' + it.name;
    append.headers.emplace_back(kMessageId, subject + ' ' + std::to_string(append.number));
    ask(exchange_.append(subject, append.after, append.headers, append.data), Kind::event, it.name);
  }
  if (it.saving) return;
  const bool hand_over = leaving_ || !it.mine;
  if (!it.save_due && it.owned->wants_save()) {
    it.save_due = true;
    it.next_save = now;
  }
  if (!hand_over && now >= it.next_save && (it.save_due || it.owned->entry().covered != it.saved_covered))
    it.save_due = true;
  if ((hand_over || (it.save_due && now >= it.next_save)) && it.owned->settled()) save(it, now, hand_over);
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
  const bool more = hear();
  for (const auto& [name, it] : streams_) advance(*it, now);
  if (leaving_ && !said_goodbye_ && left()) {
    said_goodbye_ = true;
    ask(exchange_.append(options_.bucket + ".w." + options_.id, Exchange::kAnyway,
                         {{std::string(kLeaving), "1"}}, {}),
        Kind::beat);
  }
  return more;
}

void Worker::leave() { leaving_ = true; }

bool Worker::left() const noexcept {
  return leaving_ && std::all_of(streams_.begin(), streams_.end(), [](const auto& one) {
           return one.second->place == Stream::Place::elsewhere;
         });
}

WorkerFacts Worker::facts() const {
  WorkerFacts out = facts_;
  out.chunks = gone_;
  out.known = streams_.size();
  out.workers = beats_.living().size();
  for (const auto& [name, it] : streams_) {
    if (it->owned == nullptr) continue;
    ++out.streams;
    out.chunks.add(it->owned->counts());
  }
  return out;
}

std::vector<StreamFacts> Worker::stream_facts() const {
  constexpr std::string_view kPlaces[] = {"elsewhere", "reading", "claiming", "asking", "here"};
  std::vector<StreamFacts> out;
  for (const auto& [name, it] : streams_) {
    if (it->place == Stream::Place::elsewhere && !it->mine && it->entry.owner != options_.id) continue;
    StreamFacts facts{name, kPlaces[static_cast<std::size_t>(it->place)], it->entry.owner, it->sequence};
    facts.version = it->version;
    facts.covered = it->entry.covered;
    facts.events = it->entry.events;
    if (it->owned != nullptr) {
      facts.covered = it->owned->entry().covered;
      facts.events = it->owned->entry().events;
      facts.waiting = it->owned->waiting();
      facts.settled = it->owned->settled();
    }
    facts.feed = it->feed;
    facts.mine = it->mine;
    facts.refused = it->refused;
    facts.saving = it->saving;
    facts.handing_over = it->handing_over;
    facts.broken = it->broken;
    out.push_back(std::move(facts));
  }
  return out;
}

std::vector<std::string> Worker::streams() const {
  std::vector<std::string> out;
  for (const auto& [name, it] : streams_)
    if (it->place == Stream::Place::here) out.push_back(name);
  return out;
}

std::vector<std::string> Worker::take_news() { return std::exchange(news_, {}); }

}  // namespace runnel::fleet
