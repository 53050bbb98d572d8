// Answers that are older than what is known. A server of a cluster that was cut off believes for some seconds
// that it still leads, and says what it knew; one that was just chosen may not have read all yet. What an
// answer says is therefore used only if it is as new as anything that was seen before.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace runnel::fleet {

class Older {
 public:
  // If nothing newer comes for so long, a log has truly gone back, for instance to a copy of the day before.
  static constexpr std::chrono::nanoseconds kPatience = std::chrono::seconds(30);

  // Whether the answer with the message `found` (0: none) must be asked for again, where `known` was seen.
  bool distrusted(std::uint64_t found, std::uint64_t known, std::chrono::nanoseconds now) noexcept {
    if (found >= known) {
      since_.reset();
      return false;
    }
    if (!since_) since_ = now;
    if (now - *since_ < kPatience) return true;
    since_.reset();
    return false;
  }

 private:
  std::optional<std::chrono::nanoseconds> since_;  // the first of those older answers
};

}  // namespace runnel::fleet
