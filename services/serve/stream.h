// One stream of a served graph: samples in, events out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/sealed_state.h"
#include "base/state_archive.h"
#include "base/status.h"
#include "pipeline/host/graph.h"
#include "pipeline/host/live/sample_code.h"
#include "pipeline/nodes/host/act/event_record.h"
#include "pipeline/nodes/host/model/shared_infer.h"

namespace runnel::serve {

// The format of the samples of a stream.
struct SampleFormat {
  pipeline::SampleCode code = pipeline::SampleCode::s16;
  std::int64_t rate = 16000;
  std::int32_t channels = 1;

  [[nodiscard]] std::size_t frame_bytes() const noexcept {
    return pipeline::bytes_of(code) * static_cast<std::size_t>(channels);
  }
  friend bool operator==(const SampleFormat&, const SampleFormat&) = default;
};

// Source `stream`: the samples given to its stream.
class Samples final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  std::int64_t rate = 16000, channels = 1;
  std::span<const std::byte> waiting;  // whole frames not consumed yet
  std::int64_t lost = 0;               // samples that are missing before them
  pipeline::SampleCode code = pipeline::SampleCode::s16;

  // Between two steps, when nothing waits.
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.index(lost);
  }

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
};

// Sink `answers`: appends events to `to` as lines of JSON.
class Answers final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  std::string* to = nullptr;  // null: dropped

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
  // Sets the name in further records.
  void call(std::string_view source) { records_ = pipeline::EventRecords(source, format_); }
  // Times in further records count from so many samples of the stream before its first one.
  void begin_at(std::int64_t first, std::int64_t rate) { records_.begin_at(first, rate); }

 private:
  pipeline::Format format_;
  pipeline::EventRecords records_;
};

// The nodes of a served graph: all with an input and an output, with `infer` shared.
std::vector<const pipeline::NodeType*> served_nodes(pipeline::NodeTable nodes);

// Can be reused for one client after another. Not thread-safe. After make() and begin() only writing events
// allocates.
class Stream {
 public:
  // `around`: the graph between samples and events, e.g. "fbank ! infer model=a.rnl ! detect". Other rates
  // and several channels are converted. In `options`, nodes and shared must be set; tick is overridden.
  // Errors: those of Graph::build.
  static Result<std::unique_ptr<Stream>> make(std::string_view around, const SampleFormat& format,
                                              pipeline::GraphOptions options);

  // Restarts the stream; records have the name `source` and are appended to `to`, which must be valid until
  // the next begin() or the end of the stream. `first`: the index of the first sample that is given, for the
  // times in records; the graph itself begins there.
  void begin(std::string_view source, std::string* to, std::int64_t first = 0);

  // Gives samples as bytes in the stream's format, whole frames; they must stay valid until consumed.
  void give(std::span<const std::byte> samples) noexcept { samples_->waiting = samples; }
  // Samples are missing before those that are given next: a gap (ExecutorOptions::on_gap).
  void lose(std::int64_t samples) noexcept { samples_->lost += samples; }
  // Bytes given and not consumed yet.
  [[nodiscard]] std::size_t waiting() const noexcept { return samples_->waiting.size(); }
  // Most source samples per step: a tenth of a second.
  [[nodiscard]] std::int64_t tick() const noexcept { return tick_; }

  // Ends the recording: flushes the graph.
  Status end() noexcept { return executor_->end(); }

  // The stream as bytes, between two steps and when nothing is waiting(); the name of begin() and what was
  // appended to its text are not part of it. `restore` goes on as the saved stream would have, bit for bit,
  // in any process with the same graph, models and format, which `seal.identity` stands for. Errors:
  // unsupported for a graph with nodes that cannot be saved; those of restore_sealed(), after which the
  // stream is at its start.
  [[nodiscard]] Status saveable() const;
  [[nodiscard]] std::size_t saved_bytes();
  Status save(std::span<std::byte> to, const Seal& seal);
  Status restore(std::span<const std::byte> from, const Seal& seal);

  [[nodiscard]] const SampleFormat& format() const noexcept { return format_; }
  [[nodiscard]] std::int64_t samples() const noexcept { return executor_->samples(); }
  [[nodiscard]] double seconds() const noexcept { return executor_->seconds(); }
  [[nodiscard]] std::int64_t events() const noexcept { return executor_->events(); }
  // Nodes inserted for this format.
  [[nodiscard]] const std::vector<pipeline::Insertion>& inserted() const noexcept {
    return graph_->inserted();
  }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return graph_->memory_bytes(); }

 private:
  friend class Together;
  struct Model {
    pipeline::SharedInfer* node = nullptr;
    int stage = 0;
  };

  SampleFormat format_;
  std::int64_t tick_ = 0;
  std::unique_ptr<pipeline::Graph> graph_;
  pipeline::Executor* executor_ = nullptr;
  Samples* samples_ = nullptr;
  Answers* answers_ = nullptr;
  std::vector<Model> models_;  // in the order of the schedule
};

// Steps many streams of one graph: front ends one by one, models together.
class Together {
 public:
  // The result of one stream of step().
  struct Turn {
    // A status is large: constructed in place, it is neither copied nor zeroed.
    explicit Turn(Stream* its) noexcept : stream(its) {}
    Stream* stream;
    Status status;
  };

  Together();
  // Each stream consumes one tick of its samples and gives the resulting output. Only events allocate.
  void step(std::span<Turn> turns) noexcept;

 private:
  static constexpr std::size_t kAtOnce = pipeline::SharedSessions::kSeats;
  void step_some(std::span<Turn> turns) noexcept;
  void run_models(std::span<Turn> turns, std::size_t model) noexcept;

  std::vector<SessionGroup::Turn> due_;
  std::vector<pipeline::SharedInfer*> waiting_, loaded_;
};

}  // namespace runnel::serve
