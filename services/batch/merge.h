// Shards put together: the records of all, in the order of the whole list.
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

// Takes a line of the index and where its records begin (IndexFiles).
using WriteIndex = std::function<Status(OutputFormat, std::string_view line, std::int64_t at)>;

struct Merged {
  Totals totals;
  bool timing = true;  // as the runs were told
};

// Checks that these outputs, in any order, are all shards of one run, each complete and as its journal says,
// and gives their records to `write` in order, with the summary of all; of formats with an index, its lines
// to `index`. Memory: the lists of the shards. Errors: not_found for a shard or journal that is missing,
// mismatch for shards of different runs, invalid_data for one that is not complete or not as its journal
// says.
Result<Merged> merge(std::span<const std::filesystem::path> shards,
                     const std::function<Status(std::string_view)>& write, const WriteIndex& index = {});

}  // namespace runnel::batch
