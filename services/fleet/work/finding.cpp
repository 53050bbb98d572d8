// Who lives, which streams there are, and whose each should be.
#include <algorithm>
#include <utility>

#include "services/fleet/work/worker_stream.h"

namespace runnel::fleet {
namespace {

// For each stream of the fleet: a list of all has megabytes, and a sharing looks at many.
constexpr Time kListEach = std::chrono::microseconds(50), kShareEach = std::chrono::microseconds(1);
// One worker looks for new streams; where there are many, the others do so rarely.
constexpr int kRarely = 30;
// A list may miss what comes while it is made, and those of a server that was left behind what came later.
constexpr std::uint8_t kAbsentLists = 3;
constexpr Time kAbsent = Older::kPatience;

}  // namespace

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

}  // namespace runnel::fleet
