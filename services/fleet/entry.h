// What the exchange keeps of a stream: who owns it, and from where another worker would go on. It is read by
// a new owner, whose saved state the data are, and by those who ask about a fleet (what all workers hear:
// note.h).
//
//   Runnel-Owner   worker; absent: nobody
//   Runnel-Graph   identity of graph and models, 8 hexadecimal digits
//   Runnel-Covered sequence of the last message of the stream's log that the state has heard
//   Runnel-Format, Runnel-Run, Runnel-Next   of the run under way: its format, number, next sample
//   Runnel-Events  events of the stream before the state, of all runs
//   Runnel-Ended   1: the run has ended
//   Runnel-Change  of the last change of the graph: how many there were; the last message that the graph
//   before
//                  it heard; run and sample from which the present one hears; the number of its event
//   Runnel-Version how often the entry was written. Sequences are numbers of a server, and those of two
//   servers
//                  may differ where one has lost its way; this one is the fleet's own
//   Runnel-Becomes a change is about to happen at this state: the graph after it
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "services/fleet/exchange.h"
#include "services/serve/stream.h"

namespace runnel::fleet {

// A change of the graph of a stream. It is the event `number` of the stream, and takes place between two
// samples: those of messages after `covered`, from `sample` of the run `run` on, are heard by the graph after
// it.
struct Change {
  std::uint64_t count = 0;  // changes of the stream so far, this one included; 0: none
  std::uint64_t covered = 0, run = 0;
  std::int64_t sample = 0;
  std::uint64_t number = 0;

  friend bool operator==(const Change&, const Change&) = default;
};
constexpr std::string_view kChangeHeader = "Runnel-Change", kGraphHeader = "Runnel-Graph";
std::string text_of(const Change& change);
// Error: invalid_data.
Result<Change> read_change(std::string_view text);

// A graph with its models as 8 hexadecimal digits.
std::string digits_of(std::uint32_t graph);
// Error: invalid_data.
Result<std::uint32_t> read_digits(std::string_view text);

struct Entry {
  std::string owner;
  std::uint32_t graph = 0;
  std::uint64_t covered = 0;
  std::optional<serve::SampleFormat> format;  // none: no run has begun
  std::uint64_t run = 0;
  std::int64_t next = 0;
  std::uint64_t events = 0;
  bool ended = false;
  Change change;
  std::optional<std::uint32_t> becomes;
  std::uint64_t version = 0;  // 0: it was never written

  friend bool operator==(const Entry&, const Entry&) = default;
};

Headers headers_of(const Entry& entry);
// Errors: invalid_data, with the header.
Result<Entry> read_entry(const Headers& headers);

}  // namespace runnel::fleet
