#include "services/fleet/beats.h"

#include <algorithm>

namespace runnel::fleet {
namespace {

constexpr std::uint64_t kForgotten = 100;  // times of `missed`

}  // namespace

bool Beats::heard(std::string_view worker, Kind kind, std::uint64_t sequence) {
  bool changed = false;
  if (worker == own_) {
    ++clock_;
    // Whoever is silent falls behind only when this clock moves.
    for (auto at = last_.begin(); at != last_.end();) {
      const std::uint64_t silent = clock_ - at->second.time;
      changed = changed || silent == missed_;
      if (silent > kForgotten * missed_) {
        gone_.push_back({at->first, at->second.sequence});
        at = last_.erase(at);
      } else {
        ++at;
      }
    }
  }
  if (kind == Kind::joining) return changed;
  const auto at = last_.find(worker);
  if (kind == Kind::leaving) {
    gone_.push_back({std::string(worker), sequence});
    if (at == last_.end()) return changed;
    changed = changed || clock_ - at->second.time < missed_;
    last_.erase(at);
  } else if (at == last_.end()) {
    last_.emplace(worker, Last{clock_, sequence});
    changed = true;
  } else {
    changed = changed || clock_ - at->second.time >= missed_;
    at->second = {clock_, sequence};
  }
  return changed;
}

bool Beats::joined() const {
  if (clock_ == 0) return false;
  return std::all_of(last_.begin(), last_.end(),
                     [&](const auto& one) { return one.second.time > 0 || clock_ >= missed_; });
}

bool Beats::lives(std::string_view worker) const {
  const auto at = last_.find(worker);
  return at != last_.end() && clock_ - at->second.time < missed_;
}

std::vector<std::string> Beats::living() const {
  std::vector<std::string> out;
  for (const auto& [worker, last] : last_)
    if (clock_ - last.time < missed_) out.push_back(worker);
  return out;
}

}  // namespace runnel::fleet
