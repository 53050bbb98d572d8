#include "services/fleet/doubt.h"

#include <algorithm>

#include "services/fleet/chunk.h"

namespace runnel::fleet {
namespace {

using Position = std::pair<std::uint64_t, std::int64_t>;

constexpr std::chrono::milliseconds kAgain{200}, kReader{1000};
// Where copies number differently, what is missing may have a lower number than what was heard.
constexpr std::uint64_t kBack = 64;
constexpr std::size_t kReaders = 4;  // for each copy
// Where a leader numbers lower than the copy that was read, it knows of no message from that number on.
constexpr int kMostNothing = 5;
// Messages of the log that bring nothing: then its leader has said enough.
constexpr std::size_t kMostAsked = 2 * Doubt::kMostMessages;

}  // namespace

Doubt::Doubt(Exchange& exchange, std::string subject, const Gap& gap)
    : exchange_(exchange),
      subject_(std::move(subject)),
      gap_(gap),
      from_(gap.covered + 1),
      at_(gap.run, gap.next) {
  const std::size_t copies = exchange_.copies(subject_);
  readers_left_ = copies > 1 ? kReaders * copies : 0;
}

Doubt::~Doubt() { leave(); }

void Doubt::leave() {
  if (feed_ != 0) exchange_.leave(std::exchange(feed_, 0));
}

void Doubt::work(Time now) {
  if (over_) return;
  if (!begun_) begun_ = now;
  const Time end = *begun_ + Older::kPatience;
  if (now >= end) {
    leave();
    over_ = true;
    return;
  }
  if (feed_ != 0 && now >= until_) {
    // Its server does not give what it has: this says nothing.
    leave();
    not_before_ = now + kAgain;
    over_ = !found_.empty();
    if (over_) return;
  }
  if (request_ == 0 && feed_ == 0 && now >= not_before_) {
    if (by_log_) {
      request_ = exchange_.first(subject_, from_);
    } else {
      at_ = {gap_.run, gap_.next};
      feed_ = exchange_.follow(subject_, from_ > kBack ? from_ - kBack : 1);
      until_ = now + kReader;
    }
  }
  due_ = std::min(end, feed_ != 0 ? until_ : request_ != 0 ? end : not_before_);
}

void Doubt::answered(Answer answer, Time now) {
  if (answer.request != request_ || request_ == 0) return;
  request_ = 0;
  // The message behind the gap is there: who does not know of it has not read all yet.
  if (answer.outcome != Answer::Outcome::done || !answer.message) {
    not_before_ = now + kAgain;
    if (answer.outcome == Answer::Outcome::done && readers_left_ > 0 && ++nothing_ >= kMostNothing) {
      over_ = !found_.empty();
      by_log_ = false;
      from_ = gap_.covered + 1;
    }
    return;
  }
  const std::uint64_t next = answer.message->sequence + 1;
  if (take_in(*std::move(answer.message)) == Said::reached || ++asked_ >= kMostAsked) return reached();
  from_ = std::max(from_ + 1, next);
}

void Doubt::delivered(Message message, std::uint64_t feed, Time) {
  if (feed != feed_ || feed_ == 0 || over_) return;
  if (take_in(std::move(message)) == Said::reached) reached();
}

// One copy has said all that it has.
void Doubt::reached() {
  leave();
  over_ = over_ || !found_.empty() || readers_left_ == 0;
  if (over_) return;
  if (!std::exchange(by_log_, false)) --readers_left_;
  from_ = gap_.covered + 1;
  over_ = readers_left_ == 0;
}

Doubt::Said Doubt::take_in(Message message) {
  unpack(message);
  const auto chunk = read_chunk(message);
  if (!chunk.ok()) return Said::more;  // what cannot be used fills no gap
  const Position begin{chunk->run, chunk->first}, end{chunk->run, chunk->first + chunk->samples};
  if (begin >= Position{gap_.found_run, gap_.found}) return Said::reached;
  const bool ends = chunk->end && gap_.begun && chunk->run == gap_.run && end == at_;
  if (end < at_ || (end == at_ && !ends)) return Said::more;
  if ((chunk->run == gap_.run && !(chunk->format == gap_.format)) ||
      (chunk->run == gap_.found_run && !(chunk->format == gap_.found_format)))
    return Said::more;
  at_ = end;
  bytes_ += message.data.size();
  found_.push_back(std::move(message));
  return found_.size() >= kMostMessages || bytes_ >= kMostBytes ? Said::reached : Said::more;
}

}  // namespace runnel::fleet
