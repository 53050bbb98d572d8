// One connection of an entrance: what comes from each side goes to the other one. Included only by what links
// OpenSSL.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "services/net/tls/channel.h"

namespace runnel::net {

// Not thread-safe; never waits.
class TlsLink {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Owns both. `local`: non-blocking.
  TlsLink(std::unique_ptr<Channel> outside, int local) : outside_(std::move(outside)), local_(local) {}
  ~TlsLink();
  TlsLink(const TlsLink&) = delete;
  TlsLink& operator=(const TlsLink&) = delete;

  // Carries what there is, through `room`. False: the connection is over.
  bool carry(std::span<char> room, Time now);
  // What to wait for, as for poll().
  [[nodiscard]] short outside_events() const noexcept;
  [[nodiscard]] short local_events() const noexcept;
  [[nodiscard]] int outside() const noexcept { return outside_->socket(); }
  [[nodiscard]] int local() const noexcept { return local_; }
  // The server has said all, and the client has not taken it within kLinger.
  [[nodiscard]] bool is_late(Time now) const noexcept;

 private:
  static constexpr std::chrono::milliseconds kLinger{5000};

  bool carry_in(std::span<char> room, bool& moved);
  bool carry_out(std::span<char> room, bool& moved);

  std::unique_ptr<Channel> outside_;
  int local_;
  std::string inward_, outward_;                  // read from one side, not taken by the other
  bool heard_all_ = false, told_server_ = false;  // the client says nothing more
  bool said_all_ = false, told_client_ = false;   // the server does not
  Time moved_{};
};

}  // namespace runnel::net
