// A model made ready for one way of running it: memory planned, weights packed, kernels chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "base/dtype.h"
#include "base/memory.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "inference/operator.h"
#include "inference/plan/arena_planner.h"
#include "inference/plan/stream_plan.h"
#include "streaming/ring.h"

namespace runnel {

// stream: blocks of N frames, temporal context kept in the session. whole: one clip at once.
enum class RunMode : std::uint8_t { stream, whole };

struct PrepareOptions {
  RunMode mode = RunMode::stream;
  // stream: source frames per block, a positive multiple of the plan's block_multiple; 0: the smallest.
  // whole: frames of the clip along the inputs' time axis; 0: the length in the file. Others need a
  // streamable graph.
  std::int64_t frames = 0;
  // stream: the smallest and the largest block of several preparations of one model whose sessions share
  // states, so that a stream steps in blocks of either size as its frames arrive (Session::make). Each of
  // `least`, `frames`, `most` divides the next one. 0: blocks of `frames` alone.
  std::int64_t least = 0, most = 0;
  Isa isa = best_isa();
  // true: room for moving histories only every few blocks (hosts: at most twice the bytes); false: the least
  // memory.
  bool slack = true;
  // false: every tensor keeps memory of its own, so that all of them can be looked at after a run.
  bool share = true;
  // Threads that share the heavy operators; the session needs Workers to make use of it (Workspace::use).
  // Results are the same bits.
  int threads = 1;
  // Work (multiply-adds of a dense layer, or bytes) below which a part is not worth it: handing one to
  // another core and hearing back costs about a microsecond.
  std::int64_t least_part = 200'000;
  // Most bytes of the arena, of the scratch memory and of a session's state: a file of a few bytes may ask
  // for any size, and the caller provides the memory.
  std::size_t limit = std::size_t{1} << 31;
  // Most bytes of fast memory (Tier::fast) that this model may claim. In this order, each if it fits into
  // what is left: scratch memory, intermediate tensors (as many as fit: plan_two_arenas), the state of one
  // session, copied constants, smallest first. The rest is Tier::slow. No limit: everything is fast, and
  // there is one arena. Results do not depend on it.
  std::size_t fast_bytes = static_cast<std::size_t>(-1);
  // true: constants that are read while the model runs are copied into prepared memory (from flash that is
  // slower than RAM); false: they are read where the file lies. What kernels pack into an order of their own
  // is never read again, nor copied.
  bool param_copy = false;
  // Of tensors, in bytes: 16, 32 or 64; 0: what suits this machine. Firmware has 16.
  std::size_t alignment = 0;
  // For reports; null: nobody wants to know. Used by make() alone.
  KernelObserver* kernels = nullptr;
};

// How a constant serves: not at all, in a form that an operator made of it while being prepared; read where
// it lies in the file; read from a copy.
enum class ConstantUse : std::uint8_t { packed, in_place, copied };

// Where a tensor lives and how it moves along time.
struct Placement {
  std::int64_t frames = 1;    // per block (stream), or the length (whole); 1 for tensors without time
  std::int64_t delay = 0;     // D
  std::int64_t history = 0;   // frames kept before the block
  std::int64_t capacity = 0;  // frames of the ring: history + frames + slack; 0: in the arena
  std::size_t frame_bytes = 0;
  std::size_t bytes = 0;          // of one block
  std::size_t offset = 0;         // into the arena of its tier, or into a session's state when capacity > 0
  std::int32_t up = 1, down = 1;  // rate
  std::int8_t time_axis = -1;
  Tier tier = Tier::fast;  // of the arena; constants that are copied: where to
  bool constant = false;
  ConstantUse use = ConstantUse::packed;  // constants
  const std::byte* data = nullptr;        // constants: in the file, or the copy
  bool fill = false;                      // frames that are not data are overwritten with the zero point
  DType dtype = DType::none;
  std::int32_t zero_point = 0;

  [[nodiscard]] streaming::Ring ring() const noexcept { return {history, frames, capacity}; }
};

// How many frames a tensor has, from those of the streamed inputs of the operator that writes it: the
// shortest of them decides.
struct LengthStep {
  streaming::NodeRule rule;
  std::span<const std::int32_t> inputs, outputs;
};

// What a Prepared consists of. Prepared::make() fills it; a program whose model is compiled into it has it as
// a constant (compiler/embed).
struct PreparedTables {
  // One operator in execution order, or a convolution and the sum after it: one cache line where pointers
  // have 8 bytes.
  struct alignas(8 * sizeof(void*)) Step {
    DirectCall direct;
    const BoundOperator* bound = nullptr;
    std::int32_t first_gate = 0, gates = 0;  // tensors to fill after it while frames may not be data
    std::int32_t parts = 1;                  // those of `bound`
    std::int32_t chain =
        1;  // this many steps from here on are shared among threads without waiting in between
  };
  // What a run consists of: operators in order, or an operator and the sum that it computes along
  // (`operators` is 2).
  struct StepInfo {
    std::int32_t first = 0, operators = 1;
  };
  struct RingMemory {  // what moving a ring on needs of its Placement
    std::int32_t tensor = 0;
    bool fill = false;
    streaming::Ring ring;
    std::size_t frame_bytes = 0, offset = 0;
  };

  const Model* model = nullptr;  // null: compiled into the program, `length_steps` instead of it
  RunMode mode = RunMode::stream;
  bool indexed = false;  // some operator looks at FrameIndex
  int threads = 1;
  std::int64_t block = 0;
  std::int64_t warm_blocks = 0;  // units (below) in which some gated tensor still warms up
  int tensor_count = 0, operator_count = 0, step_count = 0, ring_count = 0, gate_count = 0;
  std::span<const std::int32_t> inputs, outputs;  // tensors
  const Placement* placements = nullptr;
  const Step* steps = nullptr;
  const StepInfo* step_info = nullptr;
  const StreamTensor* streams = nullptr;     // of the model
  const StreamStep* stream_steps = nullptr;  // of the model
  std::span<const LengthStep> length_steps;  // in place of the model
  const RingMemory* rings = nullptr;         // tensors with capacity > 0
  const std::int32_t* gates = nullptr;
  Tier scratch_tier = Tier::fast, state_tier = Tier::fast;
  std::size_t arena_bytes[2] = {}, arena_bound = 0, alignment = 0;
  std::size_t operator_bytes = 0, scratch_bytes = 0, state_bytes = 0, operator_state_offset = 0,
              cursors_offset = 0;
  std::uint32_t fingerprint = 0;
  // Blocks of the smallest size (PrepareOptions::least) in one block: what a state counts in.
  std::int64_t units = 1;

  // Of a tensor with `frames` frames per block, those in `count` units. Where there are no other sizes,
  // nothing is divided: devices have no instruction for it.
  [[nodiscard]] constexpr std::int64_t frames_in(std::int64_t frames, std::int64_t count) const noexcept {
    return count == units ? frames : frames / units * count;
  }
};

// Immutable and thread-safe: any number of sessions on any number of threads share one.
class Prepared {
 public:
  // Everything, this object included, is allocated from `memory`, which must outlive it, as must the model.
  // Copied constants of the fast tier are allocated from `fast`, by default from `memory` as well.
  // Fails with `unsupported` naming all operators that `table` lacks, or why the graph cannot be streamed;
  // with `invalid_argument` for a block size that is not possible; with `out_of_memory`, also beyond
  // options.limit.
  static Result<const Prepared*> make(const Model& model, OperatorTable table, const PrepareOptions& options,
                                      Memory& memory) noexcept {
    return make(model, table, options, memory, memory);
  }
  static Result<const Prepared*> make(const Model& model, OperatorTable table, const PrepareOptions& options,
                                      Memory& memory, Memory& fast) noexcept;

  // Of constants, which must outlive it.
  constexpr explicit Prepared(const PreparedTables& tables) noexcept : tables_(tables) {}
  [[nodiscard]] const PreparedTables& tables() const noexcept { return tables_; }

  // Not of one that was made of constants.
  [[nodiscard]] const Model& model() const noexcept { return *tables_.model; }
  [[nodiscard]] RunMode mode() const noexcept { return tables_.mode; }
  // Source frames per block (stream) or of the clip (whole).
  [[nodiscard]] std::int64_t block() const noexcept { return tables_.block; }
  [[nodiscard]] const Placement& placement(int tensor) const noexcept { return tables_.placements[tensor]; }
  // Shape of a tensor in one run.
  [[nodiscard]] Shape shape(int tensor) const noexcept;
  // Exact needs. A workspace may serve all sessions of one thread; a session needs its own state.
  [[nodiscard]] std::size_t arena_bytes() const noexcept {
    return tables_.arena_bytes[0] + tables_.arena_bytes[1];
  }
  [[nodiscard]] std::size_t arena_bytes(Tier tier) const noexcept {
    return tables_.arena_bytes[static_cast<std::size_t>(tier)];
  }
  // Of tensors, histories and arenas, in bytes.
  [[nodiscard]] std::size_t alignment() const noexcept { return tables_.alignment; }
  // The largest sum of tensors that are alive together: no arena for all of them could be smaller.
  [[nodiscard]] std::size_t arena_bound() const noexcept { return tables_.arena_bound; }
  [[nodiscard]] std::size_t scratch_bytes() const noexcept { return tables_.scratch_bytes; }
  [[nodiscard]] Tier scratch_tier() const noexcept { return tables_.scratch_tier; }
  [[nodiscard]] std::size_t state_bytes() const noexcept { return tables_.state_bytes; }
  // Where the state of one session is meant to be; its memory is the caller's.
  [[nodiscard]] Tier state_tier() const noexcept { return tables_.state_tier; }
  // Bytes of constants in the file, by how they serve; those that are copied take as many again, in their
  // tier.
  struct ConstantBytes {
    std::size_t packed = 0, in_place = 0, copied_fast = 0, copied_slow = 0;
  };
  [[nodiscard]] ConstantBytes constant_bytes() const noexcept;
  // Memory that operators took while being prepared: packed weights, tables, settings.
  [[nodiscard]] std::size_t operator_bytes() const noexcept { return tables_.operator_bytes; }
  // Frames of every tensor for a recording of `source_length` source frames; `out` has one entry per tensor.
  void lengths(std::int64_t source_length, std::span<std::int64_t> out) const noexcept;
  // Whether sessions of both may share states: their layouts are the same.
  [[nodiscard]] bool shares_states_with(const Prepared& other) const noexcept;
  // Calls of run() that bring out everything of such a recording; `lengths_memory` as above, overwritten.
  [[nodiscard]] std::int64_t calls(std::int64_t source_length,
                                   std::span<std::int64_t> lengths_memory) const noexcept;
  // How many threads its operators were split for.
  [[nodiscard]] int threads() const noexcept { return tables_.threads; }
  // The streaming rule and context of an operator; kind `constant` where nothing is streamed.
  [[nodiscard]] const StreamStep& stream_step(int op) const noexcept { return tables_.stream_steps[op]; }
  using StepInfo = PreparedTables::StepInfo;
  [[nodiscard]] int step_count() const noexcept { return tables_.step_count; }
  [[nodiscard]] StepInfo step(int index) const noexcept { return tables_.step_info[index]; }
  // Identifies graph, weights, block size and layout of the state.
  [[nodiscard]] std::uint32_t fingerprint() const noexcept { return tables_.fingerprint; }

 private:
  friend class Session;
  friend class SessionGroup;
  friend class Workspace;
  friend class Preparation;
  Prepared() noexcept = default;
  using Step = PreparedTables::Step;
  using RingMemory = PreparedTables::RingMemory;

  PreparedTables tables_;
};

}  // namespace runnel
