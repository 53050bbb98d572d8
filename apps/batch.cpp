// runnel batch: a model over many recordings. Output is in the order of the input, whatever the number of jobs.
#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "apps/front_end.h"
#include "apps/graphs.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "pipeline/host/json.h"

namespace runnel::apps {
namespace {

namespace fs = std::filesystem;

struct BatchCall {
  ModelGraph graph;
  std::vector<std::string> inputs;
  std::string output;
  ModelFlags flags;
  unsigned jobs = 0;
  double tail = 0;
};

Status add_folder(const fs::path& folder, std::vector<std::string>& files) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error) && is_recording(it->path())) found.push_back(it->path().string());
  }
  if (error) return Status(Code::io_error) << folder.string() << ": " << error.message();
  if (found.empty()) return Status(Code::not_found) << folder.string() << ": no recordings in this folder";
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
  return {};
}

// Folders (recursive, sorted), globs, @list files and plain names, in the order given.
Status expand(const std::string& input, std::vector<std::string>& files) {
  if (input.starts_with('@')) {
    std::ifstream in(input.substr(1));
    if (!in) return Status(Code::not_found) << input.substr(1) << ": cannot be opened";
    const std::size_t before = files.size();
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (!line.empty()) files.push_back(line);
    }
    if (files.size() == before) return Status(Code::invalid_data) << input.substr(1) << ": names no recordings, expected one per line";
    return {};
  }
  std::error_code error;
  if (fs::is_directory(input, error)) return add_folder(input, files);
  if (!fs::exists(input, error) && input.find_first_of("*?[") != std::string::npos) {
    glob_t found = {};
    const int result = glob(input.c_str(), 0, nullptr, &found);
    for (std::size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
    globfree(&found);
    if (result != 0) return Status(Code::not_found) << input << ": nothing matches";
    return {};
  }
  files.push_back(input);
  return {};
}

// What one recording gave.
struct Item {
  std::string lines;
  double audio_seconds = 0;
  std::int64_t events = 0, lost = 0;
  bool failed = false;
};

Item process(const std::string& file, double tail, const std::string& around, compiler::FileLoader& loader) {
  Item item;
  pipeline::GraphOptions options = graph_options(loader);
  options.insert_conversions = true;
  options.note = [&](std::string_view note) { say(file + ": " + std::string(note)); };
  const auto finish = [&](const Status& status) {
    item.failed = true;
    item.lines += "{\"type\":\"error\",\"source\":" + pipeline::json_string(file) + ",\"reason\":" + pipeline::json_string(status.text()) + "}\n";
    return item;
  };
  auto built = pipeline::Graph::build(wav_text(file, tail) + " ! " + around + " ! jsonl source=" + quote_value(file), options);
  if (!built.ok()) return finish(built.status());
  pipeline::Graph& graph = **built;
  gather_lines(graph, [&](std::string_view line) { item.lines.append(line).push_back('\n'); });
  const Status status = graph.run();
  item.audio_seconds = graph.executor().seconds();
  item.events = graph.executor().events();
  item.lost = graph.executor().lost();
  return status.ok() ? item : finish(status);
}

// Works through the files with the threads that the call says; `take` gets the items in order, on this thread.
void work(const BatchCall& call, const std::vector<std::string>& files, const std::string& around, compiler::FileLoader& loader, const std::function<void(Item)>& take) {
  const unsigned jobs = call.jobs > 0 ? call.jobs : std::max(1u, std::thread::hardware_concurrency());
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::optional<Item>> done(files.size());
  std::size_t next = 0, taken = 0;
  // Workers do not run further ahead than this, so that results in waiting stay few.
  const std::size_t ahead = 64 * static_cast<std::size_t>(jobs);
  const auto worker = [&] {
    for (;;) {
      std::size_t index = 0;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return next >= files.size() || next < taken + ahead || stop_requested; });
        if (next >= files.size() || stop_requested) return;
        index = next++;
      }
      Item item = process(files[index], call.tail, around, loader);
      {
        const std::lock_guard lock(mutex);
        done[index] = std::move(item);
      }
      changed.notify_all();
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < jobs; ++i) threads.emplace_back(worker);
  for (std::size_t index = 0; index < files.size(); ++index) {
    std::optional<Item> item;
    {
      std::unique_lock lock(mutex);
      while (!done[index] && !(stop_requested && next <= index)) changed.wait_for(lock, std::chrono::milliseconds(100));
      if (!done[index]) break;
      item = std::move(done[index]);
      done[index].reset();
      taken = index + 1;
    }
    changed.notify_all();
    take(std::move(*item));
  }
  changed.notify_all();
}

Status run_batch(const BatchCall& call) {
  std::vector<std::string> files;
  for (const std::string& input : call.inputs) RUNNEL_TRY(expand(input, files));
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  const auto model = loader.load(call.graph.model);
  for (const std::string& note : loader.take_notes()) say(note);
  if (!model.ok()) return model.status();
  RUNNEL_ASSIGN(const std::string around, text_around(call.graph, **model));
  // What is wrong with the graph is wrong for every recording.
  RUNNEL_TRY(check_around(around, loader));

  std::optional<OutputFile> file;
  if (call.output != "-") {
    RUNNEL_ASSIGN(file, OutputFile::create(call.output));
  }
  Status written;
  const auto write = [&](std::string_view text) {
    if (!written.ok()) return;
    if (file) written = file->write(text);
    else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) written = Status(Code::io_error) << "stdout cannot be written";
    if (!written.ok()) stop_requested = true;
  };
  catch_signals();
  const auto start = std::chrono::steady_clock::now();
  Item total;
  std::int64_t finished = 0, failures = 0;
  work(call, files, around, loader, [&](Item item) {
    write(item.lines);
    total.audio_seconds += item.audio_seconds;
    total.events += item.events;
    total.lost += item.lost;
    failures += item.failed ? 1 : 0;
    ++finished;
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  write(fmt::format("{{\"type\":\"summary\",\"files\":{},\"failures\":{},\"audio_seconds\":{:.3f},\"real_time_factor\":{},\"events\":{},\"lost_samples\":{}}}\n",
                    finished, failures, total.audio_seconds, total.audio_seconds > 0 ? fmt::format("{:.6f}", seconds / total.audio_seconds) : "null",
                    total.events, total.lost));
  RUNNEL_TRY(written);
  if (finished < static_cast<std::int64_t>(files.size())) {
    return Status(Code::io_error) << "interrupted after " << finished << " of " << files.size() << " recordings; nothing was written to " << call.output;
  }
  if (file) RUNNEL_TRY(file->commit());
  if (failures > 0) return Status(Code::invalid_data) << failures << " of " << files.size() << " recordings failed; their error records say why";
  return {};
}

}  // namespace

void add_batch(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<BatchCall>();
  CLI::App* verb = app.add_subcommand("batch", "A model over many recordings: events as JSON lines, in the order of the input");
  verb->add_option("MODEL", call->graph.model, "Model file with its front end and decision")->required();
  verb->add_option("INPUT", call->inputs, "Recordings, folders (recursive), patterns, or @FILE with one name per line")->required()->default_str("");
  verb->add_option("-o,--output", call->output, "JSON lines file to write; - is stdout")->required();
  verb->add_option("--jobs", call->jobs, "Threads (0: one per processor)");
  add_tail_flag(verb, call->tail);
  verb->add_option("--front-end", call->graph.front_end, "Graph text in front of the model (default: the model's own)");
  verb->add_option("--decision", call->graph.decision, "Graph text behind the model, e.g. \"detect mode=clip\" (default: the model's own)");
  add_model_flags(verb, call->flags);
  verb->callback([call, &exit_code] {
    if (const Status status = run_batch(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
