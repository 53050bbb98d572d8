// runnel batch: a model over many recordings. Output is in the order of the input for any number of jobs,
// crashes and shards.
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "apps/batch/queue_call.h"
#include "apps/batch/recordings_call.h"
#include "apps/graphs.h"
#include "apps/verbs.h"
#include "base/crc32c.h"
#include "base/host/read_line.h"
#include "inference/host/engine.h"
#include "services/batch/pipe.h"
#include "services/models/find.h"

namespace runnel::apps {
namespace {

struct BatchCall : RecordingsCall {
  ModelGraph graph;
  ModelFlags flags;
  std::string give = "events";
  double piece_seconds = 60;
  bool pipe = false;
  QueueCall queue;
};

// The output of each recording.
bool gives_frames(const BatchCall& call) { return call.give != "events"; }

Result<std::uint32_t> call_checksum(const BatchCall& call) {
  RUNNEL_ASSIGN(const std::string file, models::find_model(call.graph.model));
  RUNNEL_ASSIGN(const std::vector<std::byte> model, read_whole_file(file));
  CallChecksum sum;
  sum.add(std::to_string(crc32c(model)));
  for (const std::string* piece :
       {&call.graph.front_end, &call.graph.decision, &call.flags.target, &call.flags.member,
        &call.flags.pool_window, &call.flags.attention_window, &call.give, &call.format}) {
    sum.add(*piece);
  }
  sum.add(call.sources);
  for (const auto* list : {&call.inputs, &call.flags.shapes, &call.flags.values, &call.flags.contexts})
    sum.add(*list);
  return sum.value();
}

Status run_pipe(batch::Worker& worker) {
  batch::Totals totals;
  for (std::string line; !stop_requested;) {
    const Result<bool> more = read_line(std::cin, line);
    if (!more.ok()) return more.status().at("stdin");
    if (!*more) break;
    const std::string answer = batch::answer(line, worker, totals);
    if (std::fwrite(answer.data(), 1, answer.size(), stdout) != answer.size() || std::fflush(stdout) != 0)
      return Status(Code::io_error, "stdout cannot be written");
  }
  return {};  // a failed recording gets an answer, too
}

// The format given by --format, or else by --give and the name of the output.
Result<batch::OutputFormat> format_of(const BatchCall& call) {
  batch::OutputFormat format = batch::format_of_name(call.output);
  if (!call.format.empty() && !batch::parse_format(call.format, format))
    return Status(Code::invalid_argument) << "--format " << call.format;
  if (gives_frames(call) && batch::is_transcript(format))
    return Status(Code::invalid_argument)
           << "--format " << batch::name_of(format) << " holds text: expected --give events";
  if (!gives_frames(call) && !batch::is_transcript(format) && format != batch::OutputFormat::jsonl &&
      format != batch::OutputFormat::csv) {
    return Status(Code::invalid_argument) << "--format " << batch::name_of(format)
                                          << " holds arrays: expected --give posteriors, outputs or features";
  }
  if (call.output == "-" && batch::is_folder(format))
    return Status(Code::invalid_argument) << "-o -: --format " << batch::name_of(format) << " needs a folder";
  RUNNEL_TRY(batch::check_name(call.output, format));
  return format;
}

// The graph after the source: a front with bounded context, if there is one, and the rest.
struct AfterSource {
  std::string front, rest;
  std::string name;  // name of the node between them; empty: not needed
  [[nodiscard]] std::string whole() const {
    return front + (name.empty() ? "" : " name=" + name) + " ! " + rest;
  }
  [[nodiscard]] std::string from_pieces() const {
    return "pieces" + (name.empty() ? "" : " name=" + name) + " ! " + rest;
  }
};
Result<AfterSource> text_after_source(const BatchCall& call, const Model& model, batch::OutputFormat format,
                                      const std::string& folder) {
  RUNNEL_ASSIGN(const GraphParts parts,
                graph_parts(call.graph, model, gives_frames(call) && format != batch::OutputFormat::jsonl));
  const std::string activation = call.give == "posteriors" && parts.logits ? "softmax" : "none";
  const std::string rows = "frame_rows to=" + std::string(batch::name_of(format)) +
                           " activation=" + activation +
                           (folder.empty() ? "" : " folder=" + quote_value(folder));
  if (call.give == "features") return AfterSource{parts.front_end, rows, ""};
  const std::int64_t block = listen::file_chunk(model);
  const std::string front = parts.front_end + " ! infer model=" + quote_value(call.graph.model) +
                            (block > 0 ? " chunk=" + std::to_string(block) : std::string());
  if (batch::is_transcript(format))
    return AfterSource{front,
                       parts.decision + " ! transcript_rows to=" + std::string(batch::name_of(format)) +
                           (folder.empty() ? "" : " folder=" + quote_value(folder)),
                       ""};
  if (call.give == "events")
    return AfterSource{
        front, parts.decision + " ! " + (format == batch::OutputFormat::csv ? "event_rows" : "jsonl"), ""};
  if (format != batch::OutputFormat::jsonl) return AfterSource{front, rows, ""};
  // JSON lines can hold both.
  return AfterSource{front, parts.decision + " ! jsonl given_frames. ! " + rows, "given_frames"};
}

// All positional arguments: without a model the first one is an input, too.
std::vector<std::string> arguments_of(const BatchCall& call) {
  std::vector<std::string> all = call.inputs;
  if (!call.graph.model.empty()) all.insert(all.begin(), call.graph.model);
  return all;
}

// What a call cannot mean; ok: it can be run.
Status check_call(const BatchCall& call) {
  if (!call.queue.name.empty()) return check_queue_call(call.queue, call, call.pipe, arguments_of(call));
  RUNNEL_TRY(check_queue_call(call.queue, call, call.pipe, {}));
  if (call.graph.model.empty()) return Status(Code::invalid_argument, "MODEL is required");
  if (call.pipe && !(call.inputs.empty() && call.output.empty() && call.shard.empty() && !call.resume)) {
    return Status(Code::invalid_argument,
                  "--pipe reads recordings from stdin and writes to stdout: expected no INPUT, -o, --shard "
                  "or --resume");
  }
  if (!call.pipe && (call.inputs.empty() || call.output.empty()))
    return Status(Code::invalid_argument, "expected INPUT... and -o OUT, or --pipe");
  if (call.resume && call.output == "-")
    return Status(Code::invalid_argument, "--resume needs an output file, found -o -");
  if (call.pipe && (gives_frames(call) || !call.format.empty()))
    return Status(Code::invalid_argument, "--pipe answers with events: expected no --give or --format");
  return {};
}

// Before the model is read: names of files that are relative to the folder of the call.
Status name_files(BatchCall& call) {
  if (call.queue.root.empty()) return {};
  std::error_code error;
  RUNNEL_ASSIGN(const std::string file, models::find_model(call.graph.model));
  call.graph.model = std::filesystem::absolute(file, error).string();
  call.output = std::filesystem::absolute(call.output, error).string();
  return {};
}

Status run_batch(BatchCall& call) {
  if (call.queue.enqueue) return enqueue(call.queue, arguments_of(call), call.list);
  if (call.queue.status) return print_queue_status(call.queue);
  RUNNEL_TRY(name_files(call));
  batch::Shard shard;
  if (!call.pipe) {
    RUNNEL_ASSIGN(shard, choose_shard(call.shard));
  }
  RUNNEL_ASSIGN(const batch::OutputFormat format, format_of(call));
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  const auto model = loader.load(call.graph.model);
  for (const std::string& note : loader.take_notes()) say(note);
  if (!model.ok()) return model.status();
  RUNNEL_TRY(enter_root(call.queue));

  std::string output = output_name(call.output, shard);
  std::string folder;
  if (batch::is_folder(format)) {
    folder = output;
    if (call.format.empty())
      say(folder + ": a folder, with a ." + std::string(batch::name_of(format)) + " file for each recording");
    RUNNEL_ASSIGN(output, index_of_folder(folder, shard));
  }
  RUNNEL_ASSIGN(const AfterSource texts, text_after_source(call, **model, format, folder));
  const std::string after_source = texts.whole();
  // Check the graph now: an error in it would affect every recording.
  RUNNEL_TRY(check_after_source(after_source, loader));
  Notes notes;
  pipeline::GraphOptions options = graph_options(loader);
  options.tick = listen::kFileTick;
  options.insert_conversions = true;
  options.note = [&](std::string_view note) { notes(note); };
  RecordingsWork work{
      .format = format,
      .prefix = {},
      .keyed = batch::is_folder(format) || batch::is_transcript(format) || format == batch::OutputFormat::ark,
      .make = {}};
  if (format == batch::OutputFormat::npy) work.prefix = batch::array_header({}, 0);
  if (format == batch::OutputFormat::csv && !gives_frames(call)) work.prefix = batch::EventRows::header();
  if (format == batch::OutputFormat::csv && gives_frames(call)) {
    RUNNEL_ASSIGN(work.prefix, batch::frame_header(after_source, options));
  }
  batch::SpareThreads spare;
  call.run.spare = &spare;
  const bool splits = !call.pipe && call.run.jobs != 1;
  const batch::SplitGraph split{texts.front, texts.from_pieces(), splits ? &spare : nullptr,
                                call.piece_seconds};
  work.make = [&] {
    return std::make_unique<batch::GraphWorker>(after_source, call.sources, options, split);
  };
  if (call.pipe) {
    catch_signals();
    return run_pipe(*work.make());
  }
  RUNNEL_ASSIGN(const std::uint32_t checksum, call_checksum(call));
  if (!call.queue.name.empty()) return work_on_queue(call.queue, call, output, checksum, work);
  return run_recordings(call, shard, output, checksum, work);
}

}  // namespace

void add_batch(Verb verb, int& exit_code) {
  auto call = std::make_shared<BatchCall>();
  verb.positional("MODEL", call->graph.model, kWholeModel);
  verb.positional("INPUT", call->inputs,
                  "Recordings, folders (recursive), patterns, manifests (.jsonl), or @FILE with a path or a "
                  "manifest's object per line")
      .default_str("");
  verb.option("-o,--output", call->output,
              "File to write, with OUT.journal beside it; - is stdout; {shard} and {shards} become numbers");
  verb.option("--give", call->give,
              "What to write: events; posteriors, outputs (raw, of the model) or features of every frame, in "
              "JSON lines together with the events")
      .choices({"events", "posteriors", "outputs", "features"});
  verb.option(
          "--format", call->format,
          "jsonl, csv, npy (one array), ark (Kaldi), or files (OUT is a folder for an .npy file per "
          "recording); of decoders of speech also srt, vtt (OUT is a folder for subtitles), ctm (words with "
          "times), txt; default: by the name of OUT")
      .choices({"jsonl", "csv", "npy", "ark", "files", "srt", "vtt", "ctm", "txt"});
  add_run_flags(verb, *call);
  add_queue_flags(verb, call->queue);
  verb.flag("--pipe", call->pipe, "A path or object per line on stdin, an answer per line on stdout");
  verb.option("--piece", call->piece_seconds,
              "With several threads: recordings at least twice as long are processed in pieces of this many "
              "seconds, with the same results")
      .range(1.0, 86400.0);
  add_source_flags(verb, *call);
  add_tail_flag(verb, call->sources.tail);
  verb.option("--front-end", call->graph.front_end, "Graph text before the model (default: the model's own)");
  verb.option("--decision", call->graph.decision,
              "Graph text after the model, e.g. \"detect mode=clip\" (default: the model's own)");
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    if (const Status wrong = check_call(*call); !wrong.ok())
      exit_code = refuse(wrong);
    else if (const Status status = run_batch(*call); !status.ok())
      exit_code = fail(status);
  });
}

}  // namespace runnel::apps
