// The sink `chunks`: what a graph's source gives, cut into the pieces of a lane.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "pipeline/node.h"
#include "services/fleet/send/lane.h"

namespace runnel::fleet {

// Samples get the indices that the graph gives them, so that what a device lost is a gap of the stream, too.
class ChunkSink final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  struct Settings {
    Lane* lane = nullptr;  // outlives the node
    pipeline::SampleCode code = pipeline::SampleCode::s16;
    double seconds = 0.1;  // of a piece
    std::uint64_t run = 0;
    std::int64_t from = 0;   // samples before it are left out: they were sent before
    bool real_pace = false;  // a recording: gives a piece when it would have been heard
    bool waits = true;       // for room; else samples are lost
    bool timed = false;      // samples are heard now: pieces have time stamps
    bool ends_when_stopped = true;
    const std::atomic<bool>* stop = nullptr;
  };
  // Before the first sample.
  void use(const Settings& settings) { settings_ = settings; }
  [[nodiscard]] const serve::SampleFormat& format() const noexcept { return format_; }
  // Whether the end of the run was taken; not where a signal came first and ends_when_stopped is false.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  // Errors: invalid_argument for what a chunk cannot carry.
  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
  Status finish() noexcept override;

 private:
  Status take(const float* samples, std::int64_t count);
  Status give(bool end);
  void wait_until(std::int64_t sample);

  Settings settings_;
  serve::SampleFormat format_;
  std::int64_t origin_ = 0;  // ns of sample 0; 0: unknown
  std::int64_t most_ = 0;    // samples of a piece
  std::int64_t next_ = 0;
  bool begun_ = false, stopped_ = false, complete_ = false;
  Piece piece_;
  std::int64_t paced_from_ = 0;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace runnel::fleet
