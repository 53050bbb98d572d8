#include "services/fleet/beats.h"

namespace runnel::fleet {

void Beats::heard(std::string_view worker, bool leaving) {
  if (worker == own_) ++clock_;
  const auto at = last_.find(worker);
  if (leaving) {
    if (at != last_.end()) last_.erase(at);
  } else if (at == last_.end()) {
    last_.emplace(worker, clock_);
  } else {
    at->second = clock_;
  }
  // Names of workers that are long gone are forgotten.
  std::erase_if(last_, [&](const auto& one) { return clock_ - one.second > 1000 * missed_; });
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
