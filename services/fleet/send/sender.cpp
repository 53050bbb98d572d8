#include "services/fleet/send/sender.h"

#include <algorithm>
#include <utility>

namespace runnel::fleet {
namespace {

constexpr Time kQuiet = std::chrono::minutes(1), kShortPause = std::chrono::milliseconds(100),
               kLongPause = std::chrono::seconds(2), kSync = std::chrono::seconds(1);

}  // namespace

std::optional<StreamEnd> end_of(const Message& last) {
  const auto chunk = read_chunk(last);
  if (!chunk.ok()) return {};
  return StreamEnd{chunk->run, chunk->first + chunk->samples, chunk->end};
}

void Sender::add(Lane& lane) {
  streams_.push_back(std::make_unique<Stream>());
  streams_.back()->lane = &lane;
}

void Sender::use(Exchange* exchange) {
  exchange_ = exchange;
  requests_.clear();
  for (const auto& it : streams_) it->place = Place::unknown;
}

void Sender::trouble(std::string_view kind, std::string sentence) {
  last_trouble_ = sentence;
  const auto [at, fresh] = told_.try_emplace(std::string(kind), now_);
  if (!fresh) {
    if (now_ - at->second < kQuiet) return;
    at->second = now_;
  }
  news_.push_back(std::move(sentence));
}

void Sender::failed(Stream& it, std::string_view why) {
  ++facts_.failures;
  it.place = Place::unknown;
  it.pause = std::clamp<Time>(2 * it.pause, kShortPause, kLongPause);
  it.not_before = now_ + it.pause;
  trouble("exchange", it.lane->subject() + ": " + std::string(why) + "; what is not stored is sent again");
}

void Sender::happened(const Answer& answer) {
  const auto at = requests_.find(answer.request);
  if (at == requests_.end()) return;
  Stream& it = *at->second;
  requests_.erase(at);
  if (it.place == Place::asking) {
    if (answer.outcome != Answer::Outcome::done) return failed(it, answer.why);
    return read_last(it, answer.message);
  }
  switch (answer.outcome) {
    case Answer::Outcome::done:
      it.last = answer.sequence;
      it.pause = Time(0);
      it.place = Place::ready;
      ++facts_.messages;
      facts_.bytes += it.piece.data.size();
      facts_.samples += static_cast<std::uint64_t>(it.piece.chunk.samples);
      return stored(it);
    case Answer::Outcome::outdated:
      // By this sender before, or by another one: its last message says.
      it.place = Place::unknown;
      it.not_before = now_ + std::exchange(it.pause, kShortPause);
      return;
    case Answer::Outcome::failed:
      return failed(it, answer.why);
  }
}

void Sender::stored(Stream& it) {
  stuck_since_ = now_;
  it.end = StreamEnd{it.piece.chunk.run, it.piece.next(), it.piece.chunk.end};
  const Status status = it.lane->stored(it.piece.chunk.run, it.piece.next(), it.piece.chunk.end);
  if (!status.ok()) it.lane->fail(status);
}

void Sender::read_last(Stream& it, const std::optional<Message>& last) {
  it.place = Place::ready;
  it.last = last ? last->sequence : 0;
  it.end = StreamEnd{};
  if (!last) return;
  const auto end = it.end = end_of(*last);
  if (!end) return;  // somebody's garbage: what is sent comes behind it
  const auto [run, next] = it.lane->newest();
  const auto front = it.lane->front(0);
  if (!front.ok()) return it.lane->fail(front.status());
  if (end->run > run || (end->run == run && end->next > next)) {
    it.lane->fail(Status(Code::mismatch)
                  << it.lane->subject() << ": another sender has stored sample " << end->next - 1
                  << " of run " << end->run << ", this one is at " << next << " of run " << run
                  << ": expected one sender for a stream");
    return;
  }
  if (*front && end->run == (*front)->chunk.run && end->next > (*front)->chunk.first) ++facts_.known;
  if (const Status status = it.lane->stored(end->run, end->next, end->ended); !status.ok())
    it.lane->fail(status);
}

void Sender::send(Stream& it) {
  auto piece = it.lane->front(kMostBytes);
  if (!piece.ok()) return it.lane->fail(piece.status());
  if (!*piece) return;
  it.piece = **std::move(piece);
  // What it knows to be in the log ends before: nobody needs to look for what is between.
  Chunk& chunk = it.piece.chunk;
  if (it.end)
    chunk.gap = std::max<std::int64_t>(0, chunk.first - (chunk.run == it.end->run ? it.end->next : 0));
  Headers headers = headers_of(it.piece.chunk);
  headers.emplace_back("Nats-Msg-Id", id_of(it.lane->subject(), it.piece.chunk));
  it.place = Place::sending;
  requests_[exchange_->append(it.lane->subject(), it.last, headers,
                              {reinterpret_cast<const char*>(it.piece.data.data()), it.piece.data.size()})] =
      &it;
}

void Sender::work(Time now) {
  now_ = now;
  const bool sync = now >= next_sync_ && next_sync_ != Time(0);
  if (sync || next_sync_ == Time(0)) next_sync_ = now + kSync;
  bool waits = false;
  for (const auto& one : streams_) {
    Stream& it = *one;
    if (!it.lane->status().ok()) continue;
    const LaneFacts facts = it.lane->facts();
    if (facts.lost > it.told_lost) {
      it.told_lost = facts.lost;
      trouble("full " + it.lane->subject(),
              it.lane->subject() + ": there is no room for more than the " +
                  std::to_string(facts.waiting_bytes) + " bytes that wait to be stored; " +
                  std::to_string(facts.lost) + " samples were lost so far, and are a gap");
    }
    if (sync) {
      if (const Status status = it.lane->sync(); !status.ok()) it.lane->fail(status);
    }
    if (facts.pieces > 0) waits = true;
    if (exchange_ == nullptr || now < it.not_before || facts.pieces == 0) continue;
    if (it.place == Place::unknown) {
      it.place = Place::asking;
      requests_[exchange_->last(it.lane->subject())] = &it;
    } else if (it.place == Place::ready) {
      send(it);
    }
  }
  if (!waits) stuck_since_ = now;
}

bool Sender::done() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const auto& it) { return it->lane->done(); });
}

std::vector<std::string> Sender::take_news() { return std::exchange(news_, {}); }

}  // namespace runnel::fleet
