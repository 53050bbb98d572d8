// Frames in, frames out: a model as a stream without a graph around it, for programs that have their own
// loop.
//
//     RUNNEL_ASSIGN(auto model, FrameModel::make(owned, "digits", {}));
//     RUNNEL_ASSIGN(auto session, FrameSession::make(model));
//     RUNNEL_TRY(session->push(frames, count, out));      // any number of frames at a time
//     RUNNEL_TRY(session->flush(out));                    // the recording has ended
//
// The frames of a session are those of the node `infer` (pipeline/nodes/model/infer.h): output frame j has
// the index j of the offline run, whatever the delay of the model and however its input was cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/dtype.h"
#include "base/status.h"
#include "inference/host/engine.h"
#include "inference/operator_table.h"

namespace runnel::sessions {

struct FrameOptions {
  std::string output;       // name of the output; empty: the only one that is not state
  bool integers = false;    // input frames are the model's own integers, not float32
  bool dequantize = false;  // output frames are float32, not the model's integers
  std::int64_t block = 0;   // streams: frames per run of the model; 0: the smallest possible
  Isa isa = best_isa();
  OperatorTable operators = all_operators();
};

// One kind of frames.
struct FrameType {
  DType dtype = DType::none;
  std::int64_t values = 0;  // per frame
  int exponent = 0;         // integers: value = integer * 2^exponent
  [[nodiscard]] std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(values) * size_of(dtype);
  }
};

// Frames that one call brought, in the order of their indices; replaced by the next call.
struct FrameBatch {
  std::int64_t first = 0;  // index of the first one; without frames: of the next one to come
  std::int64_t count = 0;
  std::vector<std::byte> data;  // [count][values], dense
};

class SessionNode;

// A model prepared once: weights and plans, shared by its sessions. Immutable; any number of threads.
class FrameModel {
 public:
  // `name`: of the model, in messages. Errors: those of Prepared::make; not_found and invalid_argument for
  // the output; mismatch for types that cannot be converted; unsupported for a stream with several inputs.
  static Result<std::shared_ptr<const FrameModel>> make(std::shared_ptr<const OwnedModel> model,
                                                        std::string name, const FrameOptions& options);
  ~FrameModel();
  FrameModel(const FrameModel&) = delete;
  FrameModel& operator=(const FrameModel&) = delete;

  [[nodiscard]] const Model& model() const noexcept { return owned_->model(); }
  [[nodiscard]] const FrameOptions& options() const noexcept { return options_; }
  [[nodiscard]] const FrameType& input() const noexcept { return input_; }
  [[nodiscard]] const FrameType& output() const noexcept { return output_; }
  // Output frames per input frame: up / down.
  [[nodiscard]] std::int64_t up() const noexcept { return up_; }
  [[nodiscard]] std::int64_t down() const noexcept { return down_; }

 private:
  friend class FrameSession;
  FrameModel() = default;

  std::shared_ptr<const OwnedModel> owned_;
  std::string name_;
  FrameOptions options_;
  FrameType input_, output_;
  std::int64_t up_ = 1, down_ = 1;
  HeapMemory memory_;  // of what sessions share
  const Prepared* prepared_ = nullptr;
};

// One stream. Not thread-safe; different sessions are independent.
class FrameSession {
 public:
  static Result<std::unique_ptr<FrameSession>> make(std::shared_ptr<const FrameModel> model);
  ~FrameSession();
  FrameSession(const FrameSession&) = delete;
  FrameSession& operator=(const FrameSession&) = delete;

  // Takes `count` frames of the model's input type, dense, and replaces `out` by what became ready. Error:
  // invalid_argument after flush() and before reset().
  Status push(const std::byte* frames, std::int64_t count, FrameBatch& out);
  // The stream has ended: the rest.
  Status flush(FrameBatch& out);
  // As new.
  void reset() noexcept;

  // The whole stream as bytes. `restore` refuses bytes of another model, block or version and leaves the
  // session as it was then. Errors: invalid_data, mismatch.
  [[nodiscard]] Result<std::vector<std::byte>> save();
  Status restore(std::span<const std::byte> from);
  // Another session of the same model in the same state.
  [[nodiscard]] Result<std::unique_ptr<FrameSession>> clone();

  // Frames taken since the start, and the index of the next frame to come.
  [[nodiscard]] std::int64_t taken() const noexcept { return taken_; }
  [[nodiscard]] std::int64_t next() const noexcept { return next_; }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] const FrameModel& model() const noexcept { return *model_; }

 private:
  explicit FrameSession(std::shared_ptr<const FrameModel> model) : model_(std::move(model)) {}

  std::shared_ptr<const FrameModel> model_;
  HeapMemory memory_;
  SessionNode* node_ = nullptr;  // in memory_
  std::byte* room_ = nullptr;    // of one call of the node
  std::int64_t room_frames_ = 0;
  std::int64_t taken_ = 0, next_ = 0;
  bool ended_ = false;
};

}  // namespace runnel::sessions
