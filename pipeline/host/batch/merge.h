// Shards put together: the records of all, in the order of the whole list.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "pipeline/host/batch/outcome.h"

namespace runnel::batch {

// Checks that these outputs, in any order, are all shards of one run, each complete and as its journal says, and gives their records to
// `write` in order, with the summary of all. Memory: the lists of the shards. Errors: not_found for a shard or journal that is missing,
// mismatch for shards of different runs, invalid_data for one that is not complete or not as its journal says.
Result<Totals> merge(std::span<const std::filesystem::path> shards, const std::function<Status(std::string_view)>& write);

}  // namespace runnel::batch
