// `infer` in programs that run many graphs: models come from SharedSessions, and the program runs them
// itself, many together; streamed ones in larger blocks where as many frames have arrived.
#pragma once

#include "pipeline/host/shared_sessions.h"
#include "pipeline/nodes/host/model/larger_block.h"
#include "pipeline/nodes/model/infer.h"
#include "pipeline/nodes/model/passed_frames.h"

namespace runnel::pipeline {

// process() queues frames and gives none. Between two steps of the executor
//
//     while some nodes are due():
//       for each of those with the same group(): load()
//       the group runs the turns
//       for each of them: collect()
//     for each of them: executor.deliver(stage)
//
// gives the output of `infer`, bit for bit. A model that runs in steps, windows or clips takes its frames as
// they come; those that follow a run that is due wait for it.
class SharedInfer final : public PassingBy<Infer> {
 public:
  static const NodeType type;

  SharedInfer() = default;
  ~SharedInfer() override;

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;

  // Call once after prepare(). Frames that wait within a step only are in memory of the seat, not of this
  // stream; `stage`: of this node in its graph. Error: out_of_memory.
  Status share_queue(int stage) noexcept;
  // Between two steps, in the thread that runs the groups.
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    settle();
    Infer::state(archive);
    archive.index(waiting_, steps_ ? 0 : capacity_);
    archive.values(std::span(reinterpret_cast<std::uint8_t*>(queue_),
                             static_cast<std::size_t>(waiting_) * frame_bytes()));
    if (archive.restores() && archive.ok() && larger_.frames() > 0) larger_.follow(stream());
  }
  // The seat of this step, before process(). Nothing waits there between two steps.
  void sit(std::size_t seat) noexcept {
    if (seats_ != nullptr) queue_ = seats_ + seat * seat_bytes_;
  }

  // The memory of the state of its model; that of a model with steps is in the node.
  [[nodiscard]] std::span<const std::byte> state() const noexcept {
    return place_.group == nullptr ? std::span<const std::byte>() : place_.group->state(place_.index);
  }

  // Whether a whole block is queued, or a step complete.
  [[nodiscard]] bool due() const noexcept { return steps_ ? stepped().due() : waiting_ - taken_ >= block_; }
  // Moves the oldest queued frames into the session, in the workspace `seat` of group(); returns the run to
  // do. Seats of the runs that a group does together differ; they are below SharedSessions::kSeats.
  SessionGroup::Turn load(std::size_t seat) noexcept;
  // After the run of the group: keeps the results until the executor fetches them. At most as many runs as
  // the frames of one step need.
  void collect() noexcept;
  // Whether there are results.
  [[nodiscard]] bool has_results() const noexcept { return results_.count > 0; }
  // The group that does the next run when this node is due: of all nodes with this model and these settings,
  // in blocks of this size.
  [[nodiscard]] SessionGroup& group() const noexcept {
    return larger_fits() ? *larger_group_ : *place_.group;
  }

 protected:
  [[nodiscard]] std::int64_t larger_block(const NodeContext& context,
                                          std::int64_t block) const noexcept override {
    return chunk == 0 && block > 0 ? LargerBlock::of(block, context.max_input) : 0;
  }

 private:
  // Frames that were taken leave the queue, and the session has a workspace.
  void settle() noexcept;
  Status prepare_larger(NodeContext& context) noexcept;
  [[nodiscard]] bool larger_fits() const noexcept {
    return larger_.frames() > 0 && waiting_ - taken_ >= larger_.frames();
  }
  Result<const Prepared*> make_prepared(NodeContext& context, const Model& loaded,
                                        const PrepareOptions& options) noexcept override;
  Result<Session> make_session(NodeContext& context) noexcept override;
  Result<SteppedSession> make_stepped(NodeContext& context, const ModelUsage& usage) noexcept override;
  void queue(const std::byte* frames, std::int64_t count) noexcept;
  void make_room(std::int64_t count, Output& out) noexcept;
  void take_queued() noexcept;
  void step_alone(Output& out) noexcept;
  void drop_taken() noexcept;
  void hand_over(Output& out) noexcept;

  SharedSessions* shared_ = nullptr;
  SharedSessions::Place place_;
  LargerBlock larger_;
  SessionGroup* larger_group_ = nullptr;
  bool large_ = false;          // the last load() was of a larger block
  std::byte* queue_ = nullptr;  // input frames
  std::byte* seats_ = nullptr;  // queues of all seats; null: there is a queue of its own
  std::size_t seat_bytes_ = 0;
  std::int64_t capacity_ = 0;  // frames
  std::int64_t block_ = 0;     // of a streaming model
  bool steps_ = false;         // the model runs in steps, windows or clips
  std::int64_t waiting_ = 0, taken_ = 0;
  Output results_;                // in memory of its own
  std::size_t result_bytes_ = 0;  // of a frame
};

}  // namespace runnel::pipeline
