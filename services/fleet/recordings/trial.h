// How often a recording was tried in vain, as a note that all workers of its queue read. Only recordings that
// came a second time have one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "services/fleet/work_queue.h"

namespace runnel::fleet {

struct Trial {
  enum class State : std::uint8_t { begun, failed, apart };
  std::int64_t tries = 0;
  State state = State::begun;
  std::string recording;  // its path
  std::string worker;     // the one that wrote this
  std::string reason;     // of a failure
};

// Names of notes.
std::string trial_name(std::uint64_t sequence);
std::string apart_name(std::uint64_t sequence);

std::string text_of(const Trial& trial);
// Error: invalid_data.
Result<Trial> parse_trial(std::string_view text);

}  // namespace runnel::fleet
