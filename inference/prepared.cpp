#include "inference/prepared.h"

#include <algorithm>
#include <new>

#include "base/checked.h"
#include "base/crc32c.h"
#include "base/limits.h"
#include "inference/plan/absorbed.h"
#include "inference/plan/constant_plan.h"
#include "inference/plan/counting_memory.h"
#include "inference/plan/memory_plan.h"
#include "inference/plan/stream_plan.h"
#include "streaming/ring.h"

namespace runnel {
namespace {

constexpr std::int64_t kMaxFrames = limits::kBlockFrames;
#ifdef __linux__
constexpr std::size_t kAlignment = 64;
#else
constexpr std::size_t kAlignment = 16;
#endif
constexpr int kMaxThreads = limits::kThreads;

Status exhausted() noexcept {
  return Status(Code::out_of_memory) << "preparing the model needs more memory than was given";
}

}  // namespace

// Gathers what Prepared::make needs on its way; also what operators see while they prepare.
class Preparation final : public PrepareContext {
 public:
  Preparation(Prepared& out, const Model& model, OperatorTable table, const PrepareOptions& options,
              Memory& memory, Memory& fast) noexcept
      : prepared_(out),
        out_(out.tables_),
        model_(model),
        table_(table),
        options_(options),
        memory_(memory),
        fast_(fast),
        operator_memory_(memory),
        constants_(model, memory, options.param_copy) {}

  Status run() noexcept {
    RUNNEL_TRY(check_operators());
    RUNNEL_TRY(allocate_tables());
    RUNNEL_TRY(plan_time());
    RUNNEL_TRY(place_tensors());
    RUNNEL_TRY(prepare_operators());
    find_chains();
    RUNNEL_TRY(place_state());
    RUNNEL_TRY(plan_memory());
    RUNNEL_TRY(constants_.copy(fast_, tail_, {lengths_, static_cast<std::size_t>(out_.tensor_count)},
                               placements(), [&](std::size_t bytes) { return claim(bytes); }));
    fingerprint();
    return {};
  }

  // PrepareContext
  const Model& model() const noexcept override { return model_; }
  const fb::Operator& op() const noexcept override { return model_.op(current_); }
  Isa isa() const noexcept override { return options_.isa; }
  Memory& memory() const noexcept override { return operator_memory_; }
  std::int32_t parts(std::int64_t work) const noexcept override {
    if (out_.threads == 1) return 1;
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(work / std::max<std::int64_t>(options_.least_part, 1), 1, out_.threads));
  }
  Shape shape(int tensor) const noexcept override { return prepared_.shape(tensor); }
  int time_axis(int tensor) const noexcept override { return streams_[tensor].time_axis; }
  bool streamed() const noexcept override { return out_.mode == RunMode::stream; }
  TimeWindow window(int position) const noexcept override { return window_of(current_, position); }
  Absorbed absorbed() const noexcept override {
    if (!is_absorbing(current_)) return {};
    Absorbed next = absorbed_as(model_, current_ + 1);
    if (next.kind == Absorbed::Kind::sum) {
      const int position = model_.op(current_ + 1).inputs()->Get(0) == next.addend ? 0 : 1;
      next.back_bytes = window_of(current_ + 1, position).back_bytes;
    }
    return next;
  }
  void request_scratch(std::size_t bytes) noexcept override {
    out_.scratch_bytes = std::max(out_.scratch_bytes, bytes);
  }
  std::size_t request_state(std::size_t bytes) noexcept override {
    const std::size_t offset = align_up(operator_state_, 16);
    operator_state_ = offset + bytes;
    return offset;
  }
  std::size_t request_variable(int variable, std::size_t bytes) noexcept override {
    for (int i = 0; i < current_; ++i) {
      if (is_variable(i) && model_.op(i).options_as_VariableOptions()->variable() == variable)
        return variables_[static_cast<std::size_t>(i)];
    }
    return variables_[static_cast<std::size_t>(current_)] = request_state(bytes);
  }
  void read_constant(int tensor) noexcept override { constants_.read(tensor, placements()); }
  Status read_constant(int tensor, void* pointer) noexcept override {
    return constants_.read(tensor, pointer, placements());
  }
  void use_frame_index() noexcept override { out_.indexed = true; }
  void chose_kernel(KernelChoice choice) noexcept override {
    if (options_.kernels != nullptr) options_.kernels->chosen(current_, choice);
  }

 private:
  // Their own check makes sure that they have options.
  [[nodiscard]] bool is_variable(int op) const noexcept {
    return code_of(model_.op(op)) == OpCode::read_variable ||
           code_of(model_.op(op)) == OpCode::assign_variable;
  }

  [[nodiscard]] std::span<Placement> placements() const noexcept {
    return {placements_, static_cast<std::size_t>(out_.tensor_count)};
  }

  TimeWindow window_of(int index, int position) const noexcept {
    const fb::Operator& reader = model_.op(index);
    const Placement& x = placements_[reader.inputs()->Get(static_cast<std::uint32_t>(position))];
    const StreamStep& step = stream_steps_[index];
    TimeWindow window;
    window.frames = x.frames;
    if (x.time_axis < 0) return window;
    if (out_.mode == RunMode::whole) {
      window.pad = step.rule.left;
      return window;
    }
    const Placement& y = placements_[reader.outputs()->Get(0)];
    window.back_frames = step.back_frames(position, x.delay, y.delay);
    window.back_bytes = window.back_frames * static_cast<std::int64_t>(x.frame_bytes);
    window.frames += window.back_frames;
    return window;
  }

  Status check_operators() noexcept {
    RUNNEL_TRY(missing_operators(model_, table_));
    for (int i = 0; i < model_.operator_count(); ++i) {
      const fb::Operator& op = model_.op(i);
      const Status status = find_operator(table_, op)->check(model_, op);
      if (!status.ok()) return operator_status(model_, table_, i, status);
    }
    return {};
  }

  Status allocate_tables() noexcept {
    tail_ = options_.isa >= Isa::avx2 ? kReadableTail : 0;
    alignment_ = out_.alignment = options_.alignment == 0 ? kAlignment : options_.alignment;
    if (alignment_ != 16 && alignment_ != 32 && alignment_ != 64) {
      return Status(Code::invalid_argument)
             << "tensors aligned to " << alignment_ << " bytes, expected 16, 32 or 64";
    }
    out_.model = &model_;
    out_.inputs = model_.inputs();
    out_.outputs = model_.outputs();
    out_.mode = options_.mode;
    out_.threads = std::clamp(options_.threads, 1, kMaxThreads);
    out_.tensor_count = model_.tensor_count();
    out_.operator_count = model_.operator_count();
    const auto tensors = static_cast<std::size_t>(out_.tensor_count);
    const auto steps = static_cast<std::size_t>(out_.operator_count);
    placements_ = memory_.array<Placement>(tensors);
    steps_ = memory_.array<Prepared::Step>(steps);
    step_info_ = memory_.array<PreparedTables::StepInfo>(steps);
    streams_ = memory_.array<StreamTensor>(tensors);
    stream_steps_ = memory_.array<StreamStep>(steps);
    lengths_ = memory_.array<std::int64_t>(tensors);
    absorbed_by_ = {memory_.array<std::int32_t>(steps), steps};
    alive_ = {memory_.array<MemoryPlan::Span>(steps), steps};
    keeps_bytes_ = {memory_.array<bool>(steps), steps};
    for (int i = 0; i < model_.operator_count() && variables_ == nullptr; ++i) {
      if (!is_variable(i)) continue;
      variables_ = memory_.array<std::size_t>(steps);
      if (variables_ == nullptr) return exhausted();
    }
    if (placements_ == nullptr || steps_ == nullptr || step_info_ == nullptr || streams_ == nullptr ||
        stream_steps_ == nullptr || lengths_ == nullptr || absorbed_by_.data() == nullptr ||
        alive_.data() == nullptr || keeps_bytes_.data() == nullptr) {
      return exhausted();
    }
    out_.placements = placements_;
    out_.steps = steps_;
    out_.step_info = step_info_;
    out_.streams = streams_;
    out_.stream_steps = stream_steps_;
    return memory_plan_.allocate(model_, memory_);
  }

  // Rates, delays and frames per block or clip.
  Status plan_time() noexcept {
    const auto tensors = static_cast<std::size_t>(out_.tensor_count);
    const fb::StreamPlan* stored = model_.plan();
    if (stored == nullptr) {
      if (options_.mode == RunMode::stream) {
        return Status(Code::unsupported) << "the model has no streaming plan; run it on whole clips, or "
                                            "import it again to see what prevents streaming";
      }
      for (std::size_t t = 0; t < tensors; ++t) streams_[t] = StreamTensor{};
      if (options_.frames != 0)
        return Status(Code::unsupported)
               << "a clip of another length than the file's needs a model that can be streamed";
      out_.block = 0;
      return {};
    }
    std::int8_t axes[kMaxInputs];
    const std::size_t inputs = model_.inputs().size();
    if (inputs > kMaxInputs)
      return Status(Code::unsupported)
             << inputs << " inputs, expected at most " << kMaxInputs << " for a stream";
    for (std::size_t i = 0; i < inputs; ++i)
      axes[i] = stored->tensors()->Get(static_cast<std::uint32_t>(model_.inputs()[i]))->time_axis();
    std::int64_t multiple = 1;
    RUNNEL_TRY(plan_streams(model_, table_, {axes, inputs}, {streams_, tensors},
                            {stream_steps_, static_cast<std::size_t>(out_.operator_count)},
                            {lengths_, tensors}, multiple));
    for (std::size_t t = 0; t < tensors; ++t) {
      const fb::StreamTensor& said = *stored->tensors()->Get(static_cast<std::uint32_t>(t));
      StreamTensor& is = streams_[t];
      // More earlier frames than readers need may be kept on purpose.
      const bool enough = said.history() == is.history ||
                          (said.history() > is.history && said.history() <= kMaxFrames && is.time_axis >= 0 &&
                           model_.tensor(static_cast<int>(t)).shape.product(0, is.time_axis) == 1);
      if (said.up() != is.stream.up || said.down() != is.stream.down || said.delay() != is.stream.delay ||
          !enough || said.time_axis() != is.time_axis) {
        return Status(Code::invalid_data)
               << "section plan: tensor " << t << " is said to have delay " << said.delay() << " and history "
               << said.history() << ", but the graph gives " << is.stream.delay << " and " << is.history;
      }
      is.history = said.history();
    }
    if (stored->block_multiple() != multiple) {
      return Status(Code::invalid_data) << "section plan: block sizes are said to be multiples of "
                                        << stored->block_multiple() << ", but the graph gives " << multiple;
    }
    if (options_.mode == RunMode::whole) {
      std::int64_t reference = 0;
      for (std::size_t i = 0; i < inputs && reference == 0; ++i) {
        if (axes[i] >= 0) reference = model_.tensor(model_.inputs()[i]).shape[axes[i]];
      }
      out_.block = options_.frames != 0 ? options_.frames : reference;
      if (out_.block < 1 || out_.block > kMaxFrames)
        return Status(Code::invalid_argument)
               << "a clip of " << out_.block << " frames, expected 1 to " << kMaxFrames;
      plan_lengths(model_, {streams_, tensors},
                   {stream_steps_, static_cast<std::size_t>(out_.operator_count)}, out_.block,
                   {lengths_, tensors});
      for (std::size_t t = 0; t < tensors; ++t) {
        if (streams_[t].time_axis >= 0 && lengths_[t] < 1) {
          return Status(Code::invalid_argument)
                 << "a clip of " << out_.block << " frames is too short: tensor " << t << ' '
                 << model_.tensor_name(static_cast<int>(t)) << " would be empty";
        }
      }
      return {};
    }
    out_.block = options_.frames != 0 ? options_.frames : multiple;
    if (out_.block < 1 || out_.block > kMaxFrames || out_.block % multiple != 0) {
      return Status(Code::invalid_argument)
             << "a block of " << out_.block << " frames, expected a positive multiple of " << multiple;
    }
    RUNNEL_TRY(plan_sizes(multiple));
    for (std::size_t t = 0; t < tensors; ++t)
      lengths_[t] =
          streams_[t].stream.constant() ? 1 : streaming::frames_per_block(streams_[t].stream, out_.block);
    return {};
  }

  // The other sizes of blocks.
  Status plan_sizes(std::int64_t multiple) noexcept {
    const std::int64_t least = options_.least != 0 ? options_.least : out_.block,
                       most = options_.most != 0 ? options_.most : out_.block;
    if (least < 1 || most < out_.block || most > kMaxFrames || least % multiple != 0 ||
        out_.block % least != 0 || most % out_.block != 0) {
      return Status(Code::invalid_argument)
             << "blocks of " << least << ", " << out_.block << " and " << most
             << " frames, expected each to divide the next one, and all to be multiples of " << multiple;
    }
    out_.units = out_.block / least;
    largest_ = most / out_.block;
    return {};
  }

  Status over_limit(std::string_view what, std::uint64_t bytes) const noexcept {
    return Status(Code::out_of_memory)
           << what << " would need " << bytes << " bytes, more than the limit of " << options_.limit;
  }
  Result<std::size_t> bytes_of(int tensor, std::int64_t frames, std::size_t frame_bytes) const noexcept {
    std::uint64_t bytes = 0;
    if (checked_mul(static_cast<std::uint64_t>(frames), static_cast<std::uint64_t>(frame_bytes), bytes) &&
        bytes <= options_.limit) {
      return static_cast<std::size_t>(bytes);
    }
    return Status(Code::out_of_memory)
           << "tensor " << tensor << ' ' << model_.tensor_name(tensor) << " would need " << frames
           << " frames of " << frame_bytes << " bytes, more than the limit of " << options_.limit;
  }

  // With several sizes half the slack of one: there is one state for each of many streams, and copying the
  // history after half as many frames as it has costs two frames for each one written.
  [[nodiscard]] std::int64_t capacity_of(const Placement& place) const noexcept {
    if (options_.most == 0) return streaming::Ring::of(place.history, place.frames, options_.slack).capacity;
    const std::int64_t slack = options_.slack ? (place.history + 1) / 2 : 0;
    return place.history + std::max(place.frames * largest_, slack);
  }

  Status place_tensors() noexcept {
    const bool streamed = out_.mode == RunMode::stream;
    std::uint64_t rings = 0;
    std::size_t gates = 0;
    for (int t = 0; t < out_.tensor_count; ++t) {
      const TensorView view = model_.tensor(t);
      const StreamTensor& stream = streams_[t];
      Placement& place = placements_[t];
      place.constant = view.constant;
      place.data = view.data.data();
      place.dtype = view.dtype;
      place.zero_point = view.zero_point();
      place.time_axis = stream.time_axis;
      place.bytes = view.bytes();
      place.frame_bytes = place.bytes;
      if (stream.time_axis < 0) continue;
      place.frames = lengths_[t];
      place.up = static_cast<std::int32_t>(stream.stream.up);
      place.down = static_cast<std::int32_t>(stream.stream.down);
      place.frame_bytes = view.bytes() / static_cast<std::size_t>(view.shape[stream.time_axis]);
      RUNNEL_ASSIGN(place.bytes, bytes_of(t, place.frames, place.frame_bytes));
      if (!streamed) continue;
      place.delay = stream.stream.delay;
      place.history = stream.history;
      place.fill = stream.fill;
      gates += place.fill ? 1 : 0;
      if (place.fill)
        out_.warm_blocks = std::max(out_.warm_blocks, ceil_div(place.delay, out_.frames_in(place.frames, 1)));
      // Frames may wait in the block of an input while other sessions run in the same workspace: it belongs
      // to the session.
      const bool waits =
          place.frames * largest_ > 1 &&
          std::find(model_.inputs().begin(), model_.inputs().end(), t) != model_.inputs().end();
      if (place.history > 0 || waits) {
        place.capacity = capacity_of(place);
        RUNNEL_ASSIGN(const std::size_t bytes, bytes_of(t, place.capacity, place.frame_bytes));
        rings += bytes;
        if (rings > options_.limit) return over_limit("the histories of a session", rings);
        ++out_.ring_count;
      }
    }
    rings_ = memory_.array<PreparedTables::RingMemory>(static_cast<std::size_t>(out_.ring_count));
    gates_ = memory_.array<std::int32_t>(gates);
    if (rings_ == nullptr || gates_ == nullptr) return exhausted();
    out_.rings = rings_;
    out_.gates = gates_;
    for (int t = 0, ring = 0; t < out_.tensor_count; ++t) {
      if (placements_[t].capacity > 0) rings_[ring++].tensor = t;
    }
    // Only where vector kernels make it worth while: elsewhere two operators in place need less memory.
    if (options_.share && options_.isa >= Isa::avx2)
      find_absorbed(prepared_, table_, {lengths_, static_cast<std::size_t>(out_.tensor_count)}, absorbed_by_);
    else
      std::fill(absorbed_by_.begin(), absorbed_by_.end(), -1);
    return {};
  }
  [[nodiscard]] bool is_absorbing(int op) const noexcept {
    return op + 1 < out_.operator_count && absorbed_by_[static_cast<std::size_t>(op) + 1] == op;
  }

  Status prepare_operators() noexcept {
    for (current_ = 0; current_ < out_.operator_count; ++current_) {
      if (is_absorbing(current_)) continue;  // prepared with its sum, and run in the sum's place
      PreparedTables::Step& step = steps_[out_.step_count++];
      const int sum = current_;
      if (const std::int32_t front = absorbed_by_[static_cast<std::size_t>(sum)]; front >= 0)
        current_ = front;
      const OperatorDefinition& definition = *find_operator(table_, op());
      auto bound = definition.prepare(*this);
      if (!bound.ok()) return operator_status(model_, table_, current_, bound.status());
      step.bound = *bound;
      keeps_bytes_[static_cast<std::size_t>(current_)] = step.bound->keeps_bytes;
      step.direct = step.bound->direct;
      step.parts = step.bound->parts;
      step_info_[out_.step_count - 1] = {current_, sum - current_ + 1};
      current_ = sum;
      step.first_gate = out_.gate_count;
      if (out_.mode != RunMode::stream) continue;
      for (const std::int32_t output : *op().outputs()) {
        if (placements_[output].fill) gates_[out_.gate_count++] = output;
      }
      step.gates = out_.gate_count - step.first_gate;
    }
    out_.operator_bytes = operator_memory_.bytes();
    if (out_.scratch_bytes > options_.limit)
      return over_limit("an operator's scratch memory", out_.scratch_bytes);
    return {};
  }

  // Steps whose parts read, of what the preceding step wrote, only their own share: each thread goes through
  // all of them at once. What they read and write stays alive as long as the whole chain.
  void find_chains() noexcept {
    for (std::int32_t i = 0; i < out_.operator_count; ++i) alive_[static_cast<std::size_t>(i)] = {i, i};
    if (out_.threads == 1 || out_.mode != RunMode::whole) return;
    for (int first = 0; first < out_.step_count;) {
      int next = first + 1;
      while (next < out_.step_count && is_linked(*steps_[next - 1].bound, *steps_[next].bound)) ++next;
      steps_[first].chain = next - first;
      const PreparedTables::StepInfo& last = step_info_[next - 1];
      const std::int32_t begin = step_info_[first].first, end = last.first + last.operators - 1;
      if (next - first > 1)
        std::fill(alive_.begin() + begin, alive_.begin() + end + 1, MemoryPlan::Span{begin, end});
      first = next;
    }
  }
  static bool is_linked(const BoundOperator& front, const BoundOperator& next) noexcept {
    return front.parts > 1 && front.parts == next.parts && front.positions > 0 &&
           front.positions == next.positions && next.same_positions;
  }

  // A session's state: header, cursors, rings, operator state.
  Status place_state() noexcept {
    std::size_t bytes = 32;
    out_.cursors_offset = bytes;
    bytes += static_cast<std::size_t>(out_.ring_count) * sizeof(std::int64_t);
    for (int i = 0; i < out_.ring_count; ++i) {
      PreparedTables::RingMemory& ring = rings_[i];
      Placement& place = placements_[ring.tensor];
      bytes = align_up(bytes, alignment_);
      place.offset = bytes;
      ring = {ring.tensor, place.fill, place.ring(), place.frame_bytes, place.offset};
      bytes += static_cast<std::size_t>(place.capacity) * place.frame_bytes;
    }
    bytes = align_up(bytes, alignment_);
    out_.operator_state_offset = bytes;
    out_.state_bytes = bytes + operator_state_ + kReadableTail;
    if (out_.state_bytes > options_.limit) return over_limit("a session", out_.state_bytes);
    return {};
  }

  // Fast memory for one thing after the other, the rest is slow. Pieces start at multiples of 64.
  Tier claim(std::size_t bytes) noexcept {
    const std::size_t whole = align_up(bytes, 64);
    if (whole > fast_left_) return Tier::slow;
    fast_left_ -= whole;
    return Tier::fast;
  }
  Status plan_memory() noexcept {
    fast_left_ = options_.fast_bytes / 64 * 64;
    out_.scratch_tier = claim(out_.scratch_bytes);
    MemoryPlan::Request request;
    request.table = table_;
    request.absorbed_by = absorbed_by_;
    request.keeps_bytes = keeps_bytes_;
    request.alive = alive_;
    request.share = options_.share;
    request.alignment = alignment_;
    request.tail = tail_;
    request.fast_bytes = fast_left_;
    request.limit = options_.limit;
    RUNNEL_TRY(memory_plan_.plan(request, placements()));
    for (const Tier tier : {Tier::fast, Tier::slow})
      out_.arena_bytes[static_cast<std::size_t>(tier)] = memory_plan_.arena_bytes(tier);
    out_.arena_bound = memory_plan_.arena_bound();
    claim(prepared_.arena_bytes(Tier::fast));
    out_.state_tier = claim(out_.state_bytes);
    return {};
  }

  void fingerprint() noexcept {
    std::uint32_t crc = 0;
    const auto mix = [&](const auto& value) { crc = crc32c(std::as_bytes(std::span(&value, 1)), crc); };
    mix(out_.block);
    mix(out_.state_bytes);
    mix(out_.mode);
    for (int i = 0; i < out_.ring_count; ++i) {
      const PreparedTables::RingMemory& ring = rings_[i];
      mix(ring.ring.history);
      mix(ring.ring.capacity);
      mix(ring.frame_bytes);
    }
    // The checksums of the sections identify the graph and its weights.
    const fb::Model& file = *fb::GetModel(model_.bytes().data());
    for (const fb::Section* section : *file.sections()) {
      if (section->kind() == fb::SectionKind::graph || section->kind() == fb::SectionKind::weights) {
        const std::uint32_t of_section = section->crc32c();
        mix(of_section);
      }
    }
    out_.fingerprint = crc;
  }

  static constexpr std::size_t kMaxInputs = 64;
  Prepared& prepared_;
  PreparedTables& out_;
  const Model& model_;
  OperatorTable table_;
  const PrepareOptions& options_;
  Memory &memory_, &fast_;
  mutable CountingMemory operator_memory_;  // what operators allocate; the context itself is const to them
  ConstantPlan constants_;
  // Tables of out_, which are written here only.
  Placement* placements_ = nullptr;
  PreparedTables::Step* steps_ = nullptr;
  PreparedTables::StepInfo* step_info_ = nullptr;
  StreamTensor* streams_ = nullptr;
  StreamStep* stream_steps_ = nullptr;
  PreparedTables::RingMemory* rings_ = nullptr;
  std::int32_t* gates_ = nullptr;
  std::int64_t* lengths_ = nullptr;
  MemoryPlan memory_plan_;
  std::span<std::int32_t> absorbed_by_;  // per operator: the preceding one that computes it along; -1: none
  std::span<MemoryPlan::Span> alive_;    // per operator: from when to when its operands are needed
  std::span<bool> keeps_bytes_;          // per operator: BoundOperator::keeps_bytes
  std::size_t alignment_ = 16, tail_ = 0, fast_left_ = 0;
  std::size_t operator_state_ = 0;
  std::int64_t largest_ = 1;          // blocks of this size in one of the largest size
  std::size_t* variables_ = nullptr;  // per operator that was the first to ask for its variable: where it is
  int current_ = 0;
};

Result<const Prepared*> Prepared::make(const Model& model, OperatorTable table, const PrepareOptions& options,
                                       Memory& memory, Memory& fast) noexcept {
  void* place = memory.allocate(sizeof(Prepared), alignof(Prepared));
  if (place == nullptr) return exhausted();
  auto* prepared = new (place) Prepared();
  Preparation preparation(*prepared, model, table, options, memory, fast);
  RUNNEL_TRY(preparation.run());
  return static_cast<const Prepared*>(prepared);
}

Prepared::ConstantBytes Prepared::constant_bytes() const noexcept {
  ConstantBytes out;
  for (int t = 0; t < tables_.tensor_count; ++t) {
    const Placement& place = tables_.placements[t];
    if (!place.constant) continue;
    switch (place.use) {
      case ConstantUse::packed:
        out.packed += place.bytes;
        break;
      case ConstantUse::in_place:
        out.in_place += place.bytes;
        break;
      case ConstantUse::copied:
        (place.tier == Tier::fast ? out.copied_fast : out.copied_slow) += place.bytes;
        break;
    }
  }
  return out;
}

Shape Prepared::shape(int tensor) const noexcept {
  Shape shape = tables_.model->tensor(tensor).shape;
  const Placement& place = tables_.placements[tensor];
  if (place.time_axis >= 0) shape[place.time_axis] = static_cast<std::int32_t>(place.frames);
  return shape;
}

namespace {

// plan_lengths() without the model. No steps: all tensors are as long as the source.
void compiled_lengths(const PreparedTables& tables, std::int64_t source_length,
                      std::span<std::int64_t> out) noexcept {
  std::fill(out.begin(), out.end(), tables.length_steps.empty() ? source_length : 0);
  for (const std::int32_t input : tables.inputs) out[static_cast<std::size_t>(input)] = source_length;
  for (const LengthStep& step : tables.length_steps) {
    std::int64_t length = kEndless;
    for (const std::int32_t input : step.inputs)
      length = std::min(length, out[static_cast<std::size_t>(input)]);
    length = streaming::output_length(step.rule, length);
    for (const std::int32_t output : step.outputs) out[static_cast<std::size_t>(output)] = length;
  }
}

}  // namespace

void Prepared::lengths(std::int64_t source_length, std::span<std::int64_t> out) const noexcept {
  const PreparedTables& t = tables_;
  if (t.model == nullptr)
    compiled_lengths(t, source_length, out);
  else
    plan_lengths(*t.model, {t.streams, static_cast<std::size_t>(t.tensor_count)},
                 {t.stream_steps, static_cast<std::size_t>(t.operator_count)}, source_length, out);
}

bool Prepared::shares_states_with(const Prepared& other) const noexcept {
  const PreparedTables &a = tables_, &b = other.tables_;
  const auto same_ring = [&](const RingMemory& ring, const RingMemory& its) {
    return ring.tensor == its.tensor && ring.offset == its.offset && ring.frame_bytes == its.frame_bytes &&
           ring.fill == its.fill && ring.ring.history == its.ring.history &&
           ring.ring.capacity == its.ring.capacity &&
           a.frames_in(ring.ring.frames, 1) == b.frames_in(its.ring.frames, 1);
  };
  return a.model == b.model && a.mode == RunMode::stream && b.mode == RunMode::stream &&
         a.block * b.units == b.block * a.units && a.state_bytes == b.state_bytes &&
         a.operator_state_offset == b.operator_state_offset && a.cursors_offset == b.cursors_offset &&
         std::equal(a.rings, a.rings + a.ring_count, b.rings, b.rings + b.ring_count, same_ring);
}

std::int64_t Prepared::calls(std::int64_t source_length,
                             std::span<std::int64_t> lengths_memory) const noexcept {
  lengths(source_length, lengths_memory);
  std::int64_t calls = ceil_div(source_length, tables_.block);
  for (const std::int32_t output : tables_.outputs) {
    const Placement& at = tables_.placements[output];
    const streaming::Stream stream = tables_.model == nullptr ? streaming::Stream{at.up, at.down, at.delay}
                                                              : tables_.streams[output].stream;
    calls = std::max(calls, streaming::calls_for_output(
                                stream, lengths_memory[static_cast<std::size_t>(output)], tables_.block));
  }
  return calls;
}

}  // namespace runnel
