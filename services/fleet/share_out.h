// Which worker should run which stream. All workers compute it from what the exchange says, so that they need
// not talk to each other; where they know different things for a moment, the condition of an append decides.
// This is the definition, which looks at every stream; shares.h computes the same for one worker.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace runnel::fleet {

// The owner of each stream; "" where there is none, or it is no worker that lives.
using Owners = std::map<std::string, std::string, std::less<>>;

// An owner among `workers` for every stream: none has more than one stream more than another, and a stream
// moves only where that is needed. The same for every order of `workers`; {} without workers.
Owners share_out(const Owners& now, std::vector<std::string> workers);

// FNV-1a, the same on every machine.
std::uint64_t hash_of(std::string_view first, std::string_view second) noexcept;

}  // namespace runnel::fleet
