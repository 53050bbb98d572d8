// Splits long recordings into pieces for several threads; the results have the same bits as without
// splitting.
//
// An output frame of the front part of a graph (conversions, front end, model) depends on a bounded context
// in the recording, if none of its nodes has unbounded memory. Pieces overlap by that context and are cut to
// the sample; the rest of the graph (decisions, with unbounded memory) reads their output in order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/host/graph.h"
#include "services/batch/recordings/recording_source.h"
#include "services/batch/spare_threads.h"

namespace runnel::batch {

// The context of an output frame of the front part, and its grid. In output frames, except for `samples`.
struct PieceContext {
  std::int64_t before = 0, after = 0;  // frames that are not exact next to a start and an end of samples
                                       // that are not those of the recording
  std::int64_t unit = 1;               // pieces begin at multiples of this many frames,
  std::int64_t samples = 1;            // which are this many samples of the recording
};

// The context of a graph from sound files to frames. nullopt: unbounded, or unknown for a node.
std::optional<PieceContext> piece_context(const pipeline::Graph& graph);

// Runs the front part over a recording in pieces.
class PieceRunner {
 public:
  // `source`: text of the recording's source, to which offset and duration are added. `front`: the graph
  // after it, down to frames. `seconds`: length of a piece.
  PieceRunner(std::string source, std::string front, double seconds, const pipeline::GraphOptions& options);
  ~PieceRunner();

  // Checks that splitting is possible: seeking is exact, there are more than two pieces, and the context is
  // bounded. `tail`: as in the source's text.
  Status prepare(double tail);
  // Format of the output frames; its source is that of the recording.
  [[nodiscard]] const pipeline::Format& format() const;
  // Length of the recording with the silence appended to it.
  [[nodiscard]] double seconds() const { return seconds_; }

  // The next frames, at most `capacity`; 0: the end. Processes one piece per spare thread at a time, plus one
  // in this thread.
  Result<std::int64_t> read(std::byte* to, std::int64_t capacity, SpareThreads& spare);

 private:
  struct Lane;
  struct Piece {
    std::int64_t from = 0;             // first sample
    std::int64_t samples = 0;          // 0: to the end
    std::int64_t drop = 0, keep = -1;  // output frames; -1: all that are left
  };
  [[nodiscard]] Piece piece(std::int64_t index) const;
  Status work(Lane& lane, const Piece& piece);
  Status next_wave(SpareThreads& spare);

  std::string source_, front_;
  double piece_seconds_, seconds_ = 0, tail_ = 0;
  pipeline::GraphOptions options_;
  std::vector<const pipeline::NodeType*> nodes_;
  PieceContext context_;
  std::int64_t rate_ = 1, frames_ = 0;  // of the recording: samples
  std::int64_t length_ = 0;             // of a piece, in output frames
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t active_ = 0, lane_ = 0, position_ = 0;  // lanes of the current pieces; read position
  std::int64_t next_ = 0;                             // piece
  bool last_ = false;                                 // the last piece has been processed
};

// The source of the rest of a graph: gives the frames of a PieceRunner.
class PieceSource final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;  // pieces

  // Sets the runner for the graph that this thread builds next, and its spare threads. Both outlive the
  // graph.
  static void use(PieceRunner* runner, SpareThreads* spare) noexcept;

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

 private:
  PieceRunner* runner_ = nullptr;
  SpareThreads* spare_ = nullptr;
};

}  // namespace runnel::batch
