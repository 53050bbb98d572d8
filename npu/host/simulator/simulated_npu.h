// Simulated NPU: the simulator as the back end of delegate segments. A model with parts for an Ethos-U runs
// on a host, its other operators on the CPU.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "inference/operator.h"
#include "npu/host/simulator/simulator.h"

namespace runnel::npu {

// Called with the model's operator and the arguments of Observer.
using SegmentObserver =
    std::function<void(int model_operator, const Operation& op, std::span<const std::int32_t> output)>;

// Serves the segments of one model that are prepared with its table. It must outlive engines made with the
// table, and at most one session of whole clips may run at a time, as it owns the scratch memory with the
// data kept between runs. Sessions of streams have their own. Not thread-safe.
class SimulatedNpu {
 public:
  explicit SimulatedNpu(const Model& model, const SimulatorOptions& options = {},
                        SegmentObserver observer = {});
  ~SimulatedNpu();
  SimulatedNpu(const SimulatedNpu&) = delete;
  SimulatedNpu& operator=(const SimulatedNpu&) = delete;

  // All operators, including `ethos-u`.
  [[nodiscard]] OperatorTable table() const noexcept { return table_; }
  // Why a segment could not be computed; its outputs are zeros then. Check it after each run.
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
  std::mutex running_;  // sessions share simulators
};

// All operators; segments of kind `ethos-u` run in simulators that are made when models are prepared and last
// as long as the program. For programs that run any model; a failing segment's outputs are zeros.
OperatorTable simulating_operators();

}  // namespace runnel::npu
