// Long recordings in pieces that several threads work on, with the results of one piece: the bits are the
// same.
//
// What comes out of the front part of a graph (conversions, front end, model) depends on a part of the
// recording around it, when none of its nodes remembers everything. Pieces overlap by that context, each is
// cut out exactly, and what follows (decisions, which do remember) reads them one after the other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/host/graph.h"
#include "services/batch/recordings/recording_source.h"
#include "services/batch/spare_threads.h"

namespace runnel::batch {

// What an output frame of the front part needs, and where frames stand. All in output frames but `samples`.
struct PieceContext {
  std::int64_t before = 0, behind = 0;  // frames that are not exact at a beginning and an end of samples
                                        // which is not the recording's
  std::int64_t unit = 1;                // pieces begin at multiples of so many frames,
  std::int64_t samples = 1;             // which are so many samples of the recording
};

// Of a graph for sound files that ends in frames. Nothing: it remembers everything, or that is not known of a
// node.
std::optional<PieceContext> piece_context(const pipeline::Graph& graph);

// The front part over a recording, piece by piece.
class PieceRunner {
 public:
  // `source`: text of the recording's source without a piece, to which offset and duration are added.
  // `front`: what follows it, down to frames. `seconds`: length of a piece.
  PieceRunner(std::string source, std::string front, double seconds, const pipeline::GraphOptions& options);
  ~PieceRunner();

  // Whether it can be done: the file can be cut exactly, has more than two pieces, and the graph has a
  // context. `tail`: as in the source's text.
  Status prepare(double tail);
  // Of the frames that come out; its source is the recording's.
  [[nodiscard]] const pipeline::Format& format() const;
  // Length of the recording with its silence after it.
  [[nodiscard]] double seconds() const { return seconds_; }

  // The next frames, at most `capacity`; 0: there are no more. Works on as many pieces at a time as there are
  // threads to spare, and one.
  Result<std::int64_t> read(std::byte* to, std::int64_t capacity, SpareThreads& spare);

 private:
  struct Lane;
  struct Piece {
    std::int64_t from = 0;             // first sample
    std::int64_t samples = 0;          // 0: to the end
    std::int64_t drop = 0, keep = -1;  // frames that come out; -1: all that are left
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
  std::size_t active_ = 0, lane_ = 0, position_ = 0;  // lanes of this wave; what is read next
  std::int64_t next_ = 0;                             // piece
  bool last_ = false;                                 // the last piece has been worked on
};

// Gives what a PieceRunner reads, as the source of the rest of a graph.
class PieceSource final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;  // pieces

  // The runner of the graph that this thread builds next, and the threads that help it. Both outlive the
  // graph.
  static void use(PieceRunner* runner, SpareThreads* spare) noexcept;

  Status prepare(pipeline::PrepareContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

 private:
  PieceRunner* runner_ = nullptr;
  SpareThreads* spare_ = nullptr;
};

}  // namespace runnel::batch
