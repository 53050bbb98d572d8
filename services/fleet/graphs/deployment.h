// What those ask and change who look after a fleet: its rules, graphs, workers and streams. Every call waits
// for its answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/fleet/entry.h"
#include "services/fleet/graphs/graph_record.h"
#include "services/fleet/graphs/rules.h"
#include "services/fleet/graphs/travelling_graph.h"
#include "services/fleet/nats/jetstream.h"

namespace runnel::fleet {

struct FleetView {
  std::map<std::string, Entry, std::less<>> streams;
  std::vector<std::string> workers;  // whose beats came while it was looked, in alphabetical order
};

class Deployment {
 public:
  // `bucket`: "$KV.runnel". `exchange` is open, knows the bucket, and outlives it; nobody else uses it.
  Deployment(JetStream& exchange, std::string bucket) : exchange_(exchange), bucket_(std::move(bucket)) {}

  // Puts a graph with its models where workers find it; what is there already stays.
  Status publish(const TravellingGraph& graph);
  Result<GraphRecord> record(std::uint32_t identity);
  // None were ever made: there are none.
  Result<Rules> rules();
  // Reads the rules, changes them, and stores them if nobody else did meanwhile; otherwise once more. Errors:
  // those of `change`, io_error.
  Status change(const std::function<Status(Rules&)>& change);
  // Streams now; workers only with some time in which their beats are heard.
  Result<FleetView> look(std::chrono::milliseconds listen);

 private:
  Result<Answer> ask(const std::function<std::uint64_t()>& begin);
  Status put(std::string_view subject, std::string_view data);

  JetStream& exchange_;
  std::string bucket_;
};

// A rule by which a graph hears streams from now on.
Rule rule_now(std::string streams, const GraphRecord& graph);

// What of a graph is another than of that which it replaces, as a sentence; "" if nothing: its front end or
// its labels.
std::string difference(const GraphRecord& before, const GraphRecord& after);

}  // namespace runnel::fleet
