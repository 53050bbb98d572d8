#include "npu/host/simulated_npu.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

namespace runnel::npu {

// A segment, bound to its simulator.
struct SimulatedSegment : BoundOperator {
  SimulatedNpu* npu = nullptr;
  Simulator* simulator = nullptr;
  int op = 0;
  const std::int32_t* inputs = nullptr;      // tensors; -1 where the simulator keeps what it reads
  const std::int32_t* outputs = nullptr;

  static void run_segment(const BoundOperator& self, const RunContext& context) noexcept;
};

namespace {

// Definitions are plain functions, so that prepare() must find out whose model it is.
std::mutex the_mutex;
std::map<const Model*, SimulatedNpu*>& registry() {
  static std::map<const Model*, SimulatedNpu*> all;
  return all;
}

Status check_segment(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_delegate(model, op));
  auto segment = read_segment(model, op);
  return segment.status();
}

int position_of(const Model& model, const fb::Operator& op) {
  for (int i = 0; i < model.operator_count(); ++i) {
    if (&model.op(i) == &op) return i;
  }
  return -1;
}

}  // namespace

void SimulatedSegment::run_segment(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& segment = static_cast<const SimulatedSegment&>(self);
  Simulator& simulator = *segment.simulator;
  for (std::size_t i = 0; i < simulator.segment().inputs.size(); ++i) {
    if (segment.inputs[i] < 0) continue;
    const auto to = simulator.input(i);
    std::memcpy(to.data(), context.data[segment.inputs[i]], to.size());
  }
  Observer observer;
  if (segment.npu->observer_) observer = [&](const Operation& done, std::span<const std::int32_t> output) { segment.npu->observer_(segment.op, done, output); };
  const Status status = simulator.run(observer);
  if (!status.ok() && segment.npu->status_.ok()) segment.npu->status_ = status;
  for (std::size_t i = 0; i < simulator.segment().outputs.size(); ++i) {
    const auto from = simulator.output(i);
    if (status.ok()) std::memcpy(context.data[segment.outputs[i]], from.data(), from.size());
    else std::memset(context.data[segment.outputs[i]], 0, from.size());
  }
}

Result<const BoundOperator*> prepare_simulated(PrepareContext& context) noexcept {
  const Model& model = context.model();
  SimulatedNpu* npu = nullptr;
  {
    const std::lock_guard lock(the_mutex);
    const auto found = registry().find(&model);
    if (found != registry().end()) npu = found->second;
  }
  if (npu == nullptr) return Status(Code::invalid_argument, "its simulator is not there any more");
  const DelegateSegment delegate(model, context.op());
  for (const auto& tensors : {delegate.inputs(), delegate.outputs()}) {
    for (const std::int32_t tensor : tensors) {
      if (tensor < 0) continue;
      if (context.shape(tensor).elements() != model.tensor(tensor).shape.elements()) return Status(Code::unsupported) << "is compiled for one size of clip";
      context.read_constant(tensor);
    }
  }
  RUNNEL_ASSIGN(const Segment read, read_segment(model, context.op()));
  RUNNEL_ASSIGN(auto simulator, Simulator::make(read, npu->options_));
  void* const memory = context.memory().allocate(sizeof(SimulatedSegment), alignof(SimulatedSegment));
  if (memory == nullptr) return Status(Code::out_of_memory);
  auto* const bound = new (memory) SimulatedSegment;
  bound->run = SimulatedSegment::run_segment;
  bound->npu = npu;
  bound->simulator = simulator.get();
  bound->op = position_of(model, context.op());
  bound->inputs = delegate.inputs().data();
  bound->outputs = delegate.outputs().data();
  npu->simulators_.push_back(std::move(simulator));
  return static_cast<const BoundOperator*>(bound);
}

namespace {
const OperatorDefinition kSimulated{fb::OpCode::delegate, 1, "ethos-u", check_segment, stream_delegate, prepare_simulated};
}

SimulatedNpu::SimulatedNpu(const Model& model, const SimulatorOptions& options, SegmentObserver observer)
    : model_(model), options_(options), observer_(std::move(observer)), table_(all_operators().begin(), all_operators().end()) {
  table_.push_back(&kSimulated);
  const std::lock_guard lock(the_mutex);
  registry()[&model_] = this;
}

SimulatedNpu::~SimulatedNpu() {
  const std::lock_guard lock(the_mutex);
  const auto found = registry().find(&model_);
  if (found != registry().end() && found->second == this) registry().erase(found);
}

}  // namespace runnel::npu
