// What all workers hear of a stream: who owns it. Its entry (entry.h) is written every few seconds, and read
// only by whoever takes the stream; a note is written when its owner is another one, and everybody hears it.
// So what a worker hears grows with the streams that move, not with those that there are.
//
//   Runnel-Owner   worker; absent: nobody
//   Runnel-Entry   version of the entry that says so (Runnel-Version); 0: there is none yet
//   Runnel-Gone    1: the stream's log is empty
//
// Entries decide, notes may be late, lost, overtaken, or come again from a server that was left behind: what
// has a lower version than what is known says nothing. Whoever finds an entry that is newer than its note
// says so in another one.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "services/fleet/exchange.h"

namespace runnel::fleet {

struct Note {
  std::string owner;
  std::uint64_t version = 0;
  bool gone = false;

  friend bool operator==(const Note&, const Note&) = default;
};

Headers headers_of(const Note& note);
// Errors: invalid_data, with the header.
Result<Note> read_note(const Headers& headers);

}  // namespace runnel::fleet
