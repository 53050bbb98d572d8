// `infer` in programs that run many graphs: models come from SharedSessions, and streamed ones are run by
// whoever runs the graphs.
#pragma once

#include "pipeline/host/shared_sessions.h"
#include "pipeline/nodes/model/infer.h"

namespace runnel::pipeline {

// A model that is a stream takes frames and keeps them; nothing comes out of process(). Between two steps of
// the executor
//
//     while some nodes are due(): { for each of them: load(); group().run(turns); for each of them: collect()
//     } for each of them: executor.deliver(stage)
//
// brings out what `infer` gives, the same bits. Models that are run in steps, windows or clips run at once,
// as always.
class SharedInfer final : public Infer {
 public:
  static const NodeType type;

  SharedInfer() = default;
  ~SharedInfer() override;

  Status prepare(PrepareContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;

  // Whether frames for a whole block wait.
  [[nodiscard]] bool due() const noexcept { return waiting_ - taken_ >= block_ && block_ > 0; }
  // Moves the oldest ones into the session; what it says is to be run.
  SessionGroup::Turn load() noexcept;
  // The group has run: keeps the results until the executor asks for them. No more runs than the frames of
  // one step take.
  void collect() noexcept { stream().collect(results_); }
  // Whether there are any.
  [[nodiscard]] bool has_results() const noexcept { return results_.count > 0; }
  // Of all nodes with this model and these settings.
  [[nodiscard]] SessionGroup& group() const noexcept { return *place_.group; }

 private:
  Result<const Prepared*> make_prepared(PrepareContext& context, const Model& loaded,
                                        const PrepareOptions& options) noexcept override;
  Result<Session> make_session(PrepareContext& context) noexcept override;

  SharedSessions* shared_ = nullptr;
  SharedSessions::Place place_;
  std::byte* queue_ = nullptr;  // frames as they came
  std::int64_t capacity_ = 0;   // frames
  std::int64_t block_ = 0;      // of the model; 0: it is run at once
  std::int64_t waiting_ = 0, taken_ = 0;
  Output results_;                // in memory of its own
  std::size_t result_bytes_ = 0;  // of a frame
};

}  // namespace runnel::pipeline
