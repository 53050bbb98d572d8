// `infer` in programs that run many graphs: models come from SharedSessions, and the program runs streamed
// ones itself.
#pragma once

#include "pipeline/host/shared_sessions.h"
#include "pipeline/nodes/model/infer.h"

namespace runnel::pipeline {

// With a streaming model, process() queues frames and gives none. Between two steps of the executor
//
//     while some nodes are due():
//       for each of them: load()
//       group().run(turns)
//       for each of them: collect()
//     for each of them: executor.deliver(stage)
//
// gives the output of `infer`, bit for bit. Models that run in steps, windows or clips run in process(), as
// in `infer`.
class SharedInfer final : public Infer {
 public:
  static const NodeType type;

  SharedInfer() = default;
  ~SharedInfer() override;

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;

  // Whether a whole block is queued.
  [[nodiscard]] bool due() const noexcept { return waiting_ - taken_ >= block_ && block_ > 0; }
  // Moves the oldest queued frames into the session; returns the run to do.
  SessionGroup::Turn load() noexcept;
  // After the run of the group: keeps the results until the executor fetches them. At most as many runs as
  // the frames of one step need.
  void collect() noexcept { stream().collect(results_); }
  // Whether there are results.
  [[nodiscard]] bool has_results() const noexcept { return results_.count > 0; }
  // The group of all nodes with this model and these settings.
  [[nodiscard]] SessionGroup& group() const noexcept { return *place_.group; }

 private:
  Result<const Prepared*> make_prepared(NodeContext& context, const Model& loaded,
                                        const PrepareOptions& options) noexcept override;
  Result<Session> make_session(NodeContext& context) noexcept override;

  SharedSessions* shared_ = nullptr;
  SharedSessions::Place place_;
  std::byte* queue_ = nullptr;  // input frames
  std::int64_t capacity_ = 0;   // frames
  std::int64_t block_ = 0;      // of the model; 0: it runs in process()
  std::int64_t waiting_ = 0, taken_ = 0;
  Output results_;                // in memory of its own
  std::size_t result_bytes_ = 0;  // of a frame
};

}  // namespace runnel::pipeline
