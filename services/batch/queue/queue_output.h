// What one of many workers wrote that share a queue of recordings: records in the order in which it finished
// them, in OUT.part, each noted in OUT.journal together with the recording and its place in the queue.
// `merge` puts the outputs of all workers in the order of the queue (merge_queue.h).
//
// A crash at any moment leaves complete, noted records and at most one partial one, which is cut off when the
// worker is started again. What was acknowledged to the queue is nowhere else, so an output is always
// continued, never begun anew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <unordered_set>

#include "base/status.h"
#include "services/batch/journal.h"
#include "services/batch/rows.h"
#include "services/batch/run_output.h"

namespace runnel::batch {

class QueueOutput {
 public:
  // Creates the output, or continues it: also a complete one, whose queue has grown. `head.queue` is not
  // empty, and the format is none of folders. Errors: mismatch for the output of another queue or call;
  // invalid_data for one whose journal is damaged at its start; io_error.
  static Result<QueueOutput> open(const std::filesystem::path& output, const JournalHead& head);

  // Whether the result of this place in the queue, from 0, is here.
  [[nodiscard]] bool has(std::int64_t index) const { return done_.contains(index); }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  // Results that it had when it was opened.
  [[nodiscard]] std::int64_t before() const { return before_; }

  // Adds the result of `recording`, whose index is its place in the queue and not here yet. Durable after
  // sync().
  Status append(const Recording& recording, Outcome outcome);
  // Writes all appended data to disk, so that a power failure cannot lose it.
  Status sync();
  // Writes the summary, into the output or the index depending on the format, and renames the output.
  // `total`: recordings that the queue has had so far.
  Status finish(std::int64_t total);

 private:
  Status create();
  Status resume(JournalReader& reader);

  std::filesystem::path output_;
  JournalHead head_;
  AppendFile journal_, part_;
  std::unordered_set<std::int64_t> done_;
  Totals totals_;
  Rows rows_;
  std::int64_t before_ = 0;
};

}  // namespace runnel::batch
