// What the exchange keeps of a stream: who owns it, and from where another worker would go on. The headers
// are seen by all workers; the data, which is the saved state, only by a new owner.
//
//   Runnel-Owner   worker, or empty
//   Runnel-Graph   identity of graph and models, 8 hexadecimal digits
//   Runnel-Covered sequence of the last message of the stream's log that the state has heard
//   Runnel-Format, Runnel-Run, Runnel-Next   of the run under way: its format, number, next sample
//   Runnel-Events  events of the stream before the state, of all runs
//   Runnel-Ended   1: the run has ended
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "services/fleet/exchange.h"
#include "services/serve/stream.h"

namespace runnel::fleet {

struct Entry {
  std::string owner;
  std::uint32_t graph = 0;
  std::uint64_t covered = 0;
  std::optional<serve::SampleFormat> format;  // none: no run has begun
  std::uint64_t run = 0;
  std::int64_t next = 0;
  std::uint64_t events = 0;
  bool ended = false;

  friend bool operator==(const Entry&, const Entry&) = default;
};

Headers headers_of(const Entry& entry);
// Errors: invalid_data, with the header.
Result<Entry> read_entry(const Headers& headers);

}  // namespace runnel::fleet
