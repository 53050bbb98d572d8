// What the verbs over many recordings share: the flags of a run, and the run itself.
#pragma once

#include <cstdint>
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

// --raw, --csv, --npy, --wav: how files become streams.
void add_source_flags(Verb verb, RecordingsCall& call);

// What is done to each recording.
struct RecordingsWork {
  batch::OutputFormat format = batch::OutputFormat::jsonl;
  std::string prefix;  // what the output begins with, a header
  bool keyed = false;  // outputs are found by key, which has to be unique
  batch::MakeWorker make;
};

// Tells each kind of note once: a million recordings of 8 kHz are one thing worth knowing. Any thread.
class Notes {
 public:
  void operator()(std::string_view note);

 private:
  std::mutex mutex_;
  std::set<std::string, std::less<>> told_;
};

// Adds up what makes runs the same: model, graph, options. Two runs with the same sum can be put together.
class CallChecksum {
 public:
  void add(std::string_view piece);
  void add(const std::vector<std::string>& pieces);
  void add(const batch::SourceOptions& sources);
  [[nodiscard]] std::uint32_t value() const;

 private:
  std::string text_;
};

// The shard that is meant: that of --shard, else that of the engine.
Result<batch::Shard> choose_shard(const std::string& text);
// "{shard}" and "{shards}" in the name of an output; without slashes at its end.
std::string output_name(std::string name, const batch::Shard& shard);

// Of an output that is a folder: the file beside it that says what is in it. Error: io_error, when a file has
// the folder's name.
Result<std::string> index_of_folder(const std::string& folder, const batch::Shard& shard);

// The run with everything around it: list, shard, journal, progress. `output`: the file, shard in its name;
// "-": standard output. Error, too, when recordings failed.
Status run_recordings(RecordingsCall& call, const batch::Shard& shard, const std::string& output,
                      std::uint32_t checksum, const RecordingsWork& work);

}  // namespace runnel::apps
