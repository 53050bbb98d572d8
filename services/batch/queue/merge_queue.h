// Merges the outputs of all workers of a queue: the records of every recording once, in the order of the
// queue, whoever wrote them and however often.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "services/batch/merge.h"

namespace runnel::batch {

// Whether the journal of this output is of a worker of a queue.
bool is_of_queue(const std::filesystem::path& output);

// As merge(). An output may be incomplete (OUT.part, of a worker that has died): what its journal names
// counts. Of several results of one recording a good one goes before a failure; two good ones must be equal.
// Errors: not_found when recordings are in none of the outputs, or when none of the workers saw the end of
// the queue; mismatch for outputs of different queues or calls, for two results that differ, and for two
// recordings with one key where outputs are addressed by key; invalid_data for an output that does not fit
// its journal.
Result<Merged> merge_queue(std::span<const std::filesystem::path> outputs,
                           const std::function<Status(std::string_view)>& write, const WriteIndex& index);

}  // namespace runnel::batch
