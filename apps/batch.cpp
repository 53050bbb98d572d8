// runnel batch: a model over many recordings. Output is in the order of the input, whatever the number of jobs, crashes and shards.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <set>

#include "apps/graphs.h"
#include "apps/verbs.h"
#include "base/crc32c.h"
#include "inference/host/engine.h"
#include "pipeline/host/batch/graph_worker.h"
#include "pipeline/host/batch/pipe.h"
#include "pipeline/host/batch/progress.h"
#include "pipeline/host/batch/recording_list.h"
#include "pipeline/host/batch/shard.h"

namespace runnel::apps {
namespace {

struct BatchCall {
  ModelGraph graph;
  std::vector<std::string> inputs;
  std::string output, shard;
  ModelFlags flags;
  batch::SourceOptions sources;
  batch::RunOptions run;
  double progress_seconds = 30;
  bool resume = false, pipe = false;
};

// Tells each kind of note once: a million recordings of 8 kHz are one thing worth knowing.
class Notes {
 public:
  void operator()(std::string_view note) {
    const std::lock_guard lock(mutex_);
    if (told_.size() < 50 && told_.emplace(note).second) say(note);
  }

 private:
  std::mutex mutex_;
  std::set<std::string, std::less<>> told_;
};

// A bar on a terminal, a line now and then elsewhere.
class ProgressTeller {
 public:
  explicit ProgressTeller(double every) : every_(every), terminal_(isatty(STDERR_FILENO) == 1) {}
  ~ProgressTeller() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  ProgressTeller(const ProgressTeller&) = delete;
  ProgressTeller& operator=(const ProgressTeller&) = delete;
  void operator()(const batch::ProgressState& state) {
    if (terminal_) {
      winsize size{};
      const int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
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

// What is done to every recording; two runs with the same number can be put together.
Result<std::uint32_t> call_checksum(const BatchCall& call) {
  RUNNEL_ASSIGN(const std::vector<std::byte> model, read_whole_file(call.graph.model));
  std::string text = fmt::format("{:08x}", crc32c(model));
  const auto add = [&](std::string_view piece) { text += fmt::format("\n{}:{}", piece.size(), piece); };
  for (const std::string* piece : {&call.graph.front_end, &call.graph.decision, &call.sources.wav, &call.sources.csv, &call.sources.npy, &call.sources.raw, &call.flags.target,
                                   &call.flags.member, &call.flags.pool_window, &call.flags.attention_window}) {
    add(*piece);
  }
  add(fmt::format("{:.17g}", call.sources.tail));
  for (const auto* list : {&call.inputs, &call.flags.shapes, &call.flags.values, &call.flags.contexts}) {
    add(std::to_string(list->size()));
    for (const std::string& piece : *list) add(piece);
  }
  return crc32c(std::as_bytes(std::span(text)));
}

Result<batch::Shard> choose_shard(const std::string& text) {
  if (!text.empty()) return batch::parse_shard(text);
  RUNNEL_ASSIGN(const batch::EngineShard found, batch::engine_shard([](const char* name) -> const char* { return std::getenv(name); }));
  if (found.shard.count > 1) say(fmt::format("shard {}/{}, as {} says (--shard 0/1: everything)", found.shard.index, found.shard.count, found.from));
  return found.shard;
}

// "{shard}" and "{shards}" in the name of the output.
std::string output_name(std::string name, const batch::Shard& shard) {
  for (const auto& [word, number] : {std::pair{"{shard}", shard.index}, std::pair{"{shards}", shard.count}}) {
    for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word)) name.replace(at, std::string_view(word).size(), std::to_string(number));
  }
  return name;
}

Status run_pipe(batch::Worker& worker) {
  batch::Totals totals;
  for (std::string line; !stop_requested && std::getline(std::cin, line);) {
    const std::string answer = batch::answer(line, worker, totals);
    if (std::fwrite(answer.data(), 1, answer.size(), stdout) != answer.size() || std::fflush(stdout) != 0) return Status(Code::io_error, "stdout cannot be written");
  }
  return {};   // a failure is an answer, too
}

Status write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return Status(Code::io_error, "stdout cannot be written");
}

Status failures_of(const batch::Totals& totals) {
  if (totals.failures == 0) return {};
  return Status(Code::invalid_data) << totals.failures << " of " << totals.recordings << " recordings failed; their error records say why";
}

Status run_to_stdout(const BatchCall& call, const batch::Shard& shard, const batch::MakeWorker& make) {
  RUNNEL_ASSIGN(std::vector<batch::Recording> all, batch::list_recordings(call.inputs));
  const auto list = batch::share_of(std::move(all), shard);
  batch::Totals totals;
  const Status status = batch::work(list, 0, make, call.run, [&](const batch::Recording&, const batch::Outcome& outcome) {
    totals.add(outcome.counts);
    return write_out(outcome.records);
  });
  RUNNEL_TRY(write_out(batch::summary_line(totals)));
  RUNNEL_TRY(status);
  return failures_of(totals);
}

Result<batch::RunOutput> open_output(const BatchCall& call, const std::string& path, const batch::Shard& shard) {
  RUNNEL_ASSIGN(const std::uint32_t checksum, call_checksum(call));
  if (call.resume) {
    auto resumed = batch::RunOutput::resume(path, checksum, shard);
    // A run that had not begun has nothing to lose.
    const Code code = resumed.status().code();
    if (resumed.ok() || (code != Code::not_found && code != Code::invalid_data)) return resumed;
    say(std::string(resumed.status().text()) + "; nothing to resume");
  }
  RUNNEL_ASSIGN(std::vector<batch::Recording> all, batch::list_recordings(call.inputs));
  batch::JournalHead head{.call = checksum, .list = batch::checksum(all), .total = static_cast<std::int64_t>(all.size()), .here = 0, .shard = shard, .prefix = {}};
  const auto list = batch::share_of(std::move(all), shard);
  head.here = static_cast<std::int64_t>(list.size());
  return batch::RunOutput::create(path, head, list);
}

Status run_to_file(const BatchCall& call, const batch::Shard& shard, const batch::MakeWorker& make) {
  const std::string path = output_name(call.output, shard);
  RUNNEL_ASSIGN(batch::RunOutput output, open_output(call, path, shard));
  if (output.complete()) say(path + ": is complete already");
  else if (output.done() > 0) say(fmt::format("{}: {} of {} recordings were finished before", path, output.done(), output.recordings().size()));
  if (const Status status = batch::run(output, make, call.run); !status.ok()) {
    return Status(status.code()) << status.text() << "; " << path << ": " << output.done() << " of " << output.recordings().size() << " recordings are kept for --resume";
  }
  if (!output.changed().empty()) {
    return Status(Code::mismatch) << output.changed().size() << " recordings have changed since they were worked on, the first is " << output.changed()[0]
                                  << "; without --resume the run begins afresh";
  }
  return failures_of(output.totals());
}

Status run_batch(BatchCall& call) {
  if (call.pipe && !(call.inputs.empty() && call.output.empty() && call.shard.empty() && !call.resume)) {
    return Status(Code::invalid_argument, "--pipe reads recordings from stdin and writes to stdout: expected no INPUT, -o, --shard or --resume");
  }
  if (!call.pipe && (call.inputs.empty() || call.output.empty())) return Status(Code::invalid_argument, "expected INPUT... and -o OUT, or --pipe");
  if (call.resume && call.output == "-") return Status(Code::invalid_argument, "--resume goes on with a file, -o - is none");
  batch::Shard shard;
  if (!call.pipe) {
    RUNNEL_ASSIGN(shard, choose_shard(call.shard));
  }
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  const auto model = loader.load(call.graph.model);
  for (const std::string& note : loader.take_notes()) say(note);
  if (!model.ok()) return model.status();
  RUNNEL_ASSIGN(const std::string around, text_around(call.graph, **model));
  // What is wrong with the graph is wrong for every recording.
  RUNNEL_TRY(check_around(around, loader));

  catch_signals();
  Notes notes;
  ProgressTeller progress(call.progress_seconds);
  call.run.stop = &stop_requested;
  if (!call.pipe) call.run.progress = [&](const batch::ProgressState& state) { progress(state); };
  const batch::MakeWorker make = [&] {
    pipeline::GraphOptions options = graph_options(loader);
    options.insert_conversions = true;
    options.note = [&](std::string_view note) { notes(note); };
    return std::make_unique<batch::GraphWorker>(around, call.sources, options);
  };
  if (call.pipe) return run_pipe(*make());
  return call.output == "-" ? run_to_stdout(call, shard, make) : run_to_file(call, shard, make);
}

}  // namespace

void add_batch(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<BatchCall>();
  CLI::App* verb = app.add_subcommand("batch", "A model over many recordings: events as JSON lines, in the order of the input");
  verb->add_option("MODEL", call->graph.model, "Model file with its front end and decision")->required();
  verb->add_option("INPUT", call->inputs, "Recordings, folders (recursive), patterns, manifests (.jsonl), or @FILE with a path or a manifest's object per line")->default_str("");
  verb->add_option("-o,--output", call->output, "JSON lines file to write, with OUT.journal beside it; - is stdout; {shard} and {shards} become numbers");
  verb->add_option("--jobs", call->run.jobs, "Threads (0: one per processor)");
  verb->add_flag("--resume", call->resume, "Go on where an earlier run ended, as OUT.journal says; begin where there is none");
  verb->add_flag("--strict", call->run.strict, "The first recording that fails ends the run");
  verb->add_option("--shard", call->shard, "I/N: only share I (from 0) of N, balanced by size (default: as Slurm, MPI, PMI, Grid Engine or Kubernetes say)");
  verb->add_flag("--pipe", call->pipe, "A path or object per line on stdin, an answer per line on stdout");
  verb->add_option("--progress", call->progress_seconds, "Seconds between lines about the progress when stderr is no terminal; 0: none")->check(CLI::NonNegativeNumber);
  verb->add_option("--raw", call->sources.raw, "What files named .raw and .pcm hold, e.g. \"raw=s16le rate=16000 channels=1\"");
  verb->add_option("--csv", call->sources.csv, "Parameters of the node csv, for recordings named .csv, e.g. \"rate=100\"");
  verb->add_option("--npy", call->sources.npy, "Parameters of the node npy, for recordings named .npy, e.g. \"rate=100\"");
  verb->add_option("--wav", call->sources.wav, "Parameters of the node wav, for all others, e.g. \"truncated=accept\"");
  add_tail_flag(verb, call->sources.tail);
  verb->add_option("--front-end", call->graph.front_end, "Graph text in front of the model (default: the model's own)");
  verb->add_option("--decision", call->graph.decision, "Graph text behind the model, e.g. \"detect mode=clip\" (default: the model's own)");
  add_model_flags(verb, call->flags);
  verb->callback([call, &exit_code] {
    if (const Status status = run_batch(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
