// What happens to a worker, and what is due.
#include "services/fleet/work/worker.h"

#include <optional>
#include <set>
#include <utility>

#include "services/fleet/share_out.h"
#include "services/fleet/work/worker_stream.h"

namespace runnel::fleet {
namespace {

constexpr Time kQuiet = std::chrono::minutes(1);

}  // namespace

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

std::vector<std::string> Worker::take_news() { return std::exchange(news_, {}); }

}  // namespace runnel::fleet
