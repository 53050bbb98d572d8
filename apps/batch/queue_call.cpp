#include "apps/batch/queue_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/fleet/nats_flags.h"
#include "apps/graphs.h"
#include "services/batch/queue/queue_output.h"
#include "services/fleet/nats/jetstream_queue.h"
#include "services/fleet/recordings/queue_run.h"
#include "services/fleet/recordings/queued_recording.h"
#include "services/fleet/worker_name.h"

namespace runnel::apps {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The note with the call of the first worker.
constexpr const char* kCallNote = "call.first";

Result<std::unique_ptr<fleet::JetStreamQueue>> open_queue(const QueueCall& call, const std::string& client,
                                                          bool make) {
  RUNNEL_ASSIGN(auto wire, fleet::make_wire());
  auto queue = std::make_unique<fleet::JetStreamQueue>(std::move(wire));
  fleet::Wire::Settings nats = call.nats;
  nats.name = client;
  RUNNEL_TRY(queue->open(nats, {call.name, call.replicas, call.patience, make}));
  return queue;
}

std::string line_of(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status print(const Json& object) {
  const std::string line = line_of(object);
  if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size() || std::fflush(stdout) != 0)
    return Status(Code::io_error, "stdout cannot be written");
  return {};
}

// Recordings that are set apart, in the order of the queue.
Result<std::vector<std::pair<std::uint64_t, fleet::Trial>>> apart_in(fleet::WorkQueue& queue) {
  std::vector<std::pair<std::uint64_t, fleet::Trial>> out;
  RUNNEL_ASSIGN(const std::vector<std::string> names, queue.notes("apart"));
  for (const std::string& name : names) {
    RUNNEL_ASSIGN(const fleet::QueueNote note, queue.note(name));
    const auto trial = fleet::parse_trial(note.text);
    if (!trial.ok()) return trial.status().at(name);
    out.emplace_back(std::strtoull(name.c_str() + name.find('.') + 1, nullptr, 10), *trial);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

// All workers of a queue run the same: the first one notes its call.
Status agree_on_call(fleet::WorkQueue& queue, const std::string& name, const std::string& worker,
                     std::uint32_t checksum) {
  for (int i = 0; i < 2; ++i) {
    RUNNEL_ASSIGN(const fleet::QueueNote note, queue.note(kCallNote));
    if (note.revision == 0) {
      RUNNEL_ASSIGN(const std::uint64_t set,
                    queue.set_note(kCallNote, 0, Json({{"call", checksum}, {"worker", worker}}).dump()));
      if (set != 0) return {};
      continue;  // another worker was first
    }
    // Anybody may have written it, and an ordered object would copy what it has for each further key.
    const auto first = nlohmann::json::parse(note.text, nullptr, false);
    const bool known = first.is_object() && first.contains("call") && first["call"].is_number_unsigned() &&
                       first.contains("worker") && first["worker"].is_string();
    if (known && first["call"].get<std::uint64_t>() == checksum) return {};
    return Status(Code::mismatch)
           << "queue " << name << ": worker "
           << (known ? first["worker"].get<std::string>() : std::string("?"))
           << " began it with another model or other options; fill another queue for these";
  }
  return Status(Code::io_error) << "queue " << name << ": its notes change while they are read";
}

}  // namespace

void add_queue_flags(Verb verb, QueueCall& call) {
  call.nats.urls = "nats://127.0.0.1:4222";
  verb.option("--queue", call.name,
              "Name of a queue that many machines share: the recordings come from there (docs/fleet.md)");
  verb.flag("--enqueue", call.enqueue,
            "Fill the queue: all arguments are recordings, each is added once however often it is enqueued");
  verb.flag("--status", call.status, "Print how far the queue is, and which recordings are set apart");
  verb.flag("--wait", call.wait, "Wait for further recordings where the queue is empty, until a signal");
  verb.option("--root", call.root,
              "Folder in which relative paths of the queue's recordings begin on this machine (default: the "
              "working folder)");
  verb.option(
          "--redeliver", call.patience,
          "Seconds after which another worker gets the recording of a silent one, for a queue that is made")
      .range(0.5, 86400.0);
  verb.option("--replicas", call.replicas, "Servers that keep each message, for a queue that is made")
      .range(1, 5);
  verb.option("--nats", call.nats.urls,
              "Addresses of the servers of the queue, with commas: nats://HOST:PORT, tls://HOST:PORT");
  add_nats_flags(verb, call.nats);
}

Status check_queue_call(const QueueCall& queue, const RecordingsCall& call, bool pipe,
                        const std::vector<std::string>& inputs) {
  const auto wrong = [](const char* sentence) { return Status(Code::invalid_argument, sentence); };
  if (queue.name.empty()) {
    if (queue.enqueue || queue.status || queue.wait || !queue.root.empty())
      return wrong("--enqueue, --status, --wait and --root are about a queue: expected --queue NAME");
    return {};
  }
  if (queue.enqueue + queue.status + queue.wait > 1)
    return wrong("expected one of --enqueue, --status and --wait");
  if (pipe || !call.shard.empty() || call.run.strict)
    return wrong("--queue shares recordings by itself: expected no --pipe, --shard or --strict");
  if (queue.status) {
    if (!inputs.empty() || !call.output.empty()) return wrong("--status: expected no MODEL, INPUT or -o");
    return {};
  }
  if (queue.enqueue) {
    if (inputs.empty() || !call.output.empty()) return wrong("--enqueue: expected recordings, and no -o");
    return {};
  }
  if (inputs.size() != 1 || call.output.empty())
    return wrong("--queue: expected MODEL and -o OUT, and no INPUT: the recordings come from the queue");
  if (call.output == "-") return wrong("-o -: a result is acknowledged when it is on disk, expected a file");
  return {};
}

Status enter_root(QueueCall& queue) {
  if (queue.root.empty()) return {};
  std::error_code error;
  RUNNEL_TRY(fleet::complete_settings(queue.nats));
  for (const fleet::NatsOption& option : fleet::kNatsOptions) {
    std::string& value = queue.nats.*option.value;
    if (option.is_file && !value.empty()) value = fs::absolute(value, error).string();
  }
  queue.root = fs::absolute(queue.root, error).lexically_normal().string();
  while (queue.root.size() > 1 && queue.root.ends_with('/')) queue.root.pop_back();
  fs::current_path(queue.root, error);
  if (error) return Status(Code::not_found) << "--root " << queue.root << ": " << error.message();
  return {};
}

Status enqueue(QueueCall& call, const std::vector<std::string>& inputs, const batch::ListOptions& options) {
  RUNNEL_TRY(enter_root(call));
  RUNNEL_ASSIGN(const batch::Recordings list, batch::list_recordings(inputs, options));
  const std::vector<fleet::QueueEntry> entries = fleet::entries_of(list, call.root);
  RUNNEL_ASSIGN(const auto queue, open_queue(call, "enqueue " + call.name, true));
  RUNNEL_ASSIGN(const std::size_t added, queue->add(entries));
  return print({{"type", "enqueued"},
                {"queue", call.name},
                {"recordings", entries.size()},
                {"added", added},
                {"known", entries.size() - added}});
}

Status print_queue_status(const QueueCall& call) {
  RUNNEL_ASSIGN(const auto queue, open_queue(call, "status " + call.name, false));
  RUNNEL_ASSIGN(const fleet::QueueState state, queue->state());
  RUNNEL_ASSIGN(const auto apart, apart_in(*queue));
  for (const auto& [sequence, trial] : apart) {
    RUNNEL_TRY(print({{"type", "apart"},
                      {"recording", trial.recording},
                      {"place", sequence},
                      {"tries", trial.tries},
                      {"worker", trial.worker},
                      {"reason", trial.reason}}));
  }
  return print({{"type", "queue"},
                {"queue", call.name},
                {"recordings", state.total},
                {"done", state.total - std::min(state.total, state.waiting + state.under_way)},
                {"under_way", state.under_way},
                {"waiting", state.waiting},
                {"set_apart", apart.size()}});
}

Status work_on_queue(const QueueCall& call, RecordingsCall& recordings, const std::string& path,
                     std::uint32_t checksum, const RecordingsWork& work) {
  if (batch::is_folder(work.format))
    return Status(Code::invalid_argument) << "--format " << batch::name_of(work.format)
                                          << ": is a folder; a worker of a queue writes one file";
  const std::string worker = fleet::worker_name();
  RUNNEL_ASSIGN(const auto queue, open_queue(call, worker, call.wait));
  RUNNEL_TRY(agree_on_call(*queue, call.name, worker, checksum));
  batch::JournalHead head{.call = checksum,
                          .shard = {},
                          .prefix = work.prefix,
                          .timing = !recordings.no_timing,
                          .format = work.format,
                          .queue = queue->identity()};
  RUNNEL_ASSIGN(batch::QueueOutput output, batch::QueueOutput::open(path, head));
  if (output.before() > 0)
    say(fmt::format("{}: goes on behind {} recordings of before", path, output.before()));
  catch_signals();
  fleet::QueueRunOptions options;
  options.desk.worker = worker;
  options.desk.queue = call.name;
  options.desk.patience = queue->patience();
  options.desk.inside = !call.root.empty();
  options.run = recordings.run;
  options.run.stop = &stop_requested;
  options.run.progress = progress_teller(recordings.progress_seconds);
  options.wait = call.wait;
  options.say = [](const std::string& line) { say(line); };
  const auto end = fleet::run_queue(*queue, output, work.make, options);
  options.run.progress = {};
  if (!end.ok()) return end.status();
  const std::int64_t done = output.totals().recordings;
  if (end->stopped && !call.wait) {
    return Status(Code::io_error) << "interrupted; " << path << ": " << done
                                  << " recordings are kept, the same call goes on";
  }
  RUNNEL_TRY(output.finish(static_cast<std::int64_t>(end->state.total)));
  say(fmt::format("queue {}: {} recordings, {} of them in {}", call.name, end->state.total, done, path));
  RUNNEL_ASSIGN(const auto apart, apart_in(*queue));
  if (apart.empty()) return {};
  return Status(Code::invalid_data) << apart.size() << " of " << end->state.total << " recordings of queue "
                                    << call.name << " are set apart, the first: " << apart[0].second.recording
                                    << ": " << apart[0].second.reason << "; --status lists them";
}

}  // namespace runnel::apps
