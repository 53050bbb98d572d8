// The messages from a running graph to its page: one JSON object each (docs/live.md, page).
//
//     {"type":"graph", ...}       once: nodes, formats, labels
//     {"type":"spectrum", ...}    a column of the spectrogram: seconds, peak, two hexadecimal digits per band
//     {"type":"values", ...}      outputs of a model: seconds, largest value per label since the last message
//     {"type":"event", ...}       an event as in the output of the run
//     {"type":"partial", ...}     what a decoder of speech has heard of an utterance so far
//     {"type":"final", ...}       its final result
//     {"type":"gap", ...}         lost samples
//     {"type":"recording", ...}   a file around an event is complete: number (GET /recordings/NUMBER), name
//     {"type":"stats", ...}       twice a second: cost per node, times of steps, losses
//     {"type":"end"}              the run is over
#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/host/graph.h"
#include "pipeline/nodes/host/act/watch.h"
#include "services/page/message_log.h"
#include "services/page/spectrum.h"
#include "services/page/watches.h"

namespace runnel::page {

// Numbers the files with the sound of events. Thread-safe.
class Recordings {
 public:
  std::size_t add(std::filesystem::path path);
  // Empty for unknown numbers.
  [[nodiscard]] std::filesystem::path path(std::size_t number) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::filesystem::path> paths_;
};

// Used by the threads that run the graph, one of which steps it.
class Feed final : public pipeline::WatchListener {
 public:
  Feed(MessageLog& log, Recordings& recordings) : log_(log), recordings_(recordings) {}

  // Listens to the watches and recorders of a graph that is ready to run, and describes its nodes.
  void connect(const pipeline::Graph& graph);
  // Call after every step.
  void stepped(const pipeline::Graph& graph);
  // For late readers: the description of the graph, and the latest events, gaps and recordings. Thread-safe.
  [[nodiscard]] std::vector<std::string> beginning() const;

  void watched(const pipeline::Watch& watch, std::span<const float> values, std::int64_t first) override;
  void watched(const pipeline::Watch& watch, const pipeline::Event& event,
               const std::string& record) override;
  void lost(const pipeline::Watch& watch, const pipeline::Gap& gap, const std::string& record) override;

 private:
  // Largest values since the last message.
  struct Values {
    std::vector<float> largest;
    std::int64_t end = 0;  // source sample after them
    std::chrono::steady_clock::time_point told;
  };

  void remember(const std::string& message);

  MessageLog& log_;
  Recordings& recordings_;
  mutable std::mutex mutex_;  // guards the next two
  std::string description_;
  std::deque<std::string> latest_;
  std::mutex watching_;  // guards the next two
  std::optional<Spectrum> spectrum_;
  std::map<const pipeline::Watch*, Values> values_;
  const pipeline::Watch* source_ = nullptr;
  std::chrono::steady_clock::time_point told_{};
};

}  // namespace runnel::page
