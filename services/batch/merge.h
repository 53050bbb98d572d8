// Merges shards: the records of all, in the order of the whole list. Outputs of workers that shared a queue
// are merged by queue/merge_queue.h.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "services/batch/outcome.h"
#include "services/batch/output_format.h"

namespace runnel::batch {

// Takes a line of the index and the position of its records (IndexFiles).
using WriteIndex = std::function<Status(OutputFormat, std::string_view line, std::int64_t at)>;

struct Merged {
  Totals totals;
  bool timing = true;  // as in the runs
};

// Checks that these outputs, in any order, are all shards of one run, each complete and consistent with its
// journal. Gives their records to `write` in order, with the merged summary, and the lines of the index, if
// the format has one, to `index`. Memory: the lists of the shards. Errors: not_found for a missing shard or
// journal, mismatch for shards of different runs, invalid_data for one that is incomplete or inconsistent
// with its journal.
Result<Merged> merge(std::span<const std::filesystem::path> shards,
                     const std::function<Status(std::string_view)>& write, const WriteIndex& index = {});

}  // namespace runnel::batch
