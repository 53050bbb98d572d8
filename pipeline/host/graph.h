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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/executor.h"
#include "pipeline/host/actions.h"
#include "pipeline/host/fftw_maker.h"
#include "pipeline/host/graph_memory.h"
#include "pipeline/host/latency.h"
#include "pipeline/host/step_times.h"
#include "pipeline/host/text.h"
#include "pipeline/host/threads/threaded_run.h"
#include "pipeline/nodes/host/live/live_source.h"
#include "pipeline/nodes/host/model/live_infer.h"
#include "pipeline/nodes/host/nodes.h"
#include "pipeline/nodes/sensor/join.h"

namespace runnel::pipeline {

constexpr int kMaxGraphThreads = 32;

struct GraphOptions {
  NodeTable nodes = host_nodes();
  std::int64_t tick = 1024;  // source samples per step at most
  OnGap on_gap = OnGap::reset;
  Isa isa = best_isa();
  ModelLoader* models = nullptr;  // for `infer`; outlives the graph
  OperatorTable operators{};
  // Set by another thread or a signal handler to end the stream: all nodes are flushed and files are
  // completed.
  const std::atomic<bool>* stop = nullptr;
  // Inserts `downmix` and `resample` where two ends do not match, and reports it in a note. For ready-made
  // commands; in a graph that a user wrote, a mismatch is an error.
  bool insert_conversions = false;
  // For programs that run many graphs: nodes that support it take their models from here. Outlives the graph.
  SharedSessions* shared = nullptr;
  // Bytes to take at once, as one zeroed piece, for all nodes and buffers: Graph::packed_bytes() of a graph
  // of the same text and options. 0: each for itself. Not together with `shared`, which knows them.
  std::size_t piece_bytes = 0;
  // Plays recordings at most at this multiple of real time, for demonstrations; 0: as fast as possible.
  // Ignored for devices, which have their own pace.
  double speed = 0;
  // Changes the parsed graph before it is built, for programs that insert nodes of their own. May be empty.
  std::function<void(GraphText&)> amend{};
  // Threads that the nodes may run on, 1 to kMaxGraphThreads; more than the machine has cores are not used.
  // What comes before a join stays with it. With more than one, sinks are called in several threads, each in
  // one at a time; run the graph with run() or step() only, not through executor(). Not together with
  // `shared`.
  int threads = 1;
  // For tests and measurements: the thread of each stage (0: that of the source) from step `placed_from` on,
  // instead of a placement by measured cost. Empty: none.
  std::vector<int> placement{};
  std::int64_t placed_from = 0;
  bool time_nodes = false;  // measures the time of each node; costs about 50 ns per node and step
  // Messages for the user: inserted nodes, truncated files. May be empty.
  std::function<void(std::string_view)> note{};
};

// A node that was inserted because a format did not fit.
struct Insertion {
  std::string type;  // e.g. "resample"
  std::string note;  // for the user: "inserted `resample rate=16000` before fbank"
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

  // Runs to the end of the source, or until the stop flag is set. Once, or once more after restart(). Also
  // fails when only an action on an event failed.
  Status run();
  // Back to the start. Only for graphs whose source and sinks can restart, not for files.
  void restart() noexcept;
  // One tick, for programs with a loop of their own.
  Status step(bool& done);
  // Called after every step, in this order, for programs that display progress.
  void on_step(std::function<void(const Graph&)> stepped) { stepped_.push_back(std::move(stepped)); }

  // The record at the end of a run, one line of JSON without newline (docs/pipeline.md, summary).
  [[nodiscard]] std::string summary() const;

  // The latency of each output as one line for the user; empty for recordings. The first call makes a dry
  // run.
  [[nodiscard]] std::string latency() const;

  // The executor of the last section; with one source, of the whole graph.
  [[nodiscard]] const Executor& executor() const { return *executor_; }
  // For programs that run it themselves; the summary does not count those steps.
  [[nodiscard]] Executor& executor() { return *executor_; }
  [[nodiscard]] const GraphText& text() const { return text_; }
  [[nodiscard]] const GraphOptions& options() const { return options_; }
  // Stages in the order of the schedule, every one after its inputs; the first one is a source. Their `input`
  // is an index into these.
  [[nodiscard]] int size() const { return static_cast<int>(stages_.size()); }
  [[nodiscard]] const Stage& stage(int index) const { return stages_[static_cast<std::size_t>(index)].stage; }
  // The output format of a stage, and the most frames in one block.
  [[nodiscard]] const Format& format(int index) const {
    return executor_of(index).format(stages_[static_cast<std::size_t>(index)].place);
  }
  [[nodiscard]] std::int64_t capacity(int index) const {
    return executor_of(index).capacity(stages_[static_cast<std::size_t>(index)].place);
  }
  // Nanoseconds that a stage was busy, with GraphOptions::time_nodes; a source that waits for its device is
  // not busy.
  [[nodiscard]] std::int64_t busy_nanoseconds(int index) const;
  [[nodiscard]] const StepTimes& step_times() const { return times(); }
  // The inputs of a stage: none, one, or those that it joins.
  [[nodiscard]] const std::vector<int>& inputs(int index) const {
    return stages_[static_cast<std::size_t>(index)].inputs;
  }
  // Bytes that the nodes and their buffers occupy.
  [[nodiscard]] std::size_t memory_bytes() const { return memory_.used(); }
  // Those of a graph that shares memory with others, or was made with `piece_bytes`, lie in one piece, for
  // programs that fetch it into a cache before a step; empty for the first one of its text.
  [[nodiscard]] std::span<const std::byte> memory_piece() const { return memory_.piece(); }
  // Bytes of one piece that holds them all, for GraphOptions::piece_bytes.
  [[nodiscard]] std::size_t packed_bytes() const { return memory_.packed_bytes(); }
  // The nodes that were inserted, in the order in which they were.
  [[nodiscard]] const std::vector<Insertion>& inserted() const { return inserted_; }

 private:
  Graph(std::shared_ptr<const GraphText> text, const GraphOptions& options)
      : kept_text_(std::move(text)), text_(*kept_text_), options_(options) {}
  // A node and its position in the schedule.
  struct Placed {
    Stage stage;
    std::vector<int> inputs;  // into stages_
    std::size_t text = 0;     // into text_.nodes
    std::size_t section = 0;
    int place = 0;  // index in its section
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
  void relieve_models(bool overloaded);
  [[nodiscard]] const std::vector<OutputDelay>& delays() const;
  void find_actions();
  [[nodiscard]] std::string live_summary() const;
  [[nodiscard]] StepTimes& times() const;
  [[nodiscard]] const StepTimes& times_of(int sink) const;
  Status make_threads();
  [[nodiscard]] Status at_node(const Status& status, std::string_view source_text, std::size_t index) const;

  std::shared_ptr<const GraphText> kept_text_;  // nodes refer to it; graphs of one program may share it
  const GraphText& text_;
  GraphOptions options_;
  GraphMemory memory_;
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
  std::vector<Insertion> inserted_;
  Executor* executor_ = nullptr;
  const LiveSource* live_ = nullptr;          // the source, when it is a device
  mutable std::unique_ptr<StepTimes> times_;  // large; made on demand
  Actions actions_;
  std::vector<LiveInfer*> models_;
  mutable std::optional<std::vector<OutputDelay>> delays_;  // of outputs of a live source
  std::unique_ptr<ThreadedRun> threads_;                    // null: on one thread
  std::vector<std::function<void(const Graph&)>> stepped_;
  std::int64_t started_ = 0;  // nanoseconds, of the first step; with a speed
  bool failed_ = false;
};

}  // namespace runnel::pipeline
