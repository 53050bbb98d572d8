// One stream of a served graph: samples in, events out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/host/graph.h"
#include "pipeline/host/live/sample_code.h"
#include "pipeline/nodes/host/act/event_record.h"
#include "pipeline/nodes/host/model/shared_infer.h"

namespace runnel::serve {

// What the samples of a stream are.
struct SampleFormat {
  pipeline::SampleCode code = pipeline::SampleCode::s16;
  std::int64_t rate = 16000;
  std::int32_t channels = 1;

  [[nodiscard]] std::size_t frame_bytes() const noexcept {
    return pipeline::bytes_of(code) * static_cast<std::size_t>(channels);
  }
  friend bool operator==(const SampleFormat&, const SampleFormat&) = default;
};

// Source `stream`: the samples that its stream was given.
class Samples final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  std::int64_t rate = 16000, channels = 1;
  std::span<const std::byte> waiting;  // whole frames that were not taken yet
  pipeline::SampleCode code = pipeline::SampleCode::s16;

  Status prepare(pipeline::PrepareContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
};

// Sink `answers`: events as lines of JSON, after what `to` already has.
class Answers final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  std::string* to = nullptr;  // null: dropped

  Status prepare(pipeline::PrepareContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
  // The name in the records from now on.
  void call(std::string_view source) { records_ = pipeline::EventRecords(source, format_); }

 private:
  pipeline::Format format_;
  pipeline::EventRecords records_;
};

// The nodes of a served graph: all that take something and give something, with `infer` shared.
std::vector<const pipeline::NodeType*> served_nodes(pipeline::NodeTable nodes);

// Can be used for one client after another. Not thread-safe. After make() and begin() nothing allocates but
// what writes events.
class Stream {
 public:
  // `around`: what stands between samples and events, e.g. "fbank ! infer model=a.rnl ! detect". Samples of
  // another rate or of several channels are converted. Of `options`, nodes and shared must be set, tick is
  // chosen here. Errors: those of Graph::build.
  static Result<std::unique_ptr<Stream>> make(std::string_view around, const SampleFormat& format,
                                              pipeline::GraphOptions options);

  // From the beginning; records carry `source` and go after what is in `to`, which must outlive the stream
  // or the next begin().
  void begin(std::string_view source, std::string* to);

  // Samples as bytes in the stream's format, whole frames; they must stay until they were taken.
  void give(std::span<const std::byte> samples) noexcept { samples_->waiting = samples; }
  // Bytes that were given and not taken.
  [[nodiscard]] std::size_t waiting() const noexcept { return samples_->waiting.size(); }
  // Source samples that one step takes at most: a tenth of a second.
  [[nodiscard]] std::int64_t tick() const noexcept { return tick_; }

  // The end of the recording: brings out what the graph holds.
  Status end() noexcept { return executor_->end(); }

  [[nodiscard]] const SampleFormat& format() const noexcept { return format_; }
  [[nodiscard]] std::int64_t samples() const noexcept { return executor_->samples(); }
  [[nodiscard]] double seconds() const noexcept { return executor_->seconds(); }
  [[nodiscard]] std::int64_t events() const noexcept { return executor_->events(); }
  // Nodes that were put in for this format, e.g. "put `resample rate=16000` before fbank".
  [[nodiscard]] const std::vector<std::string>& inserted() const noexcept { return graph_->inserted(); }
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
  // Whether all went well for a stream of step().
  struct Turn {
    // A status is large: made in its place, it is neither copied nor filled with zeros.
    explicit Turn(Stream* its) noexcept : stream(its) {}
    Stream* stream;
    Status status;
  };

  Together();
  // Each of them takes one tick of what it was given, and brings out what follows from it. No allocation but
  // for events.
  void step(std::span<Turn> turns) noexcept;

 private:
  // Streams whose data stays in the nearest caches while they are stepped: with 32 a step took 10 % longer on
  // a processor with 512 KiB for each core.
  static constexpr std::size_t kAtOnce = 16;
  void step_some(std::span<Turn> turns) noexcept;
  void run_models(std::span<Turn> turns, std::size_t model) noexcept;

  std::vector<SessionGroup::Turn> due_;
  std::vector<pipeline::SharedInfer*> waiting_;
};

}  // namespace runnel::serve
