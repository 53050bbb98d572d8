#include "services/fleet/events/reader.h"

#include <algorithm>
#include <utility>

#include "services/fleet/chunk.h"

namespace runnel::fleet {
namespace {

constexpr std::chrono::milliseconds kAgain{200}, kSilence{2000}, kReader{2000};
constexpr std::size_t kReaders = 4;  // for each copy
// Copies number differently: a new consumer begins so many messages before the hole, and the next one four
// times as many where that was behind it.
constexpr std::uint64_t kBack = 64;
constexpr std::size_t kFarthest = 10;  // beyond that: from the beginning

}  // namespace

std::uint64_t event_number(const Headers& headers) {
  const std::string* const text = find(headers, kEventHeader);
  if (text == nullptr) return 0;
  // One below the highest, so that the next one is a number, too.
  const auto value = read_number(*text, ~std::uint64_t{0} - 1);
  return value.ok() ? *value : 0;
}

EventReader::EventReader(Exchange& exchange, std::string subject, std::uint64_t from)
    : exchange_(exchange), subject_(std::move(subject)), next_(from) {}

EventReader::~EventReader() {
  if (feed_ != 0) exchange_.leave(feed_);
  if (search_ && search_->feed != 0) exchange_.leave(search_->feed);
}

void EventReader::follow() {
  if (feed_ != 0) exchange_.leave(feed_);
  feed_ = exchange_.follow(subject_, sequence_ > kBack ? sequence_ - kBack : 1);
  newest_ = 0;
}

std::optional<EventReader::Event> EventReader::take() {
  if (ready_.empty()) return {};
  Event out = std::move(ready_.front());
  ready_.pop_front();
  return out;
}

bool EventReader::delivered(Delivery& delivery, Time now) {
  if (delivery.feed == 0) return false;
  if (delivery.feed == feed_) {
    heard_ = now;
    take_in(std::move(delivery.message), false);
    // The log keeps the rest.
    if (held_.size() >= kMostHeld) exchange_.leave(std::exchange(feed_, 0));
    return true;
  }
  if (!search_ || delivery.feed != search_->feed) return false;
  if (!goes_on(now)) return true;
  search_->patience = now + kReader;
  const std::uint64_t number = event_number(delivery.message.headers);
  // A reading may begin behind the hole, or go on at a copy that numbers lower.
  if (number != 0 && number + 1 == search_->hole) search_->covers = true;
  if (number < search_->until || search_->at_end) take_in(std::move(delivery.message), true);
  if (!goes_on(now) || number < search_->until) return true;
  // One copy has said all that it has, if the event before the hole came.
  said(search_->covers);
  return true;
}

// A reading has ended.
void EventReader::said(bool all) {
  exchange_.leave(std::exchange(search_->feed, 0));
  if (all)
    --search_->readers_left;
  else
    ++wider_;
}

// False: nothing is missing any more. What is missing further on may come by the same reading.
bool EventReader::goes_on(Time now) {
  Search& it = *search_;
  if (next_ < it.until || (next_ == it.until && it.at_end)) return true;
  if (it.feed == 0 || held_.empty()) {
    end_search(true);
    return false;
  }
  it.hole = next_;
  it.until = held_.begin()->first;
  it.at_end = it.whole = false;
  it.covers = true;
  it.readers_left = kReaders * exchange_.copies(subject_);
  it.begun = now;
  return true;
}

void EventReader::take_in(Message message, bool other) {
  const std::uint64_t number = event_number(message.headers);
  if (number == 0) {
    if (!other) ++counts_.nameless;
    return;
  }
  if (next_ == 0) next_ = number;
  if (!other) {
    if (number <= newest_ && message.sequence > sequence_) ++counts_.doubled;
    newest_ = std::max(newest_, number);
    if (number == next_) sequence_ = message.sequence;
  }
  if (number < next_ || !held_.try_emplace(number, std::move(message)).second) return;
  if (other) ++counts_.mended;
  settle();
}

void EventReader::settle() {
  for (auto at = held_.begin(); at != held_.end() && at->first == next_; at = held_.erase(at)) {
    ready_.push_back({next_, std::exchange(missing_, 0), std::move(at->second)});
    ++next_;
  }
}

void EventReader::work(Time now) {
  if (!heard_) heard_ = now;
  if (feed_ == 0 && held_.size() < kMostHeld / 2) follow();
  if (!search_) {
    const bool at_end = held_.empty();
    if (at_end && (next_ > end_ || now - *heard_ < kSilence)) return;
    Search search;
    search.hole = next_;
    search.at_end = at_end;
    search.until = at_end ? end_ : held_.begin()->first;
    const std::size_t copies = exchange_.copies(subject_);
    // Of one copy only the end may come late.
    search.readers_left = copies > 1 ? kReaders * copies : at_end ? kReaders : 0;
    search.begun = now;
    search_ = search;
  }
  search(now);
}

void EventReader::search(Time now) {
  Search& it = *search_;
  if (!goes_on(now)) return;
  // A part of it came.
  if (std::exchange(it.hole, next_) != next_) it.begun = now;
  if (it.feed != 0 && now >= it.patience) {
    // Behind the end of a copy comes nothing. In its middle its server does not give what it has, which says
    // nothing, or the reading began behind its end.
    said(it.at_end && it.covers);
    it.not_before = it.at_end ? now : now + kAgain;
  }
  if (it.feed != 0) return;
  // The event before the hole may have come from behind it, where a copy has it twice.
  if (it.readers_left == 0 && !it.whole && exchange_.copies(subject_) > 1) {
    it.whole = true;
    it.readers_left = kReaders * exchange_.copies(subject_);
  }
  if (it.readers_left == 0 || now - it.begun >= Older::kPatience) return end_search(false);
  if (now < it.not_before) return;
  const std::uint64_t back = wider_ < kFarthest && !it.whole ? kBack << 2 * wider_ : sequence_;
  const std::uint64_t from = sequence_ > back ? sequence_ - back : 1;
  it.feed = exchange_.follow(subject_, from);
  it.covers = it.hole <= 1;
  it.patience = now + kReader;
}

void EventReader::end_search(bool found) {
  if (search_->feed != 0) exchange_.leave(search_->feed);
  search_.reset();
  heard_.reset();
  if (found) return follow();  // the copy that lacked them may lack more
  const std::uint64_t until = held_.empty() ? end_ + 1 : held_.begin()->first;
  missing_ += until - next_;
  counts_.missing += until - next_;
  next_ = until;
  settle();
}

}  // namespace runnel::fleet
