// The simulator as the back end of delegate segments: a model with parts for an Ethos-U runs on the desk, its
// other operators on the CPU.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "inference/operator.h"
#include "npu/host/simulator/simulator.h"

namespace runnel::npu {

// Called with the operator of the model, and what Observer says.
using SegmentObserver =
    std::function<void(int model_operator, const Operation& op, std::span<const std::int32_t> output)>;

// Serves one model: alive, it answers for the segments of that model which are prepared with its table.
// Engines made with the table must not run when it is gone, and at most one session of whole clips may run at
// a time: the scratch memory, with what is kept from run to run, is here. Sessions of streams keep their own.
// Not thread-safe.
class SimulatedNpu {
 public:
  explicit SimulatedNpu(const Model& model, const SimulatorOptions& options = {},
                        SegmentObserver observer = {});
  ~SimulatedNpu();
  SimulatedNpu(const SimulatedNpu&) = delete;
  SimulatedNpu& operator=(const SimulatedNpu&) = delete;

  // All operators, and the one of kind `ethos-u`.
  [[nodiscard]] OperatorTable table() const noexcept { return table_; }
  // Why a segment could not be computed; its outputs are zeros then. Look at it after each run.
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  friend struct SimulatedSegment;
  friend struct SteppedSimulation;
  friend Result<const BoundOperator*> prepare_whole(PrepareContext& context, SimulatedNpu& npu);
  friend Result<const BoundOperator*> prepare_stepped(PrepareContext& context, SimulatedNpu& npu);

  const Model& model_;
  SimulatorOptions options_;
  SegmentObserver observer_;
  std::vector<const OperatorDefinition*> table_;
  std::vector<std::unique_ptr<Simulator>> simulators_;
  std::vector<std::unique_ptr<SteppedSegment>> stepped_;
  Status status_;
  std::mutex running_;  // simulators are shared by sessions
};

// All operators, and segments of kind `ethos-u` in simulators that are made as models are prepared and last
// as long as the program. For programs that run any model; where a segment fails its outputs are zeros.
OperatorTable simulating_operators();

}  // namespace runnel::npu
