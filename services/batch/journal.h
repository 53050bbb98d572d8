// The journal of a run: OUT.journal beside the output OUT. Append-only text; every line is a JSON object that
// ends in its own checksum, so that a line cut by a crash is detected.
//
//     {"runnel_batch":2,"call":..,"list":..,"total":..,"shard":..,"shards":..,"here":..,"prefix":..,"timing":1,"format":"jsonl","sum":"1f2e3d4c"}
//     {"path":..,"listed":{..},"sum":..}                      one for each recording of this shard
//     {"done":7,"at":1024,"length":310,"crc":..,..,"sum":..}  one for each finished one, in the same order
//     {"end":1334,"sum":..}                                   the output is complete and renamed
//
// Of a worker that shares a queue with others (queue_output.h) the head has "queue" and no list follows; each
// finished recording is in its line, "recording":"{..}", and the last line has the length of the queue,
// "total".
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/batch/outcome.h"
#include "services/batch/output_format.h"
#include "services/batch/recordings/recordings.h"
#include "services/batch/recordings/shard.h"

namespace runnel::batch {

struct JournalHead {
  std::uint32_t call = 0;  // checksum of the call: model, graph, options
  std::uint32_t list = 0;  // checksum of the recordings of all shards
  std::int64_t total = 0;  // number of these
  std::int64_t here = 0;   // of this shard
  Shard shard;
  std::string prefix;  // start of the output (the header of a CSV)
  bool timing = true;  // the summary contains processing times
  OutputFormat format = OutputFormat::jsonl;
  std::string queue{};  // whose recordings these are, name and identity; empty: those of a list
};

struct JournalEntry {
  std::int64_t index = 0;           // of the recording in the whole list
  std::int64_t at = 0, length = 0;  // position of its records in the output, in bytes
  std::uint32_t crc = 0;            // of these bytes
  Counts counts;
  std::string line;         // Outcome::index
  std::string recording{};  // of a queue: to_line() of the recording
};

std::filesystem::path journal_path(const std::filesystem::path& output);

// Format lines with checksum and newline.
std::string to_line(const JournalHead& head);
std::string to_line(const JournalEntry& entry);
// `total`: length of the queue; -1: there is none.
std::string end_line(std::int64_t bytes, std::int64_t total = -1);
std::string sealed(std::string_view object);

// Reads a journal from its start to the first damaged line.
class JournalReader {
 public:
  // Errors: not_found; invalid_data when the head or the list is incomplete: then no recording was finished.
  static Result<JournalReader> open(const std::filesystem::path& path);

  [[nodiscard]] const JournalHead& head() const { return head_; }
  [[nodiscard]] Recordings& recordings() { return recordings_; }
  // The next finished recording; false after the last undamaged line.
  bool next(JournalEntry& entry);
  // Bytes of the journal up to the last entry that next() gave.
  [[nodiscard]] std::int64_t sound_bytes() const { return sound_; }
  // After next() has returned false: bytes of the complete output; -1: it is incomplete.
  [[nodiscard]] std::int64_t end() const { return end_; }
  // The same for the length of the queue; -1: none is noted.
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  bool read_sealed(std::string& object);

  std::ifstream in_;
  JournalHead head_;
  Recordings recordings_;
  std::int64_t read_ = 0, sound_ = 0, end_ = -1, total_ = -1;
};

}  // namespace runnel::batch
