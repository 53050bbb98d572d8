// What an operator is to the runtime: checks, streaming rule, preparation, execution.
//
// Operators are listed in explicit tables (OperatorTable) that the application passes in, so that a linker
// keeps only what a program names. `all_operators()` is the table of everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "inference/operator_table.h"
#include "streaming/rule.h"

namespace runnel {

// The position of a tensor's block in the recording: the logical index of its first frame (negative during
// warm-up) and the tensor's length; kEndless while the end is unknown.
inline constexpr std::int64_t kEndless = std::int64_t{1} << 62;
struct FrameIndex {
  std::int64_t first = 0;
  std::int64_t length = kEndless;
};

// What an operator sees when it runs.
struct RunContext {
  std::byte* const* data = nullptr;   // per tensor: first byte of its block
  const FrameIndex* index = nullptr;  // per tensor; only if the operator requested it (use_frame_index)
  std::byte* scratch = nullptr;       // 64-byte aligned, 16 in firmware; as large as the largest request
  std::byte* state = nullptr;         // the session's operator state
  std::int32_t part = 0, parts = 1;   // which share of the operator this call is to compute
};

// A call that is all an operator does in one step of a stream, so that the executor can make it without
// asking the operator.
struct DirectCall {
  // x, addend, y: the tensors below; `addend` is null where there is none. Null: there is no such form.
  void (*run)(const void* self, const void* x, const void* addend, void* y) noexcept = nullptr;
  const void* self = nullptr;
  std::int32_t x = -1, addend = -1, y = -1;  // tensors
  std::int32_t x_back = 0, addend_back = 0;  // bytes before their blocks
};

// An operator bound to shapes, constants and kernels; each operator derives its own from it. Trivially
// destructible.
struct BoundOperator {
  void (*run)(const BoundOperator& self, const RunContext& context) noexcept = nullptr;
  // The same for `count` sessions, one context each; null: run() for each in turn is as good.
  void (*run_together)(const BoundOperator& self, const RunContext* contexts, int count) noexcept = nullptr;
  // Recurrent operators set their state to its initial value; null where there is none.
  void (*reset)(const BoundOperator& self, std::byte* state) noexcept = nullptr;
  // More than 1: run() may be called that many times at the same time instead of once, with RunContext::part
  // from 0 and RunContext::parts = parts. The results are the same bits.
  std::int32_t parts = 1;
  // Parts are neighbouring positions (all dimensions but the channels) of the output, of this many, shared
  // out as by share_of(); 0: they are something else.
  std::int64_t positions = 0;
  // From an input with as many positions a part reads only those that it computes: no need to wait until all
  // parts of the preceding operator are done.
  bool same_positions = false;
  // In this run the bytes of the output are those of the first input in the same order, although the
  // operator's definition does not promise it: InPlace::view holds. Set by prepare().
  bool keeps_bytes = false;
  // The same as run() with one part.
  DirectCall direct;
};

// The positions [first, last) of part `part` of `parts`: whole blocks of four, which kernels work on side by
// side.
struct PositionShare {
  std::int64_t first = 0, last = 0;
};
constexpr PositionShare share_of(std::int64_t positions, std::int32_t part, std::int32_t parts) noexcept {
  const std::int64_t blocks = (positions + 3) / 4;
  const std::int64_t last = blocks * (part + 1) / parts * 4;
  return {blocks * part / parts * 4, last < positions ? last : positions};
}

// How a window node sees one input along time.
struct TimeWindow {
  std::int64_t back_bytes =
      0;  // the window starts this many bytes before the block (negative: after its start)
  std::int64_t back_frames = 0;
  std::int64_t frames = 0;  // frames that may be read from there
  std::int64_t pad = 0;  // padding before the window (whole-clip runs; streamed runs have it in the history)
};

// The next operator when this one computes it along, exactly as the two in turn would: its own
// result is stored nowhere.
struct Absorbed {
  enum class Kind : std::uint8_t {
    none,
    sum,   // int8, equal exponents and shapes: y = clamp(own result + addend)
    clip,  // float32: y = own result, no less than `low` and no more than `high`; NaN stays
  };
  Kind kind = Kind::none;
  std::int32_t output = -1;  // tensor that is written instead of the operator's own output
  // Of sums.
  std::int32_t addend = -1;     // tensor
  std::int64_t back_bytes = 0;  // the addend is read this far before its block
  Activation activation = Activation::none;
  // Of clips: low <= high, both may be infinite.
  float low = -__builtin_inff(), high = __builtin_inff();
};

// What an operator may use while it prepares.
class PrepareContext {
 public:
  [[nodiscard]] virtual const Model& model() const noexcept = 0;
  [[nodiscard]] virtual const fb::Operator& op() const noexcept = 0;
  [[nodiscard]] virtual Isa isa() const noexcept = 0;
  [[nodiscard]] virtual Memory& memory() const noexcept = 0;
  // Parts worth making of an operator of `work` (multiply-adds, or bytes moved): 1 unless threads were asked
  // for and each would have enough to do.
  [[nodiscard]] virtual std::int32_t parts(std::int64_t work) const noexcept {
    static_cast<void>(work);
    return 1;
  }
  // Shape of a tensor in this run: the time axis holds the frames per block (streamed) or the length (whole
  // clip).
  [[nodiscard]] virtual Shape shape(int tensor) const noexcept = 0;
  // Time axis of a tensor; -1: none.
  [[nodiscard]] virtual int time_axis(int tensor) const noexcept = 0;
  // Blocks of a stream (true) or whole clips (false).
  [[nodiscard]] virtual bool streamed() const noexcept = 0;
  // Streamed, but every run() gets the whole window of its output, nothing is kept for the next one: the
  // event-driven reference. Rules with own_history have their window like any other then.
  [[nodiscard]] virtual bool windows_apart() const noexcept { return false; }
  // Along time, for input `position` of this operator, given its rule.
  [[nodiscard]] virtual TimeWindow window(int position) const noexcept = 0;
  // What this operator must compute along; only for definitions that absorb the next one.
  [[nodiscard]] virtual Absorbed absorbed() const noexcept { return {}; }
  // Scratch memory, shared by all operators, valid during one run().
  virtual void request_scratch(std::size_t bytes) noexcept = 0;
  // State that a session keeps for this operator; returns its offset in RunContext::state.
  virtual std::size_t request_state(std::size_t bytes) noexcept = 0;
  // The same, but one place for all operators that ask for the variable of this number (VariableOptions); the
  // first one says how large it is.
  virtual std::size_t request_variable(int variable, std::size_t bytes) noexcept {
    static_cast<void>(variable);
    return request_state(bytes);
  }
  // Every constant that run() reads must be announced, so that it can be copied and counted; not those that
  // prepare() alone reads. Of a tensor through RunContext::data (ops::operand does it); harmless for tensors
  // that are no constants.
  virtual void read_constant(int) noexcept {}
  // Of a tensor through the object pointer that `pointer` points to, which lies in what the operator
  // allocated and is null or points into the constant. It is moved along when the constant is copied. Fails
  // with out_of_memory.
  virtual Status read_constant(int, void*) noexcept { return {}; }
  // This operator reads RunContext::index.
  virtual void use_frame_index() noexcept = 0;
  // What will compute this operator, for reports; nobody listens in firmware.
  virtual void chose_kernel(KernelChoice) noexcept {}

 protected:
  ~PrepareContext() = default;
};

// Hears what computes each operator of a model that is being prepared. Operators that move data, or have one
// loop for every machine, are silent.
class KernelObserver {
 public:
  virtual void chosen(int op, KernelChoice choice) noexcept = 0;

 protected:
  ~KernelObserver() = default;
};

// Time axes of the tensors, -1 where a tensor is not a stream.
using TimeAxes = std::span<std::int8_t>;

// Whether run() may be told to write its output over an input that has no later reader (memory_plan.h
// decides). All but `no` promise that every byte of the input has been read when it is overwritten, reading
// and writing from front to back.
enum class InPlace : std::uint8_t {
  no,
  elements,  // element by element: over any input of as many elements that are no smaller, even if it is used
             // twice
  view,  // the bytes of the first input, if both mean the same numbers: shared even if others need them; else
         // as `elements`
  first,     // over the first input, if it is as large, and no other input lies there
  shrinking  // the same, and the output may be smaller
};

struct OperatorDefinition {
  // `custom`: an operator of the application, found by name and version (inference/custom.h). `delegate`: a
  // back end, found by its kind as name (inference/delegate.h); the name "delegate" covers all kinds that
  // no other definition names.
  OpCode code = OpCode::none;
  // Of custom operators and delegates: the version that the application gave it, Arithmetic{2} for 2.
  Arithmetic arithmetic = Arithmetic::espdl;
  std::string_view name;
  // Everything that can be wrong with an operator of a file: number and types of operands, options, and that
  // the shapes of the outputs follow from those of the inputs. Called once per model, before anything else.
  Status (*check)(const Model& model, const fb::Operator& op) noexcept = nullptr;
  // Along time: given the axes of the inputs, sets those of the outputs and fills `rule`. A failure
  // (`unsupported`) says why this operator cannot be streamed and what would help. Never called when no input
  // is a stream.
  Status (*stream)(const Model& model, const fb::Operator& op, TimeAxes axes,
                   streaming::NodeRule& rule) noexcept = nullptr;
  // Binds the operator; only after check() has passed. Everything it allocates comes from context.memory().
  Result<const BoundOperator*> (*prepare)(PrepareContext& context) noexcept = nullptr;
  InPlace in_place = InPlace::no;
  // prepare() honours PrepareContext::absorbed().
  bool absorbs = false;
};

// The entry for an operator's code and version, for custom ones and delegates also its name; null when the
// table has none.
const OperatorDefinition* find_operator(OperatorTable table, const fb::Operator& op) noexcept;

// What an operator is called: "conv", the name of a custom one, the kind of a delegate; empty for a code that
// this build does not know.
std::string_view operator_type(const fb::Operator& op) noexcept;

// Ok, or `unsupported` naming every operator of the model that the table lacks, with type, version and name.
Status missing_operators(const Model& model, OperatorTable table) noexcept;

}  // namespace runnel
