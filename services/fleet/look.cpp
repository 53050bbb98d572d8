#include "services/fleet/look.h"

#include <algorithm>

namespace runnel::fleet {
namespace {

constexpr std::chrono::milliseconds kEach{10};
constexpr std::chrono::seconds kWrong{5}, kSoon{10};
// Servers that choose a leader take their time for the first entry; then they come in one go.
constexpr std::chrono::seconds kFirst{10}, kNext{2};

}  // namespace

Look::Look(Exchange& exchange, std::string filter, Time every, std::uint64_t part)
    : exchange_(exchange), filter_(std::move(filter)), every_(every), part_(part % 1000), pause_(kSoon) {}

void Look::work(Time now, std::size_t streams, bool wrong) {
  if (ended_) return;
  const Time every = std::max<Time>(every_, kEach * static_cast<std::int64_t>(streams));
  if (!last_) last_ = now - every * static_cast<std::int64_t>(part_) / 1000;
  if (!wrong) {
    wrong_since_.reset();
    pause_ = std::min<Time>(kSoon, every_);
  } else if (!wrong_since_) {
    wrong_since_ = now;
  }
  if (feed_ != 0 && now >= until_) stop();
  if (feed_ != 0) return;
  const bool soon = wrong_since_ && now - *wrong_since_ >= kWrong;
  if (now < *last_ + (soon ? std::min(pause_, every) : every)) return;
  if (soon) pause_ = std::min<Time>(2 * pause_, every);
  last_ = now;
  feed_ = exchange_.watch(filter_);
  until_ = now + kFirst;
}

// Those that are saved meanwhile come, too: they do not prolong it.
void Look::delivered(std::uint64_t waiting, Time now) { until_ = waiting == 0 ? now : now + kNext; }

void Look::end() {
  ended_ = true;
  stop();
}

}  // namespace runnel::fleet
