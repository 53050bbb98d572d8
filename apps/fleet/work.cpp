// runnel work: one of the workers of a fleet, which share streams over NATS.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "apps/call/access.h"
#include "apps/fleet/nats_flags.h"
#include "apps/graphs.h"
#include "apps/page.h"
#include "apps/verbs.h"
#include "services/fleet/graphs/deployment.h"
#include "services/fleet/graphs/travelling_graph.h"
#include "services/fleet/metrics/board.h"
#include "services/fleet/metrics/page.h"
#include "services/fleet/nats/jetstream.h"
#include "services/fleet/serve_runner.h"
#include "services/fleet/work/worker.h"
#include "services/fleet/worker_name.h"

namespace runnel::apps {
namespace {

using Json = nlohmann::ordered_json;

// Chunks of many streams gather, so that they are read at once and stepped together.
constexpr std::chrono::milliseconds kGather{10};

struct WorkCall {
  ModelGraph graph;
  ModelFlags flags;
  fleet::Wire::Settings nats;
  std::string streams = "audio.>", input = "RUNNEL_INPUT", events = "events", events_stream = "RUNNEL_EVENTS",
              bucket = "runnel", name, metrics, token_file;
  int replicas = 1;
  std::int64_t most_streams = 4096;
  double save = 5, drain = 10, keep = 1;
};

Json facts_of(const fleet::WorkerFacts& facts) {
  return {{"streams", facts.streams},
          {"workers", facts.workers},
          {"known", facts.known},
          {"events", facts.events},
          {"saves", facts.saves},
          {"saved_bytes", facts.saved_bytes},
          {"taken", facts.taken},
          {"handed_over", facts.handed_over},
          {"lost", facts.lost},
          {"refused", facts.refused},
          {"changed", facts.changed},
          {"corrected", facts.corrected},
          {"graphs_here", facts.graphs_here},
          {"repeated_events", facts.chunks.repeated_events},
          {"chunks",
           {{"heard", facts.chunks.heard},
            {"repeated", facts.behind},
            {"doubled", facts.chunks.doubled},
            {"gaps", facts.chunks.gaps},
            {"lost_samples", facts.chunks.lost},
            {"gaps_doubted", facts.chunks.doubted},
            {"gaps_believed", facts.chunks.believed},
            {"mended", facts.chunks.mended},
            {"set_apart", facts.chunks.set_apart}}}};
}

std::atomic<bool> report_requested = false;

// SIGUSR1: what it does with each of its streams, a line each on standard error.
void report(const fleet::JetStream& exchange, const fleet::Worker& worker) {
  for (const fleet::StreamFacts& facts : worker.stream_facts())
    say(Json({{"stream", facts.name},
              {"place", facts.place},
              {"owner", facts.owner},
              {"sequence", facts.sequence},
              {"version", facts.version},
              {"covered", facts.covered},
              {"events", facts.events},
              {"waiting", facts.waiting},
              {"mine", facts.mine},
              {"refused", facts.refused},
              {"saving", facts.saving},
              {"handing_over", facts.handing_over},
              {"settled", facts.settled},
              {"broken", facts.broken},
              {"feed", exchange.describe(facts.feed)}})
            .dump());
  say(facts_of(worker.facts()).dump());
}

fleet::Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

// Puts the graph where all workers find it. The first one of a fleet is what the fleet runs; later ones
// change nothing, and are told so.
Status bring(fleet::JetStream& exchange, const fleet::WorkerOptions& options,
             const fleet::TravellingGraph& graph) {
  fleet::Deployment deployment(exchange, options.bucket);
  RUNNEL_TRY(deployment.publish(graph));
  fleet::Rule other;
  RUNNEL_TRY(deployment.change([&](fleet::Rules& rules) -> Status {
    const auto at = std::find_if(rules.now.rbegin(), rules.now.rend(),
                                 [&](const fleet::Rule& rule) { return rule.streams == options.input; });
    other = at == rules.now.rend() ? fleet::Rule() : *at;
    if (at != rules.now.rend()) return {};
    return rules.add(fleet::rule_now(options.input, graph.record));
  }));
  if (!other.streams.empty() && other.graph != graph.record.identity)
    say(options.input + " are heard by " + other.name + ", graph " + fleet::digits_of(other.graph) +
        ", not by this worker's " + graph.record.name + "; `runnel deploy` changes that");
  return {};
}

// Servers of a cluster that choose a leader answer later: what is better then is tried again, for a minute.
Status patiently(const std::function<Status()>& what) {
  constexpr fleet::Time kPatience = std::chrono::minutes(1), kAgain = std::chrono::milliseconds(500);
  const fleet::Time end = now() + kPatience;
  bool said = false;
  for (;;) {
    Status status = what();
    if (status.code() != Code::io_error || now() > end || stop_requested) return status;
    if (!std::exchange(said, true)) say(std::string(status.text()) + "; it is tried again for a minute");
    std::this_thread::sleep_for(kAgain);
  }
}

// Runs until it has handed all streams over after a signal. `board`: null: nobody reads it. Errors: io_error
// when some were not in time, or when the servers take this user no more.
Status run_worker(fleet::JetStream& exchange, fleet::Worker& worker, const std::string& name,
                  fleet::Time drain, fleet::WorkerBoard* board) {
  constexpr int kAtOnce = 1000;
  constexpr fleet::Time kReport = std::chrono::seconds(1);
  fleet::Lateness lateness;
  fleet::Time next_report{0};
  fleet::Time next = now();
  fleet::Time deadline{0};
  bool more = false;
  while (!worker.left()) {
    if (stop_requested && deadline.count() == 0) {
      deadline = now() + drain;
      worker.leave();
    }
    if (deadline.count() != 0 && now() > deadline)
      return Status(Code::io_error)
             << worker.facts().streams
             << " streams were not handed over in time; other workers go on from their last "
                "saved states";
    if (exchange.closed())
      return Status(
          Code::io_error,
          "the servers refuse this worker's user now; other workers go on from its last saved states");
    fleet::Happening what;
    int count = 0;
    while (count < kAtOnce && exchange.next(what, more || count > 0 ? 0 : 10)) {
      worker.happened(std::move(what));
      ++count;
    }
    more = worker.work(now());
    if (board != nullptr) {
      lateness.add(worker);
      if (now() >= next_report) {
        next_report = now() + kReport;
        fleet::WorkerReport report;
        report.worker = name;
        report.facts = worker.facts();
        report.connected = exchange.connected();
        report.sent_bytes = exchange.sent_bytes();
        lateness.tell(report);
        board->write(std::move(report));
      }
    }
    next += kGather;
    if (const fleet::Time left = next - now(); more || left.count() <= 0)
      next = now();
    else
      std::this_thread::sleep_for(left);
    for (const std::string& line : worker.take_news()) say(line);
    if (report_requested.exchange(false)) report(exchange, worker);
  }
  exchange.flush(1000);
  return {};
}

Status run_work(const WorkCall& call, const net::Address& metrics) {
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  RUNNEL_ASSIGN(const std::string around, text_between(call.graph, loader));
  RUNNEL_ASSIGN(const fleet::TravellingGraph packed,
                fleet::pack_graph(around, loader, is_graph(call.graph.model) ? "a graph" : call.graph.model,
                                  model_options.find));
  // Models that come with other graphs are asked the same.
  RUNNEL_ASSIGN(const std::shared_ptr<const trust::Trust> trust, trusted(call.flags.trust));
  pipeline::GraphOptions options = graph_options(loader);
  options.stop = nullptr;
  RUNNEL_ASSIGN(const auto runner, fleet::ServeRunner::make(around, options, packed.record.identity,
                                                            static_cast<std::size_t>(call.most_streams)));
  fleet::WorkerOptions worker_options;
  worker_options.id = fleet::worker_name(call.name);
  worker_options.input = call.streams;
  worker_options.events = call.events;
  worker_options.bucket = "$KV." + call.bucket;
  worker_options.most_streams = static_cast<std::size_t>(call.most_streams);
  if (!call.metrics.empty()) worker_options.clock = now;
  worker_options.save = std::chrono::milliseconds(static_cast<std::int64_t>(call.save * 1000));
  RUNNEL_ASSIGN(auto wire, fleet::make_wire());
  fleet::JetStream exchange(std::move(wire));
  fleet::Wire::Settings nats = call.nats;
  nats.name = worker_options.id;
  nats.gather = static_cast<int>(kGather.count());
  RUNNEL_TRY(exchange.open(nats));
  catch_signals();
  using Wanted = fleet::JetStream::Wanted;
  for (const Wanted& wanted :
       {Wanted{call.streams, call.input, call.replicas, call.keep, false},
        Wanted{call.events + ".>", call.events_stream, call.replicas, 0, false},
        // One for all fleets of a server: their subjects have one beginning.
        Wanted{"apart.>", "RUNNEL_APART", call.replicas, 7, false},
        Wanted{worker_options.bucket + ".>", "KV_" + call.bucket, call.replicas, 0, true}})
    RUNNEL_TRY(patiently([&] { return exchange.use(wanted); }));
  const bool open = call.flags.key_file.empty();
  if (packed.needs.empty() && open)
    RUNNEL_TRY(patiently([&] { return bring(exchange, worker_options, packed); }));
  else
    say("this worker's graph stays with it: " +
        (open ? packed.needs
              : std::string("with --key-file, because graphs of a fleet lie open in its bucket")));
  fleet::Worker worker(exchange, *runner, worker_options,
                       fleet::runner_maker(options, static_cast<std::size_t>(call.most_streams), trust));
  fleet::WorkerBoard board;
  std::unique_ptr<fleet::WorkerPage> page;
  if (!call.metrics.empty()) {
    AccessFlags access;
    access.token_file = call.token_file;
    RUNNEL_ASSIGN(net::Tokens tokens, tokens_of(access));
    RUNNEL_ASSIGN(page, fleet::WorkerPage::start(metrics, std::move(tokens), board));
  }
  std::signal(SIGUSR1, [](int) { report_requested = true; });
  Json begins = {{"type", "working"}, {"worker", worker_options.id}, {"streams", call.streams}};
  if (page != nullptr) begins["metrics"] = page->origin() + "/metrics";
  std::printf("%s\n", begins.dump().c_str());
  std::fflush(stdout);
  const Status status = run_worker(exchange, worker, worker_options.id,
                                   std::chrono::milliseconds(static_cast<std::int64_t>(call.drain * 1000)),
                                   page == nullptr ? nullptr : &board);
  page.reset();
  Json summary = {{"type", "summary"}, {"worker", worker_options.id}};
  summary.update(facts_of(worker.facts()));
  std::printf("%s\n", summary.dump().c_str());
  return status;
}

}  // namespace

void add_work(Verb verb, int& exit_code) {
  auto call = std::make_shared<WorkCall>();
  call->nats.urls = "nats://127.0.0.1:4222";
  verb.positional("MODEL", call->graph.model,
                  "Name or file of a model with its front end and decision; or a graph between samples and "
                  "events, as "
                  "text or a .rnlg file")
      .required();
  verb.option("--nats", call->nats.urls,
              "Addresses of the servers, with commas: nats://HOST:PORT, tls://HOST:PORT");
  verb.option("--streams", call->streams, "Subjects of the streams, with > for any that follow");
  verb.option("--events", call->events, "Subject before that of a stream, for its events");
  verb.option("--bucket", call->bucket, "Key-value bucket with owners and saved states: one for each fleet");
  verb.option("--input-log", call->input, "JetStream stream that keeps the chunks; made where there is none");
  verb.option("--events-log", call->events_stream,
              "JetStream stream that keeps the events; made where there is none");
  verb.option("--replicas", call->replicas,
              "Servers that keep each message, for what is made; 0: nothing is made")
      .range(0, 5);
  verb.option("--keep", call->keep, "Days that chunks are kept, for what is made").range(0.01, 3650.0);
  verb.option("--name", call->name,
              "Name of this worker, before a number of its own (default: the machine's)");
  verb.option("--most-streams", call->most_streams, "Most streams of this worker").range(1, 65536);
  verb.option("--save", call->save, "Seconds between two saved states of a stream").range(0.1, 3600.0);
  verb.option("--drain", call->drain, "Seconds after SIGTERM to hand streams over").range(0.1, 3600.0);
  verb.option("--metrics", call->metrics,
              "IP:PORT of a page with this worker and the fleet, and of /metrics for Prometheus; port 0: any "
              "free port (default: none)");
  verb.option("--token-file", call->token_file,
              "File with the token that readers of --metrics send, 16 to 1000 bytes (default: the variable "
              "RUNNEL_TOKEN); other addresses than loopback need one");
  add_nats_flags(verb, call->nats);
  verb.option("--chunk", call->graph.chunk,
              "Frames per run of the model (0: the smallest possible, or what has arrived)")
      .range(0, 1 << 20);
  verb.option("--front-end", call->graph.front_end, "Graph text before the model (default: the model's own)");
  verb.option("--decision", call->graph.decision, "Graph text after the model (default: the model's own)");
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    net::Address metrics;
    if (!call->metrics.empty()) {
      const auto parsed = net::Address::parse(call->metrics);
      if (!parsed.ok()) {
        exit_code = refuse(parsed.status());
        return;
      }
      metrics = *parsed;
    }
    if (const Status status = run_work(*call, metrics); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
