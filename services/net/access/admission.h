// How many connections an address may have, and how often it may make new ones.
#pragma once

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "services/net/limits.h"

namespace runnel::net {

// An IPv4 address, or the network of an IPv6 address.
using ClientKey = std::array<std::uint8_t, 16>;
// All zeros for what is not counted: this machine itself, and sockets without an address.
ClientKey key_of(const sockaddr_storage& address, bool counts_own_machine) noexcept;

// Thread-safe.
class Admission {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Limits {
    int most_connections = kMostConnections;  // of an address at a time; 0: any number
    double rate = kConnectionRate;            // new ones a second; 0: any number
    double burst = kConnectionBurst;
    // Whether they hold for this machine's own addresses: behind a proxy, all clients seem to have one.
    bool own_machine = false;
    std::size_t most_addresses = kMostAddresses;
  };
  enum class Answer : std::uint8_t { yes, too_many, too_fast };

  explicit Admission(const Limits& limits) : limits_(limits), others_{0, limits.burst, {}} {}
  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }

  // Counts a connection, if it may come in.
  Answer enter(const ClientKey& key, Time now);
  void leave(const ClientKey& key) noexcept;
  // It has shown a wrong token, or nothing that can be understood.
  void blame(const ClientKey& key) noexcept;
  // Connections that were turned away, since the start.
  [[nodiscard]] std::uint64_t turned_away() const noexcept;

 private:
  struct Entry {
    int connections = 0;
    double credit = 0;  // connections that it may make
    Time counted;       // when credit was right
  };
  struct Hash {
    std::size_t operator()(const ClientKey& key) const noexcept;
  };
  Entry& entry_of(const ClientKey& key, Time now);
  void forget_idle(Time now);

  Limits limits_;
  mutable std::mutex mutex_;
  std::unordered_map<ClientKey, Entry, Hash> entries_;
  Entry others_;  // all that do not fit, together
  Time forgot_{};
  std::uint64_t turned_away_ = 0;
};

// A connection's place among those of its address, given up with the object. Moves; the default has none.
class Place {
 public:
  Place() = default;
  Place(std::shared_ptr<Admission> admission, const ClientKey& key) noexcept
      : admission_(std::move(admission)), key_(key) {}
  Place(Place&& other) noexcept : admission_(std::exchange(other.admission_, nullptr)), key_(other.key_) {}
  Place& operator=(Place&& other) noexcept {
    std::swap(admission_, other.admission_);
    std::swap(key_, other.key_);
    return *this;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (admission_ != nullptr) admission_->leave(key_);
  }
  void blame() const noexcept {
    if (admission_ != nullptr) admission_->blame(key_);
  }
  [[nodiscard]] const ClientKey& key() const noexcept { return key_; }
  // Hands it over as its key, of which Place(admission, key) makes a place again.
  ClientKey release() noexcept {
    admission_.reset();
    return key_;
  }

 private:
  std::shared_ptr<Admission> admission_;
  ClientKey key_{};
};

// The sentence for a client that is turned away.
std::string_view sentence_of(Admission::Answer answer) noexcept;

}  // namespace runnel::net
