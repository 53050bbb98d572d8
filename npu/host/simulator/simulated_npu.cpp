#include "npu/host/simulator/simulated_npu.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>

#include "base/checked.h"
#include "streaming/plan.h"

namespace runnel::npu {

// A segment, bound to its simulator.
struct SimulatedSegment : BoundOperator {
  SimulatedNpu* npu = nullptr;
  Simulator* simulator = nullptr;
  int op = 0;
  const std::int32_t* inputs = nullptr;  // tensors; -1 for data that the simulator keeps
  const std::int32_t* outputs = nullptr;

  static void run_segment(const BoundOperator& self, const RunContext& context) noexcept;
};

// The same for blocks of a stream: scratch memory belongs to the session.
struct SteppedSimulation : BoundOperator {
  SimulatedNpu* npu = nullptr;
  Simulator* simulator = nullptr;
  const SteppedSegment* stepped = nullptr;
  int op = 0;
  std::int32_t input = -1, output = -1;
  std::int64_t blocks = 1;  // programs in each call
  std::size_t state = 0;
  // Frames of a piece: a window for one frame, or a whole clip.
  std::int64_t in_count = 0, out_count = 0, out_delay = 0;
  int zero = 0;  // of the input

  static void run_blocks(const BoundOperator& self, const RunContext& context) noexcept;
  static void run_window(const BoundOperator& self, const RunContext& context) noexcept;
  static void run_clip(const BoundOperator& self, const RunContext& context) noexcept;
  static void reset_state(const BoundOperator& self, std::byte* state) noexcept;
  struct Piece {
    const std::byte* data = nullptr;
    std::int64_t first = 0, count = 0;
  };
  struct OutputPiece {
    std::byte* data = nullptr;
    std::int64_t first = 0, count = 0;
  };
  void run_range(std::byte* scratch, const Piece& in, std::int64_t length,
                 const OutputPiece& out) const noexcept;
  void step(std::byte* scratch, std::int64_t first, std::int64_t length, std::byte* in,
            std::byte* out) const noexcept;
};

namespace {

// Definitions are plain functions, so prepare() looks up the owner of the model.
std::mutex the_mutex;
std::map<const Model*, SimulatedNpu*>& registry() {
  static std::map<const Model*, SimulatedNpu*> all;
  return all;
}

Status check_segment(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_delegate(model, op));
  RUNNEL_TRY(read_segment(model, op).status());
  return is_stepped(model, op) ? read_stepped_segment(model, op).status() : Status();
}

// An input from the CPU: copied to its place, or used in place.
void bring(Simulator& simulator, const Port& port, std::byte* tensor) noexcept {
  if (port.region >= kFirstOwn)
    simulator.bind(port.region, {tensor, port.bytes});
  else
    std::memcpy(simulator.region(port.region).data() + port.offset, tensor, port.bytes);
}
void bind_output(Simulator& simulator, const Port& port, std::byte* tensor) noexcept {
  if (port.region >= kFirstOwn) simulator.bind(port.region, {tensor, port.bytes});
}
// An output for the CPU; zeros where the run has failed.
void take(const Port& port, const Status& status, const std::byte* computed, std::byte* tensor) noexcept {
  if (!status.ok())
    std::memset(tensor, 0, port.bytes);
  else if (port.region < kFirstOwn)
    std::memcpy(tensor, computed, port.bytes);
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
  const std::lock_guard lock(segment.npu->running_);
  for (std::size_t i = 0; i < simulator.segment().inputs.size(); ++i) {
    if (segment.inputs[i] < 0) continue;
    bring(simulator, simulator.segment().inputs[i], context.data[segment.inputs[i]]);
  }
  for (std::size_t i = 0; i < simulator.segment().outputs.size(); ++i)
    bind_output(simulator, simulator.segment().outputs[i], context.data[segment.outputs[i]]);
  Observer observer;
  if (segment.npu->observer_)
    observer = [&](const Operation& done, std::span<const std::int32_t> output) {
      segment.npu->observer_(segment.op, done, output);
    };
  const Status status = simulator.run(observer);
  if (!status.ok() && segment.npu->status_.ok()) segment.npu->status_ = status;
  for (std::size_t i = 0; i < simulator.segment().outputs.size(); ++i)
    take(simulator.segment().outputs[i], status, simulator.output(i).data(),
         context.data[segment.outputs[i]]);
}

void SteppedSimulation::reset_state(const BoundOperator& self, std::byte* state) noexcept {
  const auto& simulation = static_cast<const SteppedSimulation&>(self);
  simulation.stepped->blocks.first_state(state + simulation.state);
}

// Runs the program on a block whose first input frame has the logical index `first`.
void SteppedSimulation::step(std::byte* scratch, std::int64_t first, std::int64_t length, std::byte* in,
                             std::byte* out) const noexcept {
  const Port &from = stepped->segment.inputs[0], &to = stepped->segment.outputs[0];
  const std::lock_guard lock(npu->running_);
  // The simulator works in the session's memory.
  simulator->bind(kScratch, {scratch, stepped->segment.scratch});
  bring(*simulator, from, in);
  bind_output(*simulator, to, out);
  stepped->blocks.set_masks(scratch, first, length);
  Observer observer;
  if (npu->observer_)
    observer = [&](const Operation& done, std::span<const std::int32_t> values) {
      npu->observer_(op, done, values);
    };
  const Status status = simulator->run(observer);
  if (!status.ok() && npu->status_.ok()) npu->status_ = status;
  take(to, status, simulator->output(0).data(), out);
}

void SteppedSimulation::run_blocks(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& own = static_cast<const SteppedSimulation&>(self);
  const FrameIndex& index = context.index[own.input];
  std::byte *in = context.data[own.input], *out = context.data[own.output];
  for (std::int64_t block = 0; block < own.blocks; ++block) {
    own.step(context.state + own.state, index.first + block * own.stepped->blocks.in_frames, index.length, in,
             out);
    in += own.stepped->segment.inputs[0].bytes;
    out += own.stepped->segment.outputs[0].bytes;
  }
}

// Frames [out_first, out_first + out_count) of the output from a piece of the input, starting with the first
// call that sees a frame of it, or the stream's first call. `scratch` has room for a block of input and
// output after the program's memory.
void SteppedSimulation::run_range(std::byte* scratch, const Piece& in, std::int64_t length,
                                  const OutputPiece& out) const noexcept {
  const Segment& segment = stepped->segment;
  stepped->blocks.first_state(scratch);
  const std::size_t in_frame = segment.inputs[0].bytes / static_cast<std::size_t>(stepped->blocks.in_frames),
                    out_frame =
                        segment.outputs[0].bytes / static_cast<std::size_t>(stepped->blocks.out_frames);
  std::byte* const block = scratch + segment.scratch;
  std::byte* const result = block + segment.inputs[0].bytes;
  const std::int64_t last = floor_div(out.first + out.count - 1 + out_delay, stepped->blocks.out_frames);
  for (std::int64_t call =
           std::max<std::int64_t>(0, floor_div(in.first + stepped->blocks.delay, stepped->blocks.in_frames));
       call <= last; ++call) {
    const std::int64_t first = call * stepped->blocks.in_frames - stepped->blocks.delay,
                       first_out = call * stepped->blocks.out_frames - out_delay;
    for (std::int64_t i = 0; i < stepped->blocks.in_frames; ++i) {
      const std::int64_t at = first + i - in.first;
      std::byte* const to = block + static_cast<std::size_t>(i) * in_frame;
      if (at >= 0 && at < in.count)
        std::memcpy(to, in.data + static_cast<std::size_t>(at) * in_frame, in_frame);
      else
        std::memset(to, zero, in_frame);
    }
    step(scratch, first, length, block, result);
    for (std::int64_t i = 0; i < stepped->blocks.out_frames; ++i) {
      const std::int64_t at = first_out + i - out.first;
      if (at >= 0 && at < out.count)
        std::memcpy(out.data + static_cast<std::size_t>(at) * out_frame,
                    result + static_cast<std::size_t>(i) * out_frame, out_frame);
    }
  }
}

void SteppedSimulation::run_window(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& own = static_cast<const SteppedSimulation&>(self);
  const FrameIndex &in = context.index[own.input], &out = context.index[own.output];
  own.run_range(context.scratch, {context.data[own.input], in.first, own.in_count}, in.length,
                {context.data[own.output], out.first, own.out_count});
}
void SteppedSimulation::run_clip(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& own = static_cast<const SteppedSimulation&>(self);
  own.run_range(context.scratch, {context.data[own.input], 0, own.in_count}, own.in_count,
                {context.data[own.output], 0, own.out_count});
}

Result<const BoundOperator*> prepare_stepped(PrepareContext& context, SimulatedNpu& npu) {
  const Model& model = context.model();
  const DelegateSegment delegate(model, context.op());
  RUNNEL_ASSIGN(SteppedSegment read, read_stepped_segment(model, context.op()));
  const std::int32_t input = delegate.inputs()[0], output = delegate.outputs()[0];
  const std::int64_t frames = context.shape(input)[context.time_axis(input)],
                     out_frames = context.shape(output)[context.time_axis(output)];
  const bool blocks = context.streamed() && !context.windows_apart();
  if (blocks && (frames % read.blocks.in_frames != 0 ||
                 frames / read.blocks.in_frames * read.blocks.out_frames != out_frames)) {
    return Status(Code::unsupported) << "is compiled for blocks of " << read.blocks.in_frames
                                     << " frames, not " << frames;
  }
  RUNNEL_ASSIGN(auto simulator, Simulator::make(read.segment, npu.options_));
  void* const memory = context.memory().allocate(sizeof(SteppedSimulation), alignof(SteppedSimulation));
  if (memory == nullptr) return Status(Code::out_of_memory);
  auto* const bound = new (memory) SteppedSimulation;
  const TensorView x = model.tensor(input);
  RUNNEL_ASSIGN(const streaming::NodePlan plan,
                streaming::plan_node(window_of(delegate), {1, 1, read.blocks.delay}));
  bound->run = blocks               ? SteppedSimulation::run_blocks
               : context.streamed() ? SteppedSimulation::run_window
                                    : SteppedSimulation::run_clip;
  bound->npu = &npu;
  bound->simulator = simulator.get();
  bound->op = position_of(model, context.op());
  bound->input = input;
  bound->output = output;
  bound->blocks = frames / read.blocks.in_frames;
  bound->in_count = frames;
  bound->out_count = out_frames;
  bound->out_delay = plan.output.delay;
  bound->zero = x.zero_point();
  if (blocks) {
    bound->state = context.request_state(read.segment.scratch);
    bound->reset = SteppedSimulation::reset_state;
  } else {
    context.request_scratch(read.segment.scratch + read.segment.inputs[0].bytes +
                            read.segment.outputs[0].bytes);
  }
  context.use_frame_index();
  context.read_constant(input);
  npu.simulators_.push_back(std::move(simulator));
  npu.stepped_.push_back(std::make_unique<SteppedSegment>(std::move(read)));
  bound->stepped = npu.stepped_.back().get();
  return static_cast<const BoundOperator*>(bound);
}

Result<const BoundOperator*> prepare_whole(PrepareContext& context, SimulatedNpu& npu) {
  const Model& model = context.model();
  RUNNEL_TRY(check_device(model, context.op(), npu.options_.device));
  RUNNEL_TRY(check_stepped(context));
  const DelegateSegment delegate(model, context.op());
  if (is_stepped(model, context.op()) && context.time_axis(delegate.inputs()[0]) >= 0) {
    const bool other_length =
        context.shape(delegate.inputs()[0]).elements() != model.tensor(delegate.inputs()[0]).shape.elements();
    if (context.streamed() || other_length) return prepare_stepped(context, npu);
  }
  for (const auto& tensors : {delegate.inputs(), delegate.outputs()}) {
    for (const std::int32_t tensor : tensors) {
      if (tensor < 0) continue;
      if (context.shape(tensor).elements() != model.tensor(tensor).shape.elements())
        return Status(Code::unsupported) << "is compiled for one size of clip";
      context.read_constant(tensor);
    }
  }
  RUNNEL_ASSIGN(const Segment read, read_segment(model, context.op()));
  RUNNEL_ASSIGN(auto simulator, Simulator::make(read, npu.options_));
  void* const memory = context.memory().allocate(sizeof(SimulatedSegment), alignof(SimulatedSegment));
  if (memory == nullptr) return Status(Code::out_of_memory);
  auto* const bound = new (memory) SimulatedSegment;
  bound->run = SimulatedSegment::run_segment;
  bound->npu = &npu;
  bound->simulator = simulator.get();
  bound->op = position_of(model, context.op());
  bound->inputs = delegate.inputs().data();
  bound->outputs = delegate.outputs().data();
  npu.simulators_.push_back(std::move(simulator));
  return static_cast<const BoundOperator*>(bound);
}

namespace {

Result<const BoundOperator*> prepare_simulated(PrepareContext& context) noexcept {
  const Model& model = context.model();
  SimulatedNpu* npu = nullptr;
  {
    const std::lock_guard lock(the_mutex);
    const auto found = registry().find(&model);
    if (found != registry().end()) npu = found->second;
  }
  if (npu == nullptr) return Status(Code::invalid_argument, "its simulator is not there any more");
  return prepare_whole(context, *npu);
}

// A simulator for any caller, alive as long as the program.
Result<const BoundOperator*> prepare_anywhere(PrepareContext& context) noexcept {
  registry();  // must outlive the last of these
  static std::deque<SimulatedNpu> all;
  SimulatedNpu* npu = nullptr;
  {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    npu = &all.emplace_back(context.model());
  }
  return prepare_whole(context, *npu);
}

const OperatorDefinition kAnywhere{runnel::OpCode::delegate, runnel::Arithmetic{1}, "ethos-u", check_segment,
                                   stream_delegate,          prepare_anywhere};
const OperatorDefinition kSimulated{runnel::OpCode::delegate, runnel::Arithmetic{1}, "ethos-u", check_segment,
                                    stream_delegate,          prepare_simulated};

}  // namespace

OperatorTable simulating_operators() {
  static const std::vector<const OperatorDefinition*> table = [] {
    std::vector<const OperatorDefinition*> all(all_operators().begin(), all_operators().end());
    all.push_back(&kAnywhere);
    return all;
  }();
  return table;
}

SimulatedNpu::SimulatedNpu(const Model& model, const SimulatorOptions& options, SegmentObserver observer)
    : model_(model),
      options_(options),
      observer_(std::move(observer)),
      table_(all_operators().begin(), all_operators().end()) {
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
