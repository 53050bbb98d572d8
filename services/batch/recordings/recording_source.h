// Opens recordings independently of the graph that processes them: one graph is made for each format and
// reused.
#pragma once

#include <memory>
#include <string>

#include "base/host/heap_memory.h"
#include "pipeline/host/graph.h"

namespace runnel::batch {

// An open recording and its format.
class OpenRecording {
 public:
  // `text`: a source as text, "wav path=a.wav"; the nodes and the tick are those of `options`. Errors: those
  // of the node, preceded by its name.
  static Result<std::unique_ptr<OpenRecording>> open(const std::string& text,
                                                     const pipeline::GraphOptions& options);
  ~OpenRecording();
  OpenRecording(const OpenRecording&) = delete;
  OpenRecording& operator=(const OpenRecording&) = delete;

  [[nodiscard]] pipeline::Node& node() const { return *node_; }
  [[nodiscard]] const pipeline::Format& format() const { return format_; }
  // "wav"
  [[nodiscard]] const std::string& label() const { return text_.nodes[0].type; }

 private:
  OpenRecording() = default;
  pipeline::GraphText text_;  // nodes hold views of it
  HeapMemory memory_;
  pipeline::Node* node_ = nullptr;
  pipeline::Format format_;
};

// The source of a graph for recordings of one format.
class RecordingSource final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  std::int64_t sample_rate = 0, hop = 1, begin = 0, span = 1, denominator = 1, channels = 1;

  // Sets the recording that the next run reads; its format must be the one that the graph was made for.
  void play(pipeline::Node* recording) noexcept { recording_ = recording; }

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override;

 private:
  pipeline::Node* recording_ = nullptr;
};

// "recording name=wav ...", the text of a RecordingSource for such recordings. Recordings with the same text
// share a graph.
std::string text_of_source(const OpenRecording& recording);

}  // namespace runnel::batch
