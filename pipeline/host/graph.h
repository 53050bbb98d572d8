// A graph from text, ready to run.
//
//     RUNNEL_ASSIGN(auto graph, Graph::build("wav path=a.wav ! fbank preset=kaldi ! npy path=a.npy", {}));
//     RUNNEL_TRY(graph->run());
//     std::puts(graph->summary().c_str());
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/heap_memory.h"
#include "pipeline/executor.h"
#include "pipeline/host/actions.h"
#include "pipeline/host/fftw_maker.h"
#include "pipeline/host/latency.h"
#include "pipeline/host/step_times.h"
#include "pipeline/host/text.h"
#include "pipeline/nodes/host/live/live_source.h"
#include "pipeline/nodes/host/model/live_infer.h"
#include "pipeline/nodes/host/nodes.h"
#include "pipeline/nodes/sensor/join.h"

namespace runnel::pipeline {

struct GraphOptions {
  NodeTable nodes = host_nodes();
  std::int64_t tick = 1024;  // source samples per step at most
  OnGap on_gap = OnGap::reset;
  Isa isa = best_isa();
  ModelLoader* models = nullptr;  // for `infer`; outlives the graph
  OperatorTable operators{};
  // Set from elsewhere (a signal handler) to end the stream: what was heard is brought out and files are
  // completed.
  const std::atomic<bool>* stop = nullptr;
  // Puts `downmix` and `resample` where two ends do not fit otherwise, and says so in a note. For ready-made
  // commands; in a graph that a user wrote a mismatch is an error.
  bool insert_conversions = false;
  // For programs that run many graphs: nodes that know how take their models from here. Outlives the graph.
  SharedSessions* shared = nullptr;
  // Recordings at most so many times as fast as they were made, for demonstrations; 0: as fast as possible.
  // Devices have their own pace.
  double speed = 0;
  // Changes what was read before it is built, for programs that put nodes of their own into it. May be empty.
  std::function<void(GraphText&)> amend{};
  bool time_nodes = false;  // measures what each node takes: about 50 ns per node and step
  // Talk for people: inserted nodes, files that were cut. May be empty.
  std::function<void(std::string_view)> note{};
};

// Not thread-safe, except for the stop flag.
class Graph {
 public:
  // Errors: those of parse_graph, find_node, find_parameter and parse_value, with positions; those of the
  // nodes' prepare.
  static Result<std::unique_ptr<Graph>> build(std::string_view text, const GraphOptions& options);
  static Result<std::unique_ptr<Graph>> build(const GraphText& graph, const GraphOptions& options);
  // A `.rnlg` file.
  static Result<std::unique_ptr<Graph>> load(const std::string& path, const GraphOptions& options);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // To the end of the source, or until the stop flag is set. Once, or once more after restart(). Fails also
  // when all went well but for an action on an event.
  Status run();
  // Back to the beginning. For graphs whose source and sinks can begin again: no files.
  void restart() noexcept;
  // One tick, for programs with a loop of their own.
  Status step(bool& done);
  // Called after every step, one after the other, for programs that show what happens.
  void on_step(std::function<void(const Graph&)> stepped) { stepped_.push_back(std::move(stepped)); }

  // The record at the end of a run, one line of JSON without newline (docs/pipeline.md, summary).
  [[nodiscard]] std::string summary() const;

  // How late each output is behind the sound that it is about, for people, one line; empty for recordings.
  // The first call takes a dry run.
  [[nodiscard]] std::string latency() const;

  // Of what no join follows; with one source, of everything.
  [[nodiscard]] const Executor& executor() const { return *executor_; }
  // For programs that run it themselves; steps taken there are not in the summary.
  [[nodiscard]] Executor& executor() { return *executor_; }
  [[nodiscard]] const GraphText& text() const { return text_; }
  [[nodiscard]] const GraphOptions& options() const { return options_; }
  // Stages in the order of the schedule, every one after its inputs; the first one is a source. Their
  // `input` counts from here.
  [[nodiscard]] int size() const { return static_cast<int>(stages_.size()); }
  [[nodiscard]] const Stage& stage(int index) const { return stages_[static_cast<std::size_t>(index)].stage; }
  // What a stage gives, and how many frames of it at most at once.
  [[nodiscard]] const Format& format(int index) const {
    return executor_of(index).format(stages_[static_cast<std::size_t>(index)].place);
  }
  [[nodiscard]] std::int64_t capacity(int index) const {
    return executor_of(index).capacity(stages_[static_cast<std::size_t>(index)].place);
  }
  // Nanoseconds that a stage has worked, with GraphOptions::time_nodes; the wait of a source for its device
  // is not work.
  [[nodiscard]] std::int64_t busy_nanoseconds(int index) const;
  [[nodiscard]] const StepTimes& step_times() const { return times(); }
  // The stages that a stage reads: none, one, or those that it joins.
  [[nodiscard]] const std::vector<int>& inputs(int index) const {
    return stages_[static_cast<std::size_t>(index)].inputs;
  }
  // Bytes that the nodes and their buffers took.
  [[nodiscard]] std::size_t memory_bytes() const { return memory_.used(); }
  // Names of the nodes that were put in between.
  [[nodiscard]] const std::vector<std::string>& inserted() const { return inserted_; }

 private:
  Graph(GraphText text, const GraphOptions& options) : text_(std::move(text)), options_(options) {}
  // A node, and where it runs.
  struct Placed {
    Stage stage;
    std::vector<int> inputs;  // into stages_
    std::size_t text = 0;     // into text_.nodes
    std::size_t section = 0;
    int place = 0;  // in its section
  };
  // A source or a join with everything that follows it up to the next joins: one executor.
  struct Section {
    std::vector<Stage> stages;       // inputs count from here
    std::vector<std::size_t> texts;  // into text_.nodes; of the ends of joined streams, those of their joins
    Executor* executor = nullptr;
    int join = -1;            // into stages_: the join that it feeds
    bool other_join = false;  // it feeds two
  };

  [[nodiscard]] const Executor& executor_of(int index) const {
    return *sections_[stages_[static_cast<std::size_t>(index)].section].executor;
  }
  Status order(std::string_view source_text);
  Status make_nodes(std::string_view source_text);
  Status make_node(std::size_t index, std::string_view source_text);
  Status check_ends(std::string_view source_text) const;
  Status make_sections(std::string_view source_text);
  Status feed_join(int join, int from);
  Status make_executors(Mismatch& mismatch, std::size_t& mismatched);
  void find_live_source();
  void keep_pace();
  void relieve_models();
  [[nodiscard]] const std::vector<OutputDelay>& delays() const;
  void find_actions();
  [[nodiscard]] std::string live_summary() const;
  [[nodiscard]] StepTimes& times() const;
  [[nodiscard]] Status at_node(const Status& status, std::string_view source_text, std::size_t index) const;

  GraphText text_;
  GraphOptions options_;
  HeapMemory memory_;
  FftwMaker ffts_;
  std::vector<int> order_;  // indices into text_.nodes, sources first
  std::vector<std::string> labels_;
  std::vector<Placed> stages_;
  std::vector<Section> sections_;  // every one after those that it joins; the last one is the main one
  std::vector<Node*> ends_;        // of joined streams
  // Which executors feed which join, in the order of its inputs.
  struct Feed {
    int join = -1;
    std::size_t section = 0;
    JoinInput* end = nullptr;
  };
  std::vector<Feed> feeds_;
  std::vector<std::string> inserted_;
  Executor* executor_ = nullptr;
  const LiveSource* live_ = nullptr;          // the source, when it is a device
  mutable std::unique_ptr<StepTimes> times_;  // large; made when somebody asks
  Actions actions_;
  std::vector<LiveInfer*> models_;
  mutable std::optional<std::vector<OutputDelay>> delays_;  // of outputs of a live source
  std::vector<std::function<void(const Graph&)>> stepped_;
  std::int64_t started_ = 0;  // nanoseconds, of the first step; with a speed
  bool failed_ = false;
};

}  // namespace runnel::pipeline
