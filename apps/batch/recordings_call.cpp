#include "apps/batch/recordings_call.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "apps/call/progress.h"
#include "apps/graphs.h"
#include "base/crc32c.h"
#include "services/batch/progress.h"

namespace runnel::apps {
namespace {

// A progress bar on a terminal, occasional lines elsewhere.
class ProgressTeller {
 public:
  explicit ProgressTeller(double every) : every_(every), terminal_(stderr_is_terminal()) {}
  ~ProgressTeller() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  ProgressTeller(const ProgressTeller&) = delete;
  ProgressTeller& operator=(const ProgressTeller&) = delete;
  void operator()(const batch::ProgressState& state) {
    if (terminal_) {
      winsize size{};
      const int columns =
          ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
      std::fprintf(stderr, "\r%s\033[K", batch::progress_bar(state, columns).c_str());
      shown_ = true;
    } else if (every_ > 0 && state.seconds >= next_ + every_) {
      next_ = state.seconds;
      say(batch::progress_text(state));
    }
  }

 private:
  double every_, next_ = 0;
  bool terminal_, shown_ = false;
};

Status write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return Status(Code::io_error, "stdout cannot be written");
}

Status failures_of(const batch::Totals& totals) {
  if (totals.failures == 0) return {};
  Status status(Code::invalid_data);
  status << totals.failures << " of " << totals.recordings << " recordings failed";
  if (!totals.first_reason.empty()) status << ", the first: " << totals.first_reason;
  return status << "; their error records say why";
}

Result<batch::Recordings> list_all(const RecordingsCall& call, const RecordingsWork& work) {
  RUNNEL_ASSIGN(batch::Recordings all, batch::list_recordings(call.inputs, call.list));
  if (work.keyed) RUNNEL_TRY(batch::check_keys(all, batch::is_folder(work.format)));
  return all;
}

Status run_to_stdout(const RecordingsCall& call, const batch::Shard& shard, const RecordingsWork& work) {
  if (!batch::is_lines(work.format) && !batch::is_text(work.format))
    return Status(Code::invalid_argument)
           << "-o -: the format " << batch::name_of(work.format) << " is one of files";
  RUNNEL_ASSIGN(batch::Recordings all, list_all(call, work));
  const auto list = batch::share_of(std::move(all), shard);
  batch::Totals totals;
  RUNNEL_TRY(write_out(work.prefix));
  const Status status =
      batch::work(list, 0, work.make, call.run, [&](const batch::Recording&, const batch::Outcome& outcome) {
        totals.add(outcome);
        if (batch::is_text(work.format) && outcome.counts.code != Code::ok) {
          say(outcome.records.substr(0, outcome.records.size() - 1));
          return Status();
        }
        return write_out(outcome.records);
      });
  const std::string summary = batch::summary_line(totals, !call.no_timing);
  if (batch::is_lines(work.format))
    RUNNEL_TRY(write_out(summary));
  else
    say(summary.substr(0, summary.size() - 1));
  RUNNEL_TRY(status);
  return failures_of(totals);
}

Result<batch::RunOutput> open_output(const RecordingsCall& call, const std::string& path,
                                     const batch::Shard& shard, std::uint32_t checksum,
                                     const RecordingsWork& work) {
  if (call.resume) {
    auto resumed = batch::RunOutput::resume(path, checksum, shard);
    // If the earlier run had not begun, start a new one.
    const Code code = resumed.status().code();
    if (resumed.ok() || (code != Code::not_found && code != Code::invalid_data)) return resumed;
    say(std::string(resumed.status().text()) + "; nothing to resume");
  }
  RUNNEL_ASSIGN(batch::Recordings all, list_all(call, work));
  batch::JournalHead head{.call = checksum,
                          .list = batch::checksum(all),
                          .total = static_cast<std::int64_t>(all.size()),
                          .here = 0,
                          .shard = shard,
                          .prefix = work.prefix,
                          .timing = !call.no_timing,
                          .format = work.format};
  auto list = batch::share_of(std::move(all), shard);
  head.here = static_cast<std::int64_t>(list.size());
  return batch::RunOutput::create(path, head, std::move(list));
}

Status run_to_file(const RecordingsCall& call, const batch::Shard& shard, const std::string& path,
                   std::uint32_t checksum, const RecordingsWork& work) {
  RUNNEL_ASSIGN(batch::RunOutput output, open_output(call, path, shard, checksum, work));
  if (output.complete())
    say(path + ": is complete already");
  else if (output.done() > 0)
    say(fmt::format("{}: {} of {} recordings were finished before", path, output.done(),
                    output.recordings().size()));
  if (const Status status = batch::run(output, work.make, call.run); !status.ok()) {
    return Status(status.code()) << status.text() << "; " << path << ": " << output.done() << " of "
                                 << output.recordings().size() << " recordings are kept for --resume";
  }
  if (!output.changed().empty()) {
    return Status(Code::mismatch) << output.changed().size()
                                  << " recordings have changed since they were processed, the first is "
                                  << output.changed()[0] << "; without --resume a new run starts";
  }
  return failures_of(output.totals());
}

}  // namespace

std::function<void(const batch::ProgressState&)> progress_teller(double every) {
  return [teller = std::make_shared<ProgressTeller>(every)](const batch::ProgressState& state) {
    (*teller)(state);
  };
}

void Notes::operator()(std::string_view note) {
  const std::lock_guard lock(mutex_);
  if (told_.size() < 50 && told_.emplace(note).second) say(note);
}

void CallChecksum::add(std::string_view piece) { text_ += fmt::format("{}:{}\n", piece.size(), piece); }

void CallChecksum::add(const std::vector<std::string>& pieces) {
  add(std::to_string(pieces.size()));
  for (const std::string& piece : pieces) add(piece);
}

void CallChecksum::add(const batch::SourceOptions& sources) {
  for (const std::string* piece : {&sources.wav, &sources.csv, &sources.npy, &sources.raw}) add(*piece);
  add(fmt::format("{:.17g}", sources.tail));
}

std::uint32_t CallChecksum::value() const { return crc32c(std::as_bytes(std::span(text_))); }

Result<batch::Shard> choose_shard(const std::string& text) {
  if (!text.empty()) return batch::parse_shard(text);
  RUNNEL_ASSIGN(const batch::EngineShard found,
                batch::engine_shard([](const char* name) -> const char* { return std::getenv(name); }));
  if (found.shard.count > 1)
    say(fmt::format("shard {}/{}, as {} says (--shard 0/1: everything)", found.shard.index, found.shard.count,
                    found.from));
  return found.shard;
}

// "{shard}" and "{shards}" in the name of the output.
std::string output_name(std::string name, const batch::Shard& shard) {
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  for (const auto& [word, number] : {std::pair{"{shard}", shard.index}, std::pair{"{shards}", shard.count}}) {
    for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word))
      name.replace(at, std::string_view(word).size(), std::to_string(number));
  }
  return name;
}

Status run_recordings(RecordingsCall& call, const batch::Shard& shard, const std::string& output,
                      std::uint32_t checksum, const RecordingsWork& work) {
  catch_signals();
  call.run.stop = &stop_requested;
  call.run.progress = progress_teller(call.progress_seconds);
  return output == "-" ? run_to_stdout(call, shard, work) : run_to_file(call, shard, output, checksum, work);
}

void add_source_flags(Verb verb, RecordingsCall& call) {
  verb.option("--raw", call.sources.raw,
              "Format of files named .raw and .pcm, e.g. \"raw=s16le rate=16000 channels=1\"");
  verb.option("--csv", call.sources.csv,
              "Parameters of the node csv, for recordings named .csv, e.g. \"rate=100\"");
  verb.option("--npy", call.sources.npy,
              "Parameters of the node npy, for recordings named .npy, e.g. \"rate=100\"");
  verb.option("--wav", call.sources.wav,
              "Parameters of the node wav, for all others, e.g. \"truncated=accept\"");
}

Result<std::string> index_of_folder(const std::string& folder, const batch::Shard& shard) {
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error))
    return Status(Code::io_error) << folder << ": cannot create: expected a folder, it is a file";
  return folder + (shard.count == 1 ? std::string(".index.jsonl")
                                    : fmt::format(".index-{}-of-{}.jsonl", shard.index, shard.count));
}

void add_run_flags(Verb verb, RecordingsCall& call) {
  verb.option("--jobs", call.run.jobs, "Threads (0: one per processor)");
  verb.flag("--resume", call.resume,
            "Continue an earlier run according to OUT.journal; start a new one without a journal");
  verb.flag("--strict", call.run.strict, "End the run at the first recording that fails");
  verb.option("--shard", call.shard,
              "I/N: only share I (from 0) of N, balanced by size (default: from Slurm, MPI, PMI, Grid Engine "
              "or Kubernetes)");
  verb.option("--progress", call.progress_seconds,
              "Seconds between progress lines when stderr is not a terminal; 0: none")
      .non_negative();
  verb.flag("--no-timing", call.no_timing,
            "No real-time factor in the summary, so that equal input gives equal bytes");
}

}  // namespace runnel::apps
