// The ends of a graph in the library, and its `infer`.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "library/outbox.h"
#include "pipeline/host/graph.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/model/live_infer.h"

namespace runnel::library {

// Source `samples`: what was pushed. Call give(), then step the executor until nothing is pending.
class PushedSamples final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  std::int64_t rate = 16000, channels = 1;

  // Not copied: the caller keeps them until nothing is pending. int16 values v become v / 32768, as those of
  // recordings do.
  void give(const void* samples, std::size_t frames, DType dtype) noexcept;
  void lose(std::int64_t frames) noexcept { lost_ += frames; }
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }
  // Samples lost before the next ones.
  [[nodiscard]] std::int64_t lost() const noexcept { return lost_; }
  void forget() noexcept;
  // Between two steps nothing is pending.
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.index(lost_);
  }

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

 private:
  const std::byte* next_ = nullptr;
  std::size_t pending_ = 0;  // frames
  std::int64_t lost_ = 0;
  DType given_ = DType::none;
};

// Sink `decisions`: events into the outbox.
class DecisionSink final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  Outbox* to = nullptr;  // null: dropped

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
  [[nodiscard]] const pipeline::Format& format() const noexcept { return format_; }

 private:
  pipeline::Format format_;
};

// Sink `observed`: frames into the outbox.
class FrameSink final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  std::int64_t stage = 0;  // a runnel_stage
  Outbox* to = nullptr;    // null: dropped

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
  [[nodiscard]] const pipeline::Format& format() const noexcept { return format_; }

 private:
  pipeline::Format format_;
};

// `infer` over models that all nodes of a program share. Its context has Models as its loader.
class SharedModelInfer final : public pipeline::LiveInfer {
 public:
  static const pipeline::NodeType type;

 protected:
  Result<const Prepared*> make_prepared(pipeline::NodeContext& context, const Model& loaded,
                                        const PrepareOptions& options) noexcept override;
};

// Connects the sinks of a graph to what waits for the application. Returns its source.
PushedSamples& attach(pipeline::Graph& graph, Outbox& outbox);

// What a graph of the library may have: every node with an input and an output, and the ends above.
pipeline::NodeTable library_nodes();

}  // namespace runnel::library
