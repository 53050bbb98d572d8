#include "tests/services/fleet/memory_exchange.h"

#include <algorithm>
#include <span>
#include <utility>

namespace runnel::fleet::test {
namespace {

constexpr std::int64_t kNames = 120000;  // ticks for which they are known
constexpr std::string_view kEntries = "$KV.runnel.s.", kNotes = "$KV.runnel.o.";

}  // namespace

std::uint64_t MemoryLogs::put(std::string_view subject, std::uint64_t after, Headers headers,
                              std::string_view data) {
  std::vector<Message>& log = logs_[std::string(subject)];
  if (after != Exchange::kAnyway && after != (log.empty() ? 0 : log.back().sequence)) return 0;
  if (const std::string* const name = find(headers, kMessageId); name != nullptr) {
    const auto known = names_.find(*name);
    if (known != names_.end() && now_ - known->second < kNames)
      return after == Exchange::kAnyway && !log.empty() ? log.back().sequence : 0;
    names_[*name] = now_;
  }
  const auto bytes = std::as_bytes(std::span(data));
  log.push_back({std::string(subject), ++sequence_, std::move(headers), {bytes.begin(), bytes.end()}});
  ticks_[std::string(subject)].push_back(now_);
  ++stored_;
  return sequence_;
}

void MemoryLogs::remove(const std::string& subject, std::uint64_t last) {
  std::vector<Message>& log = logs_[subject];
  std::vector<std::int64_t>& ticks = ticks_[subject];
  const auto stay =
      std::find_if(log.begin(), log.end(), [&](const Message& one) { return one.sequence > last; });
  ticks.erase(ticks.begin(), ticks.begin() + (stay - log.begin()));
  log.erase(log.begin(), stay);
}

void MemoryLogs::revert_one() {
  if (std::uniform_real_distribution<double>(0, 1)(random_) >= faults_.reverted) return;
  std::vector<std::string> entries;
  for (const auto& [subject, log] : logs_)
    if (subject.starts_with(kEntries) && log.size() > 1) entries.push_back(subject);
  if (entries.empty()) return;
  const std::string& one = entries[random_() % entries.size()];
  logs_[one].pop_back();
  ticks_[one].pop_back();
}

const std::vector<Message>& MemoryLogs::log(std::string_view subject) const {
  static const std::vector<Message> none;
  const auto at = logs_.find(subject);
  return at == logs_.end() ? none : at->second;
}

std::vector<std::string> MemoryLogs::subjects(std::string_view filter) const {
  return subjects(filter, now_);
}

std::vector<std::string> MemoryLogs::subjects(std::string_view filter, std::int64_t tick) const {
  std::vector<std::string> out;
  for (const auto& [subject, log] : logs_)
    if (covers(filter, subject) && last(subject, tick)) out.push_back(subject);
  return out;
}

std::optional<Message> MemoryLogs::last(std::string_view subject, std::int64_t tick) const {
  const auto log = logs_.find(subject);
  const auto ticks = ticks_.find(subject);
  if (log == logs_.end() || ticks == ticks_.end()) return std::nullopt;
  const auto after = std::upper_bound(ticks->second.begin(), ticks->second.end(), tick);
  if (after == ticks->second.begin()) return std::nullopt;
  return log->second[static_cast<std::size_t>(after - ticks->second.begin()) - 1];
}

// Drawn by its number, so that it is always the same.
bool MemoryLogs::lacks(std::size_t copy, const Message& message) const {
  if (copies(message.subject) == 1) return false;
  if (copy == 0 && message.sequence >= faults_.lacks_from && message.sequence < faults_.lacks_before)
    return true;
  std::uint64_t hash = message.sequence * 0x9E3779B97F4A7C15;
  hash = (hash ^ hash >> 31) * 0xD6E8FEB86659FD93;
  return copy == hash % 3 && static_cast<double>(hash >> 40) < faults_.holes * (1 << 24);
}

const Message* MemoryLogs::first(std::size_t copy, std::string_view subject, std::uint64_t from) const {
  const auto& all = log(subject);
  auto at = std::lower_bound(all.begin(), all.end(), from, [&](const Message& one, std::uint64_t least) {
    return number(copy, one) < least;
  });
  while (at != all.end() && lacks(copy, *at)) ++at;
  return at == all.end() ? nullptr : &*at;
}

std::size_t MemoryLogs::holes(std::string_view subject) const {
  const auto& all = log(subject);
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const Message& one) {
    return lacks(0, one) || lacks(1, one) || lacks(2, one);
  }));
}

void MemoryLogs::tick() {
  ++now_;
  if (faults_.reverted > 0) revert_one();
  if (down_) return;
  for (MemoryExchange* const client : clients_) client->tick();
}

MemoryExchange::MemoryExchange(MemoryLogs& logs) : logs_(logs) { logs_.clients_.push_back(this); }

MemoryExchange::~MemoryExchange() {
  std::erase(logs_.clients_, this);
  for (Request& request : requests_) {
    if (logs_.random_() % 2 != 0) break;  // those behind it are lost with it
    if (request.kind == Request::Kind::append)
      logs_.put(request.subject, request.after, std::move(request.headers), request.data);
  }
}

std::uint64_t MemoryExchange::send(Request request) {
  request.number = ++numbers_;
  request.due = logs_.now_ + 1;
  if (logs_.faults_.slowest > 0)
    request.due += static_cast<std::int64_t>(logs_.random_()) % logs_.faults_.slowest;
  if (!requests_.empty()) request.due = std::max(request.due, requests_.back().due);
  requests_.push_back(std::move(request));
  return numbers_;
}

std::uint64_t MemoryExchange::append(std::string_view subject, std::uint64_t after, const Headers& headers,
                                     std::string_view data) {
  return send({Request::Kind::append, 0, after, 0, std::string(subject), std::string(data), headers});
}
std::uint64_t MemoryExchange::last(std::string_view subject) {
  return send({Request::Kind::last, 0, 0, 0, std::string(subject), {}, {}});
}
std::uint64_t MemoryExchange::first(std::string_view subject, std::uint64_t from) {
  return send({Request::Kind::first, 0, from, 0, std::string(subject), {}, {}});
}
std::uint64_t MemoryExchange::list(std::string_view filter) {
  return send({Request::Kind::list, 0, 0, 0, std::string(filter), {}, {}});
}
std::uint64_t MemoryExchange::follow(std::string_view subject, std::uint64_t from) {
  Feed& feed = feeds_[++numbers_] = {std::string(subject), from, false, from};
  feed.copy = logs_.random_() % logs_.copies(subject);
  return numbers_;
}
std::uint64_t MemoryExchange::watch(std::string_view filter) {
  feeds_[++numbers_] = {std::string(filter), 0, true};
  return numbers_;
}
void MemoryExchange::remove(std::string_view subject, std::uint64_t last) {
  send({Request::Kind::remove, 0, last, 0, std::string(subject), {}, {}});
}
void MemoryExchange::leave(std::uint64_t feed) { feeds_.erase(feed); }

void MemoryExchange::come(Happening what, std::int64_t& newest_due) {
  std::int64_t due = logs_.now_ + 1;
  if (logs_.faults_.slowest > 0) due += static_cast<std::int64_t>(logs_.random_()) % logs_.faults_.slowest;
  newest_due = std::max(due, newest_due);
  coming_.emplace(newest_due, std::move(what));
}

void MemoryExchange::answer(Request& request) {
  std::uniform_real_distribution<double> share(0, 1);
  Answer answer;
  answer.request = request.number;
  if (share(logs_.random_) < logs_.faults_.lost_request) {
    answer.why = "no answer in time";
    return come(answer);
  }
  answer.outcome = Answer::Outcome::done;
  std::int64_t as_of = logs_.now_;
  if (share(logs_.random_) < logs_.faults_.stale)
    as_of -= static_cast<std::int64_t>(logs_.random_()) % logs_.faults_.behind;
  switch (request.kind) {
    case Request::Kind::append:
      answer.sequence = logs_.put(request.subject, request.after, std::move(request.headers), request.data);
      if (answer.sequence == 0) answer.outcome = Answer::Outcome::outdated;
      break;
    case Request::Kind::last:
      answer.message = logs_.last(request.subject, as_of);
      if (answer.message) answer.message->sequence = logs_.number(logs_.leader(), *answer.message);
      break;
    case Request::Kind::first: {
      const std::size_t copy = logs_.copies(request.subject) > 1 ? logs_.leader() : 0;
      if (const Message* const found = logs_.first(copy, request.subject, request.after)) {
        answer.message = *found;
        answer.message->sequence = logs_.number(copy, *found);
      }
      break;
    }
    case Request::Kind::list:
      answer.subjects = logs_.subjects(request.subject, as_of);
      break;
    case Request::Kind::remove:
      logs_.remove(request.subject, request.after);
      return;
  }
  if (share(logs_.random_) < logs_.faults_.lost_answer) {
    answer = {};
    answer.request = request.number;
    answer.why = "no answer in time";
  }
  come(answer);
}

void MemoryExchange::deliver() {
  std::uniform_real_distribution<double> share(0, 1);
  for (auto& entry : feeds_) {
    const std::uint64_t number = entry.first;
    Feed& feed = entry.second;
    if (feed.silent_until > logs_.now_) continue;
    if (feed.silent_until != 0) {
      feed.silent_until = 0;
      if (feed.watch) feed.drift = logs_.random_() % (logs_.faults_.drift + 1);
      feed.next = std::max(feed.from, feed.next - std::min<std::uint64_t>(feed.next, logs_.random_() % 100));
      if (!feed.watch) feed.copy = logs_.random_() % logs_.copies(feed.filter);
    }
    const auto falls_silent = [&] {
      if (share(logs_.random_) >= logs_.faults_.silent) return false;
      feed.silent_until = logs_.now_ + 1 + static_cast<std::int64_t>(logs_.random_()) % logs_.faults_.behind;
      return true;
    };
    if (!feed.watch) {
      while (const Message* const found = logs_.first(feed.copy, feed.filter, feed.next)) {
        Delivery delivery{number, *found, 0};
        delivery.message.sequence = logs_.number(feed.copy, *found);
        feed.next = delivery.message.sequence + 1;
        feed.last = found->sequence;
        if (share(logs_.random_) < logs_.faults_.doubled) come(delivery, feed.newest_due);
        come(std::move(delivery), feed.newest_due);
        if (falls_silent()) break;
      }
      look_after(feed);
      continue;
    }
    // In the order of their sequences, as one log has them; only the last of each subject is kept.
    std::vector<const Message*> fresh;
    for (const auto& [subject, log] : logs_.logs_) {
      if (log.empty() || !covers(feed.filter, subject) || log.back().sequence < feed.next) continue;
      fresh.push_back(&log.back());
    }
    std::sort(fresh.begin(), fresh.end(),
              [](const Message* a, const Message* b) { return a->sequence < b->sequence; });
    std::uint64_t waiting = fresh.size();
    for (const Message* const message : fresh) {
      --waiting;
      feed.next = message->sequence + 1;
      if (logs_.faults_.missed > 0 && message->subject.starts_with(kNotes) &&
          share(logs_.random_) < logs_.faults_.missed)
        continue;
      come(
          Delivery{number, {message->subject, message->sequence + feed.drift, message->headers, {}}, waiting},
          feed.newest_due);
      if (falls_silent()) break;
    }
  }
}

// As the real one does: when the log has another last message than the one that came, and nothing comes, the
// reading begins anew there, on any copy.
void MemoryExchange::look_after(Feed& feed) {
  if (logs_.copies(feed.filter) == 1) return;
  const auto& log = logs_.log(feed.filter);
  if (log.empty() || log.back().sequence == feed.last) {
    feed.stuck_since = 0;
    return;
  }
  if (feed.stuck_since == 0) feed.stuck_since = logs_.now_;
  if (logs_.now_ - feed.stuck_since < 3000) return;
  feed.stuck_since = 0;
  feed.copy = logs_.random_() % logs_.copies(feed.filter);
  feed.next = std::min(feed.next, logs_.number(logs_.leader(), log.back()));
}

void MemoryExchange::tick() {
  while (!requests_.empty() && requests_.front().due <= logs_.now_) {
    Request request = std::move(requests_.front());
    requests_.pop_front();
    answer(request);
  }
  deliver();
}

bool MemoryExchange::next(Happening& out) {
  const auto first = coming_.begin();
  if (first == coming_.end() || first->first > logs_.now_) return false;
  out = std::move(first->second);
  coming_.erase(first);
  return true;
}

}  // namespace runnel::fleet::test
