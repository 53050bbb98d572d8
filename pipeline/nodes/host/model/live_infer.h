// `infer` on hosts: it runs as many frames at a time as have arrived, and the model can be skipped during an
// overload.
#pragma once

#include "pipeline/nodes/host/model/larger_block.h"
#include "pipeline/nodes/model/infer.h"
#include "pipeline/nodes/model/passed_frames.h"

namespace runnel::pipeline {

// While skipping, it drops its input and gives zeros instead of output frames, so that indices continue and
// no event is made. Afterwards the model is reset and restarts on its grid.
class LiveInfer : public PassingBy<Infer> {
 public:
  static const NodeType type;

  // Takes effect with the next process(). Call in the graph's thread.
  void skip(bool on) noexcept { skip_blocks_ = on; }
  // The number of output frames replaced by zeros.
  [[nodiscard]] std::int64_t skipped() const noexcept { return skipped_; }

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    Infer::state(archive);
    archive.value(lagging_);
    archive.index(next_);
    archive.index(resume_);
    archive.index(skipped_);
    if (streamed() == nullptr || larger_.frames() == 0) return;
    // A larger block may come next, for which the place of a smaller one has no room.
    archive.expect(stream().pending() > 0 || !stream().session().begun(), "a block without frames");
    if (archive.restores() && archive.ok()) larger_.follow(stream());
  }

 protected:
  [[nodiscard]] std::int64_t larger_block(const NodeContext& context,
                                          std::int64_t block) const noexcept override {
    return chunk == 0 && block > 0 ? LargerBlock::of(block, context.max_input) : 0;
  }

 private:
  Status prepare_larger(NodeContext& context) noexcept;
  std::int64_t restart(std::int64_t first) noexcept;
  // Writes zeros for the frames before `end` as far as they fit; true when all did.
  bool fill_up(std::int64_t end, Output& out) noexcept;
  void count(const Output& out) noexcept;

  LargerBlock larger_;
  bool skip_blocks_ = false;
  bool lagging_ = false;     // frames were skipped, and the model has been reset since
  std::int64_t next_ = 0;    // index of the next output frame to give
  std::int64_t resume_ = 0;  // when lagging_: index of the first frame that the model will give
  std::int64_t normal_ = 0;  // most frames per block of the model
  std::size_t frame_bytes_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace runnel::pipeline
