// What a graph on several threads adds to one on one thread.
#include <numeric>

#include "pipeline/host/graph.h"
#include "pipeline/nodes/decode/decoder.h"
#include "pipeline/nodes/host/act/history.h"
#include "pipeline/nodes/host/act/record.h"

namespace runnel::pipeline {
namespace {

// Marks the stages from a `history` to the stages that read it as one with it; true when `stage` is one of
// them.
bool share_with_history(const Graph& graph, int stage, std::vector<int>& with) {
  if (dynamic_cast<const History*>(graph.stage(stage).node) != nullptr) return true;
  bool shares = false;
  for (const int input : graph.inputs(stage)) {
    if (!share_with_history(graph, input, with)) continue;
    shares = true;
    with[static_cast<std::size_t>(stage)] = with[static_cast<std::size_t>(input)];
  }
  return shares;
}

// Marks the stages that read what a decoder heard as one with it: the text of an event stays in the memory of
// its decoder, and only until the next block.
void share_with_decoder(const Graph& graph, std::vector<int>& with) {
  std::vector<bool> borrows(with.size());
  for (int i = 0; i < graph.size(); ++i) {
    bool reads = false;
    for (const int input : graph.inputs(i)) {
      const bool decodes = dynamic_cast<const Decoder*>(graph.stage(input).node) != nullptr;
      if (!decodes && !borrows[static_cast<std::size_t>(input)]) continue;
      reads = true;
      with[static_cast<std::size_t>(i)] = with[static_cast<std::size_t>(input)];
    }
    borrows[static_cast<std::size_t>(i)] = reads;
  }
}

}  // namespace

Status Graph::make_threads() {
  if (options_.threads < 2) return {};
  // A `record` reads the samples of its `history` when an event comes, so nothing may run ahead between them.
  std::vector<int> with(stages_.size());
  std::iota(with.begin(), with.end(), 0);
  for (int i = 0; i < size(); ++i) {
    if (dynamic_cast<const Record*>(stage(i).node) != nullptr) share_with_history(*this, i, with);
  }
  share_with_decoder(*this, with);
  // Only the last section is divided: before a join its inputs come as it asks for them.
  std::vector<int> places;  // with, by the stage's place in the section
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].section + 1 != sections_.size()) continue;
    const Placed& other = stages_[static_cast<std::size_t>(with[i])];
    places.push_back(other.section == stages_[i].section ? other.place : 0);
  }
  RUNNEL_ASSIGN(threads_, ThreadedRun::make(*executor_, std::move(places),
                                            {.threads = options_.threads,
                                             .placement = options_.placement,
                                             .from = options_.placed_from,
                                             .live = live_,
                                             .paced = live_ != nullptr || options_.speed > 0,
                                             .note = options_.note}));
  return {};
}

const StepTimes& Graph::times_of(int sink) const {
  return threads_ == nullptr ? times() : threads_->times(stages_[static_cast<std::size_t>(sink)].place);
}

}  // namespace runnel::pipeline
