#include "services/net/access/admission.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace runnel::net {
namespace {

constexpr std::chrono::seconds kBetweenForgetting(1);

bool is_nobody(const ClientKey& key) noexcept {
  return std::all_of(key.begin(), key.end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

ClientKey key_of(const sockaddr_storage& address, bool counts_own_machine) noexcept {
  ClientKey key{};
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (address.ss_family == AF_INET) {
    std::copy(kMapped.begin(), kMapped.end(), key.begin());
    std::memcpy(key.data() + 12, &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr, 4);
  } else if (address.ss_family == AF_INET6) {
    std::memcpy(key.data(), &reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr, 16);
  } else {
    return key;
  }
  const bool v4 = std::equal(kMapped.begin(), kMapped.end(), key.begin());
  constexpr ClientKey kLoopback6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const bool own = v4 ? key[12] == 127 : key == kLoopback6;
  if (own && !counts_own_machine) return {};
  // A customer of IPv6 has at least such a network, so single addresses would cost nothing.
  if (!v4 && !own) std::fill(key.begin() + 8, key.end(), std::uint8_t{0});
  return key;
}

std::size_t Admission::Hash::operator()(const ClientKey& key) const noexcept {
  std::uint64_t high = 0, low = 0;
  std::memcpy(&high, key.data(), 8);
  std::memcpy(&low, key.data() + 8, 8);
  std::uint64_t mixed = (high ^ (low * 0x9E3779B97F4A7C15ULL)) * 0xBF58476D1CE4E5B9ULL;
  mixed ^= mixed >> 31U;
  return static_cast<std::size_t>(mixed);
}

// Those that have no connection, and whose pause was long enough for a full burst.
void Admission::forget_idle(Time now) {
  if (now - forgot_ < kBetweenForgetting) return;
  forgot_ = now;
  std::erase_if(entries_, [&](const auto& item) {
    const Entry& entry = item.second;
    const double since = std::chrono::duration<double>(now - entry.counted).count();
    return entry.connections == 0 && entry.credit + since * limits_.rate >= limits_.burst;
  });
}

Admission::Entry& Admission::entry_of(const ClientKey& key, Time now) {
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    if (entries_.size() >= limits_.most_addresses) forget_idle(now);
    if (entries_.size() >= limits_.most_addresses) return others_;
    found = entries_.emplace(key, Entry{0, limits_.burst, now}).first;
  }
  return found->second;
}

Admission::Answer Admission::enter(const ClientKey& key, Time now) {
  if (is_nobody(key)) return Answer::yes;
  const std::lock_guard lock(mutex_);
  Entry& entry = entry_of(key, now);
  const double since = std::max(0.0, std::chrono::duration<double>(now - entry.counted).count());
  entry.credit = std::min(limits_.burst, entry.credit + since * limits_.rate);
  entry.counted = now;
  Answer answer = Answer::yes;
  if (limits_.most_connections > 0 && entry.connections >= limits_.most_connections)
    answer = Answer::too_many;
  else if (limits_.rate > 0 && entry.credit < 1)
    answer = Answer::too_fast;
  if (answer != Answer::yes) {
    ++turned_away_;
    return answer;
  }
  entry.credit -= 1;
  ++entry.connections;
  return answer;
}

void Admission::leave(const ClientKey& key) noexcept {
  if (is_nobody(key)) return;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  // One that came while there was no room for its address is among the others, also if it has got an entry
  // since: then the entry has no connection of its own left to give up.
  Entry& entry = found == entries_.end() || found->second.connections == 0 ? others_ : found->second;
  entry.connections = std::max(0, entry.connections - 1);
}

void Admission::blame(const ClientKey& key) noexcept {
  if (is_nobody(key)) return;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  Entry& entry = found == entries_.end() ? others_ : found->second;
  // Down to a debt of one burst: beyond that a mistake would be remembered for hours.
  entry.credit = std::max(entry.credit - kBlame, -limits_.burst);
}

std::uint64_t Admission::turned_away() const noexcept {
  const std::lock_guard lock(mutex_);
  return turned_away_;
}

std::string_view sentence_of(Admission::Answer answer) noexcept {
  switch (answer) {
    case Admission::Answer::too_many:
      return "this address has too many connections already; close some, or come back later";
    case Admission::Answer::too_fast:
      return "this address makes connections too fast, or has failed too often; come back later";
    default:
      return {};
  }
}

}  // namespace runnel::net
