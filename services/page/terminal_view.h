// A status line in a terminal: level, the largest posteriors, losses.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "pipeline/host/graph.h"
#include "pipeline/nodes/host/act/watch.h"

namespace runnel::page {

// Used by the threads that run the graph, one of which steps it. For a graph from a text that add_watches()
// has seen.
class TerminalView final : public pipeline::WatchListener {
 public:
  // `write`: writes text with control sequences to the terminal. Drawn at most ten times a second; clear()
  // removes it.
  explicit TerminalView(std::function<void(std::string_view)> write) : write_(std::move(write)) {}

  void connect(const pipeline::Graph& graph);
  // Call after every step.
  void stepped(const pipeline::Graph& graph);
  // Clears the line for other output.
  void clear();

  void watched(const pipeline::Watch& watch, std::span<const float> values, std::int64_t first) override;
  void watched(const pipeline::Watch& watch, const pipeline::Event& event,
               const std::string& record) override;
  void lost(const pipeline::Watch&, const pipeline::Gap&, const std::string&) override { clear(); }

  // The line itself, without control sequences, at most this many columns wide.
  [[nodiscard]] std::string line(double seconds, std::int64_t lost, std::size_t columns) const;

 private:
  void erase();

  std::mutex mutex_;  // guards what follows
  std::function<void(std::string_view)> write_;
  // Outputs of a model: the largest since the last line; repeated if none are new.
  struct Values {
    std::vector<float> largest;
    bool shown = true;
  };
  std::map<const pipeline::Watch*, Values> values_;
  float peak_ = 0;
  std::string heard_;  // the utterance so far, of a decoder of speech
  bool drawn_ = false;
  std::chrono::steady_clock::time_point told_{};
};

}  // namespace runnel::page
