// What a worker says of itself.
#include <algorithm>
#include <utility>

#include "services/fleet/work/worker_stream.h"

namespace runnel::fleet {

WorkerFacts Worker::facts() const {
  WorkerFacts out = facts_;
  out.chunks = gone_;
  out.known = streams_.size();
  out.graphs_here = library_.size();
  const std::vector<std::string> living = beats_.living();
  out.workers = living.size();
  for (const std::string& worker : living) out.shares[worker] = shares_.streams_of(worker);
  for (const Stream* const it : by_id_) {
    if (it == nullptr || it->holding == nullptr || it->holding->owned == nullptr) continue;
    ++out.streams;
    const std::uint32_t graph = it->holding->owned->entry().graph;
    ++out.graphs[graph];
    if (out.own.size() < WorkerFacts::kMostNamed) out.own.emplace_back(it->name, graph);
    out.chunks.add(it->holding->owned->counts());
  }
  return out;
}

std::vector<StreamFacts> Worker::stream_facts() const {
  constexpr std::string_view kPlaces[] = {"reading", "claiming", "asking", "here"};
  std::vector<StreamFacts> out;
  for (const Stream* const it : by_id_) {
    if (it == nullptr) continue;
    StreamFacts facts{it->name, "elsewhere", shares_.owner(it->id)};
    if (it->holding == nullptr && !it->mine && facts.owner != options_.id) continue;
    facts.version = it->version;
    facts.mine = it->mine;
    facts.refused = it->refused;
    if (it->holding != nullptr) {
      const Holding& holding = *it->holding;
      facts.place = kPlaces[static_cast<std::size_t>(holding.place)];
      facts.sequence = holding.sequence;
      facts.version = holding.version;
      const Entry& entry = holding.owned == nullptr ? holding.entry : holding.owned->entry();
      facts.covered = entry.covered;
      facts.events = entry.events;
      facts.feed = holding.feed;
      facts.saving = holding.saving;
      facts.handing_over = holding.handing_over;
      facts.broken = holding.broken;
      if (holding.owned != nullptr) {
        facts.waiting = holding.owned->waiting();
        facts.settled = holding.owned->settled();
      }
    }
    out.push_back(std::move(facts));
  }
  std::sort(out.begin(), out.end(),
            [](const StreamFacts& a, const StreamFacts& b) { return a.name < b.name; });
  return out;
}

std::vector<std::string> Worker::streams() const {
  std::vector<std::string> out;
  for (const Stream* const it : by_id_)
    if (it != nullptr && it->holding != nullptr && it->holding->place == Holding::Place::here)
      out.push_back(it->name);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace runnel::fleet
