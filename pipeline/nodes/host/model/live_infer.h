// `infer` on hosts: a model that can be left out while there is more sound than it can follow.
#pragma once

#include "pipeline/nodes/model/infer.h"

namespace runnel::pipeline {

// While it skips, what comes in is not run, and every output frame that would have come of it has the value 0
// everywhere, so that indices go on and nothing is decided. After that the model starts afresh, on its grid.
class LiveInfer final : public Infer {
 public:
  static const NodeType type;

  // From the next process() on; in the thread of the graph.
  void skip(bool on) noexcept { skip_blocks_ = on; }
  // Output frames that are 0 instead of what the model would have said.
  [[nodiscard]] std::int64_t skipped() const noexcept { return skipped_; }

  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override;

 private:
  // Zeros for the frames before `end`, as far as they fit; true when that is all of them.
  bool fill_up(std::int64_t end, Output& out) noexcept;
  void count(const Output& out) noexcept;

  bool skip_blocks_ = false;
  bool behind_ = false;      // frames were skipped, and the model has begun afresh since then
  std::int64_t next_ = 0;    // index of the next output frame to give
  std::int64_t resume_ = 0;  // of the first one that the model will give, when behind_
  std::int64_t normal_ = 0;  // frames that the model gives at most at once
  std::size_t frame_bytes_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace runnel::pipeline
