// Shared by the verbs that process many recordings: the flags of a run, and the run itself.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/command_line.h"
#include "apps/support.h"
#include "services/batch/graph_worker.h"
#include "services/batch/recordings/recording_list.h"
#include "services/batch/recordings/shard.h"
#include "services/batch/run_output.h"

namespace runnel::apps {

struct RecordingsCall {
  std::vector<std::string> inputs;
  std::string output, shard, format;
  batch::SourceOptions sources;
  batch::RunOptions run;
  batch::ListOptions list;
  double progress_seconds = 30;
  bool resume = false, no_timing = false;
};
// --jobs, --resume, --strict, --shard, --progress, --no-timing.
void add_run_flags(Verb verb, RecordingsCall& call);

// --raw, --csv, --npy, --wav: how files are read.
void add_source_flags(Verb verb, RecordingsCall& call);

// The work on each recording.
struct RecordingsWork {
  batch::OutputFormat format = batch::OutputFormat::jsonl;
  std::string prefix;  // start of the output, a header
  bool keyed = false;  // outputs are addressed by key, so keys must be unique
  batch::MakeWorker make;
};

// Shows the progress of a run on stderr: a bar on a terminal, a line every so many seconds elsewhere (0:
// none). The bar goes with the last copy.
std::function<void(const batch::ProgressState&)> progress_teller(double every);

// Prints each kind of note once: one line suffices for a million recordings of 8 kHz. Thread-safe.
class Notes {
 public:
  void operator()(std::string_view note);

 private:
  std::mutex mutex_;
  std::set<std::string, std::less<>> told_;
};

// A checksum of the inputs of a run: model, graph, options. Runs with equal checksums can be merged.
class CallChecksum {
 public:
  void add(std::string_view piece);
  void add(const std::vector<std::string>& pieces);
  void add(const batch::SourceOptions& sources);
  [[nodiscard]] std::uint32_t value() const;

 private:
  std::string text_;
};

// The shard of this run: from --shard, or else from the engine.
Result<batch::Shard> choose_shard(const std::string& text);
// Replaces "{shard}" and "{shards}" in the name of an output; removes trailing slashes.
std::string output_name(std::string name, const batch::Shard& shard);

// The index file of an output that is a folder. Error: io_error, when a file has the folder's name.
Result<std::string> index_of_folder(const std::string& folder, const batch::Shard& shard);

// The whole run with list, shard, journal and progress. `output`: the file, with the shard in its name; "-":
// standard output. Also fails when recordings failed.
Status run_recordings(RecordingsCall& call, const batch::Shard& shard, const std::string& output,
                      std::uint32_t checksum, const RecordingsWork& work);

}  // namespace runnel::apps
