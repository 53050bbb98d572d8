#include "services/fleet/beats.h"

namespace runnel::fleet {
namespace {

constexpr std::uint64_t kForgotten = 100;  // times of `missed`

}  // namespace

bool Beats::heard(std::string_view worker, bool leaving) {
  bool changed = false;
  if (worker == own_) {
    ++clock_;
    // Whoever is silent falls behind only when this clock moves.
    for (auto at = last_.begin(); at != last_.end();) {
      const std::uint64_t silent = clock_ - at->second;
      changed = changed || silent == missed_;
      if (silent > kForgotten * missed_) {
        gone_.push_back(at->first);
        at = last_.erase(at);
      } else {
        ++at;
      }
    }
  }
  const auto at = last_.find(worker);
  if (leaving) {
    gone_.emplace_back(worker);
    if (at == last_.end()) return changed;
    changed = changed || clock_ - at->second < missed_;
    last_.erase(at);
  } else if (at == last_.end()) {
    last_.emplace(worker, clock_);
    changed = true;
  } else {
    changed = changed || clock_ - at->second >= missed_;
    at->second = clock_;
  }
  return changed;
}

bool Beats::lives(std::string_view worker) const {
  const auto at = last_.find(worker);
  return at != last_.end() && clock_ - at->second < missed_;
}

std::vector<std::string> Beats::living() const {
  std::vector<std::string> out;
  for (const auto& [worker, last] : last_)
    if (clock_ - last < missed_) out.push_back(worker);
  return out;
}

}  // namespace runnel::fleet
