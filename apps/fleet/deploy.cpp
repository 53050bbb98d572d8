// runnel deploy: another model, or graph, hears streams of a fleet. runnel fleet status: what runs where;
// runnel fleet events: what was heard (events.h).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "apps/fleet/events.h"
#include "apps/fleet/nats_flags.h"
#include "apps/graphs.h"
#include "apps/verbs.h"
#include "services/fleet/graphs/deployment.h"

namespace runnel::apps {
// One name for all of this file: the files of a folder are compiled as one.
namespace deploying {
namespace {

using Json = nlohmann::ordered_json;

struct Place {
  fleet::Wire::Settings nats;
  std::string bucket = "runnel";
};

struct DeployCall {
  Place place;
  ModelGraph graph;
  ModelFlags flags;
  std::string streams = "audio.>";
  std::int64_t at = -1;
  double wait = 30;
  bool force = false, take_back = false;
};

struct StatusCall {
  Place place;
  std::string what;
  bool json = false;
  EventsCall events;
};

void add_place(Verb verb, Place& place) {
  place.nats.urls = "nats://127.0.0.1:4222";
  verb.option("--nats", place.nats.urls,
              "Addresses of the servers, with commas: nats://HOST:PORT, tls://HOST:PORT");
  verb.option("--bucket", place.bucket, "Key-value bucket of the fleet");
  add_nats_flags(verb, place.nats);
}

struct Connection {
  std::unique_ptr<fleet::JetStream> exchange;
  std::unique_ptr<fleet::Deployment> fleet;
};

Result<Connection> connect(const Place& place, const char* name) {
  Connection out;
  RUNNEL_ASSIGN(auto wire, fleet::make_wire());
  out.exchange = std::make_unique<fleet::JetStream>(std::move(wire));
  fleet::Wire::Settings nats = place.nats;
  nats.name = name;
  RUNNEL_TRY(out.exchange->open(nats));
  const Status found = out.exchange->use({"$KV." + place.bucket + ".>", "KV_" + place.bucket, 0, 0, true});
  if (found.code() == Code::not_found)
    return Status(Code::not_found) << "bucket " << place.bucket
                                   << ": no worker ever ran here (runnel work makes it)";
  RUNNEL_TRY(found);
  out.fleet = std::make_unique<fleet::Deployment>(*out.exchange, "$KV." + place.bucket);
  return out;
}

void print(const Json& json) {
  std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

// The graph that heard the streams of a new rule before: refused is what readers of events would not expect.
Status check_same(fleet::Deployment& fleet, const fleet::Rules& rules, const std::string& streams,
                  const fleet::GraphRecord& graph) {
  for (const fleet::Rule& rule : rules.now) {
    if (rule.streams != streams && !fleet::covers(rule.streams, streams) &&
        !fleet::covers(streams, rule.streams))
      continue;
    const auto before = fleet.record(rule.graph);
    if (!before.ok()) return before.status();
    if (const std::string what = difference(*before, graph); !what.empty())
      return Status(Code::mismatch) << graph.name << " for " << rule.streams << ": " << what
                                    << "; --force takes it all the same";
  }
  return {};
}

// Until every stream is heard by the graph of its rule; prints each as it changes.
Status wait_for_streams(fleet::Deployment& fleet, const std::string& streams, double seconds) {
  RUNNEL_ASSIGN(const fleet::Rules rules, fleet.rules());
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::set<std::string, std::less<>> done;
  std::size_t waiting = 0;
  do {
    RUNNEL_ASSIGN(const fleet::FleetView view, fleet.look(std::chrono::milliseconds(0)));
    waiting = 0;
    for (const auto& [name, entry] : view.streams) {
      const fleet::Rule* const rule = rules.find(name);
      if (rule == nullptr || !fleet::covers(streams, name) || done.contains(name)) continue;
      if (entry.graph != rule->graph || entry.becomes) {
        ++waiting;
        continue;
      }
      done.insert(name);
      print({{"type", "changed"},
             {"stream", name},
             {"graph", fleet::digits_of(entry.graph)},
             {"run", entry.change.run},
             {"sample", entry.change.sample}});
    }
    if (waiting == 0) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  } while (std::chrono::steady_clock::now() < end && !stop_requested);
  return Status(Code::io_error)
         << waiting << " streams are not heard by it yet: they change as their workers can, or at "
         << "the sample of --at; `runnel fleet status` shows them";
}

Status run_deploy(const DeployCall& call) {
  if (call.take_back != call.graph.model.empty())
    return Status(Code::invalid_argument, "expected a MODEL, or --take-back without one");
  if (!call.flags.key_file.empty())
    return Status(Code::unsupported, "--key-file: graphs of a fleet lie open in its bucket");
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  fleet::TravellingGraph graph;
  if (!call.take_back) {
    RUNNEL_ASSIGN(const std::string around, text_between(call.graph, loader));
    RUNNEL_ASSIGN(graph,
                  fleet::pack_graph(around, loader, is_graph(call.graph.model) ? "a graph" : call.graph.model,
                                    model_options.find));
    if (!graph.needs.empty()) return Status(Code::unsupported) << graph.record.name << ": " << graph.needs;
    // What workers will do with it: a graph that cannot run, or whose state cannot be saved, goes nowhere.
    pipeline::GraphOptions options = graph_options(loader);
    options.stop = nullptr;
    const auto trial = fleet::runner_maker(options, 1)(graph.record, graph.models);
    if (!trial.ok()) return trial.status().at(graph.record.name);
  }
  RUNNEL_ASSIGN(const Connection connection, connect(call.place, "runnel deploy"));
  fleet::Deployment& fleet = *connection.fleet;
  catch_signals();
  if (!call.take_back) RUNNEL_TRY(fleet.publish(graph));
  const auto change = [&](fleet::Rules& rules) -> Status {
    if (call.take_back) return rules.take_back();
    if (!call.force) RUNNEL_TRY(check_same(fleet, rules, call.streams, graph.record));
    fleet::Rule rule = fleet::rule_now(call.streams, graph.record);
    if (call.at >= 0) rule.at = call.at;
    return rules.add(std::move(rule));
  };
  RUNNEL_TRY(fleet.change(change));
  return call.wait > 0 ? wait_for_streams(fleet, call.take_back ? ">" : call.streams, call.wait) : Status();
}

Status run_status(const StatusCall& call) {
  if (call.what == "events") {
    EventsCall events = call.events;
    events.nats = call.place.nats;
    return print_events(events);
  }
  if (call.what != "status")
    return Status(Code::invalid_argument)
           << "fleet " << call.what << ", expected fleet status or fleet events";
  RUNNEL_ASSIGN(const Connection connection, connect(call.place, "runnel fleet status"));
  fleet::Deployment& fleet = *connection.fleet;
  RUNNEL_ASSIGN(const fleet::Rules rules, fleet.rules());
  RUNNEL_ASSIGN(const fleet::FleetView view, fleet.look(std::chrono::milliseconds(2000)));
  std::map<std::uint32_t, std::string> names;
  const auto name_of = [&](std::uint32_t graph) {
    const auto [at, fresh] = names.try_emplace(graph);
    if (fresh) {
      const auto record = fleet.record(graph);
      if (record.ok()) at->second = record->name;
    }
    return at->second;
  };
  std::map<std::string, std::size_t, std::less<>> owned;
  for (const std::string& worker : view.workers) owned[worker] = 0;
  for (const auto& [name, entry] : view.streams)
    if (const auto at = owned.find(entry.owner); at != owned.end()) ++at->second;
  if (call.json) {
    for (const auto& [worker, streams] : owned)
      print({{"type", "worker"}, {"worker", worker}, {"streams", streams}});
    for (const fleet::Rule& rule : rules.now) {
      Json line = {{"type", "rule"},
                   {"streams", rule.streams},
                   {"graph", fleet::digits_of(rule.graph)},
                   {"model", rule.name},
                   {"time", rule.time}};
      if (rule.at) line["at"] = *rule.at;
      print(line);
    }
    for (const auto& [name, entry] : view.streams) {
      Json line = {{"type", "stream"},
                   {"stream", name},
                   {"owner", entry.owner},
                   {"lives", owned.contains(entry.owner)},
                   {"graph", fleet::digits_of(entry.graph)},
                   {"model", name_of(entry.graph)},
                   {"run", entry.run},
                   {"next", entry.next},
                   {"events", entry.events},
                   {"ended", entry.ended},
                   {"changes", entry.change.count}};
      if (entry.becomes) line["becomes"] = fleet::digits_of(*entry.becomes);
      print(line);
    }
    return {};
  }
  std::printf("%-48s streams\n", "worker");
  for (const auto& [worker, streams] : owned) std::printf("%-48s %zu\n", worker.c_str(), streams);
  std::printf("\n%-32s %-9s model\n", "rule: streams", "graph");
  for (const fleet::Rule& rule : rules.now)
    std::printf("%-32s %-9s %s\n", rule.streams.c_str(), fleet::digits_of(rule.graph).c_str(),
                rule.name.c_str());
  std::printf("\n%-32s %-9s %-16s %12s %8s  owner\n", "stream", "graph", "model", "next sample", "events");
  for (const auto& [name, entry] : view.streams) {
    const std::string owner =
        entry.owner.empty() ? "nobody" : entry.owner + (owned.contains(entry.owner) ? "" : " (gone)");
    std::printf("%-32s %-9s %-16s %12lld %8llu  %s%s\n", name.c_str(), fleet::digits_of(entry.graph).c_str(),
                name_of(entry.graph).c_str(), static_cast<long long>(entry.next),
                static_cast<unsigned long long>(entry.events), owner.c_str(), entry.ended ? ", ended" : "");
  }
  return {};
}

}  // namespace
}  // namespace deploying

void add_deploy(Verb verb, int& exit_code) {
  auto call = std::make_shared<deploying::DeployCall>();
  verb.positional(
      "MODEL", call->graph.model,
      "Name or file of a model with its front end and decision; or a graph between samples and events, as "
      "text or a .rnlg file");
  verb.option("--streams", call->streams,
              "Subjects of the streams that it hears, with > for any that follow");
  verb.option("--at", call->at,
              "Sample index of each run under way from which it hears (default: as soon as each stream can; "
              "streams "
              "that are further change at once)")
      .range(0.0, 9e15);
  verb.flag("--force", call->force,
            "Also a model with another front end or other labels than the one before it");
  verb.flag("--take-back", call->take_back, "What ran before the last deployment runs again");
  verb.option("--wait", call->wait, "Seconds to wait until all streams are heard by it; 0: no wait")
      .range(0.0, 86400.0);
  deploying::add_place(verb, call->place);
  verb.option("--front-end", call->graph.front_end, "Graph text before the model (default: the model's own)");
  verb.option("--decision", call->graph.decision, "Graph text after the model (default: the model's own)");
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    if (const Status status = deploying::run_deploy(*call); !status.ok()) exit_code = fail(status);
  });
}

void add_fleet(Verb verb, int& exit_code) {
  auto call = std::make_shared<deploying::StatusCall>();
  verb.positional("WHAT", call->what,
                  "status: workers, rules and streams; events: what was heard in one stream, each event once "
                  "and in order, although copies of the log may differ")
      .required();
  verb.flag("--json", call->json, "status: as lines of JSON instead of a table");
  EventsCall& events = call->events;
  verb.option("--stream", events.stream, "events: the stream, for instance audio.hall.1");
  verb.option("--from", events.from,
              "events: number of the first one, from 1; 0: the first that the log still has")
      .range(0.0, 9e15);
  verb.flag("--follow", events.follow, "events: waits for further ones, until SIGINT or SIGTERM");
  verb.option("--events", events.subject, "events: subject before that of the stream");
  verb.option("--events-log", events.log, "events: JetStream stream that keeps them");
  deploying::add_place(verb, call->place);
  verb.callback([call, &exit_code] {
    if (const Status status = deploying::run_status(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
