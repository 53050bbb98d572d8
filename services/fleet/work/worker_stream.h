// What a worker keeps of each stream, for the files of Worker alone.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/fleet/doubt.h"
#include "services/fleet/entry.h"
#include "services/fleet/work/worker.h"

namespace runnel::fleet {

inline constexpr std::string_view kLeaving = "Runnel-Leaving", kJoining = "Runnel-Joining";
// Others are told what a stream's entry says if its owner has not done so by then.
inline constexpr Time kTellForOthers = std::chrono::seconds(1);
inline constexpr Time kPauseAfterFailure = std::chrono::milliseconds(200),
                      kPauseAfterRefusal = std::chrono::seconds(1),
                      kPauseWhenBroken = std::chrono::seconds(30);

// While it is claimed, or owned.
struct Worker::Holding {
  enum class Place : std::uint8_t {
    reading,   // its entry, to claim it
    claiming,  // the entry with this owner is under way
    asking,    // for the end of the log of events
    here,      // owned
  };
  std::uint64_t number = 0;  // of all that this worker had
  Place place = Place::reading;
  std::uint64_t sequence = 0;   // of the newest entry, by the server that said so: for conditions
  std::uint64_t version = 0;    // and the entry's own number
  Entry entry;                  // with which it was claimed
  std::vector<std::byte> data;  // of this entry
  std::unique_ptr<OwnedStream> owned;
  std::uint64_t feed = 0;                           // 0: no more chunks are taken now
  std::unique_ptr<Doubt> doubt;                     // of a gap in the stream
  std::uint64_t doubt_request = 0, doubt_feed = 0;  // as far as this worker knows
  Time doubt_due{0};
  std::uint64_t taken_at = 0;  // sequence of the last chunk in the log at that time, once it is known
  std::deque<Time> arrivals;   // of the chunks that wait
  bool saving = false, handing_over = false, save_due = false, broken = false;
  Time mended{0};  // broken: when it is tried again
  Entry save;      // under way
  // By the rules:
  std::uint32_t wanted = 0;
  std::optional<std::int64_t> wanted_at;
  Time next_save{0}, woken{0};
  std::uint64_t saved_covered = 0;
};

// Small, because every worker has one for each stream of the fleet.
struct Worker::Stream {
  explicit Stream(const std::string& its) : name(its) {}
  const std::string& name;
  Id id = 0;
  // Of the entry or note that said whose it is. Owners write newer entries all the time.
  std::uint64_t version = 0;
  std::uint64_t tried = 0;  // the version of an entry that was refused
  std::uint64_t sharing = 0, list = 0;
  Time not_before{0}, tell_at{0};
  Older older;              // answers about the entry
  Time absent_since{0};     // the first list without it
  std::uint8_t absent = 0;  // such lists
  bool mine = false;        // by the last sharing
  bool refused = false;     // its entry cannot be used here
  bool gone = false;        // its log is empty
  bool noted = false;       // it has a note
  bool tell_due = false, telling = false, touched = false, waits_to_claim = false;
  std::unique_ptr<Holding> holding;
};

}  // namespace runnel::fleet
