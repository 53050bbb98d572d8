// The stages of a graph in the order in which they run, with the buffer of each one's output.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/memory.h"
#include "base/status.h"
#include "pipeline/node.h"
#include "pipeline/transcript.h"

namespace runnel::pipeline {

// A node in the schedule. Stages are in topological order: every node follows its input. The first one is the
// only source.
struct Stage {
  Node* node = nullptr;
  const NodeType* type = nullptr;
  std::string_view label;  // in messages; must outlive the schedule
  int input = -1;          // stage whose output it reads; -1: the source
};

// Runs blocks through the stages: whatever drives it decides when. Not thread-safe. Lives in the Memory that
// it was given.
class Schedule {
 public:
  struct Edge {  // the output of a stage
    Format format;
    Output output;
    std::int64_t produced = 0;
    std::int64_t busy = 0;  // nanoseconds
  };

  // Takes a copy of the stages. The formats and buffers of the edges are the caller's to fill. `now`: a
  // monotonic clock in nanoseconds; null: stages are not timed. Error: out_of_memory.
  Status make(std::span<const Stage> stages, std::int64_t (*now)() noexcept, Memory& memory) noexcept;
  // The same stages and buffers once more, with counters of its own, for hosts that run some of the stages in
  // another thread (pipeline/host/threads/graph_threads.h). Error: out_of_memory.
  Status make_like(const Schedule& other, Memory& memory) noexcept;

  [[nodiscard]] int size() const noexcept { return count_; }
  [[nodiscard]] const Stage& stage(int index) const noexcept { return stages_[index]; }
  [[nodiscard]] Edge& edge(int index) noexcept { return edges_[index]; }
  [[nodiscard]] const Edge& edge(int index) const noexcept { return edges_[index]; }
  [[nodiscard]] bool timed() const noexcept { return now_ != nullptr; }
  // Events that the stages have made.
  [[nodiscard]] std::int64_t events() const noexcept { return events_; }

  // From now on another node runs in this place. Returns the one before it.
  Node& exchange(int stage, Node& node) noexcept;
  // Measures the time of stages by another clock from now on; null: by none. Returns the one before it.
  std::int64_t (*time_by(std::int64_t (*now)() noexcept) noexcept)() noexcept;
  // Adds the counters of a schedule that make_like() made, and clears them there.
  void absorb(Schedule& other) noexcept;

  // Runs one node over `in`, into its buffer. Errors begin with the label of the node.
  Status process(int stage, const Block& in) noexcept;
  // Runs the block in the output of `stage` through all stages after it.
  Status run_after(int stage) noexcept;
  // Flushes all nodes after the source, in order.
  Status flush() noexcept;
  // Notifies all nodes after the source of lost samples.
  Status gap(const Gap& gap) noexcept;
  // Positions every stage that `stage` leads to; the next frame of its own output is `first`.
  void reset(int stage, std::int64_t first) noexcept;
  // The run succeeded.
  Status finish() noexcept;
  void clear_counters() noexcept;
  // The counters of what came out (base/state_archive.h). Buffers have no contents between two steps.
  template <class Archive>
  void state(Archive& archive) noexcept {
    archive.index(events_);
    for (int i = 0; i < count_; ++i) archive.index(edges_[i].produced);
  }

  // Names the stage in the failure of its node.
  [[nodiscard]] Status failed(int stage, const Status& status) noexcept {
    failed_stage_ = stage;
    return status.at(stages_[stage].label);
  }
  [[nodiscard]] int failed_stage() const noexcept { return failed_stage_; }

 private:
  Status check(int stage) noexcept;
  void count(const Edge& edge) noexcept {
    if (edge.format.kind != Kind::events) return;
    for (std::int64_t i = 0; i < edge.output.count; ++i)
      if (!is_partial(edge.output.as<Event>()[i])) ++events_;
  }

  Stage* stages_ = nullptr;
  Edge* edges_ = nullptr;
  int count_ = 0, failed_stage_ = 0;
  std::int64_t (*now_)() noexcept = nullptr;
  std::int64_t events_ = 0;
};

}  // namespace runnel::pipeline
