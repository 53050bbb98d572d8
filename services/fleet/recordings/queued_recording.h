// Recordings as items of a queue: what a message says, and what a worker on another machine makes of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/batch/recordings/recordings.h"
#include "services/fleet/work_queue.h"

namespace runnel::fleet {

// The entries of a list, in its order. Paths below `root` (absolute; empty: none)
// become relative to it. A recording that the list has several times is an entry each time, and the same list
// gives the same entries again.
std::vector<QueueEntry> entries_of(const batch::Recordings& list, std::string_view root);

// What an item names, on this machine: `index` is its place in the queue, from 0, size and time are those of
// the file here. Error: invalid_data for a message that is none of entries_of().
Result<batch::Recording> recording_of(const QueueItem& item, std::int64_t& bytes);

// Checks that the file is the one that was enqueued, by its size there (-1: it was missing), and, if
// `inside`, that its path does not lead out of the root. Errors: mismatch, invalid_argument.
Status check_queued(const batch::Recording& recording, std::int64_t bytes, bool inside);

}  // namespace runnel::fleet
