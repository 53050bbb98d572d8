// Runs a model file over an input file with Session. Command line:
//     PROGRAM MODEL INPUT OUTPUT [block=N] [save=K] [whole=1] [profile=1]
// INPUT: the frames of the graph's inputs, block by block; a file that ends inside a block (one input) ends
// the recording there, and the rest is flushed. OUTPUT: the results of each run, output by output. save=K:
// after K blocks, saves, spoils and restores the session. whole=1: one clip at once. profile=1: instructions
// of each step. Prints resources used.
#include <algorithm>
#include <cstring>

#include "firmware/feature_runner.h"
#include "firmware/print_line.h"
#include "firmware/startup/image.h"
#include "firmware/startup/stack.h"
#include "inference/ops/definitions.h"
#include "inference/session.h"

namespace {

using namespace runnel;
using namespace runnel::firmware;

// What networks on sensor nodes are made of; the linker leaves out everything else.
constexpr const OperatorDefinition* kOperators[] = {
    &ops::kConv,
    &ops::kConvHybrid,
    &ops::kConvMultipliers,
    &ops::kFullyConnected,
    &ops::kFullyConnectedHybrid,
    &ops::kFullyConnectedMultipliers,
    &ops::kAdd,
    &ops::kAddExact,
    &ops::kAddTflite,
    &ops::kMul,
    &ops::kMulTflite,
    &ops::kRelu,
    &ops::kReluTflite,
    &ops::kRequantize,
    &ops::kRequantizeTflite,
    &ops::kQuantize,
    &ops::kQuantizeTflite,
    &ops::kDequantize,
    &ops::kDequantizeTflite,
    &ops::kLut,
    &ops::kAveragePool,
    &ops::kAveragePoolTflite,
    &ops::kMaxPool,
    &ops::kMaxPoolTflite,
    &ops::kReshape,
    &ops::kTranspose,
    &ops::kSlice,
    &ops::kConcat,
    &ops::kSplit,
    &ops::kPad,
    &ops::kReduceMean,
    &ops::kReduceMeanTflite,
    &ops::kReduceMax,
    &ops::kSoftmax,
    &ops::kSoftmaxTflite,
    &ops::kSigmoidTflite,
    &ops::kFixedAttention,
    &ops::kFixedLayerNorm,
    &ops::kStreamingCache,
    &ops::kReadVariable,
    &ops::kAssignVariable,
};

alignas(64) std::byte file[200 * 1024];
alignas(64) std::byte storage[160 * 1024];
alignas(64) std::byte saved[48 * 1024];

// Instructions of each step, without those for reading the clock.
class StepCounts final : public StepObserver {
 public:
  void begin() noexcept { last_ = instructions(); }
  void done(int index) noexcept override {
    const std::uint64_t now = instructions();
    if (index < kMax) counts_[index] += now - last_;
    last_ = instructions();
  }
  void print_all(const Model& model, const Prepared& prepared, std::uint64_t runs) const noexcept {
    const std::uint64_t first = instructions(), overhead = instructions() - first;
    for (int i = 0; i < prepared.step_count() && i < kMax; ++i) {
      print_line("step ", i, ' ', operator_type(model.op(prepared.step(i).first)), ' ',
                 counts_[i] / runs - overhead);
    }
  }

 private:
  static constexpr int kMax = 200;
  std::uint64_t counts_[kMax] = {}, last_ = 0;
};

struct Wanted {
  std::int64_t block = 0, save = -1;
  bool whole = false, profile = false;
};

bool read_wanted(const Arguments& arguments, Wanted& wanted) noexcept {
  for (std::size_t i = 4; i < arguments.count; ++i) {
    const std::string_view word(arguments.words[i]);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    std::int64_t number = 0;
    for (const char digit : word.substr(equals + 1)) {
      if (digit < '0' || digit > '9') return false;
      number = number * 10 + (digit - '0');
    }
    const std::string_view name = word.substr(0, equals);
    if (name == "block")
      wanted.block = number;
    else if (name == "save")
      wanted.save = number;
    else if (name == "whole")
      wanted.whole = number != 0;
    else if (name == "profile")
      wanted.profile = number != 0;
    else
      return false;
  }
  return true;
}

// Runs another stream in the same memory, then restores this one.
Status save_and_restore(Session& session, std::span<std::byte> state) noexcept {
  if (session.saved_bytes() > sizeof saved)
    return Status(Code::out_of_memory) << "a saved session has " << session.saved_bytes() << " bytes";
  RUNNEL_TRY(session.save(saved));
  std::fill(state.begin(), state.end(), std::byte{0x5A});
  session.reset();
  for (int i = 0; i < 3; ++i) {
    std::memset(session.input(0).data(), 0x33, session.input(0).size());
    session.run(session.prepared().block());
  }
  return session.restore(saved);
}

Status run(const Wanted& wanted, const Model& model, const Prepared& prepared, Session& session,
           std::span<std::byte> state, HostFile& in, HostFile& out) noexcept {
  const int inputs = static_cast<int>(model.inputs().size()),
            outputs = static_cast<int>(model.outputs().size());
  static StepCounts counts;
  std::uint64_t calls = 0, spent = 0, most = 0;
  for (bool ended = false; !ended || session.flush_calls_left() > 0;) {
    std::int64_t valid = prepared.block();
    for (int i = 0; i < inputs && !ended; ++i) {
      const std::span<std::byte> block = session.input(i);
      const std::size_t size = in.read(block.data(), block.size());
      if (size == block.size()) continue;
      ended = true;
      const Placement& at = prepared.placement(model.inputs()[static_cast<std::size_t>(i)]);
      valid = i > 0 || at.time_axis < 0 ? 0 : static_cast<std::int64_t>(size / at.frame_bytes);
    }
    if (ended && wanted.whole) break;
    const std::uint64_t start = instructions();
    if (wanted.profile) {
      counts.begin();
      session.run(ended ? valid : prepared.block(), counts);
    } else {
      session.run(ended ? valid : prepared.block());
    }
    const std::uint64_t took = instructions() - start;
    spent += took;
    most = std::max(most, took);
    ++calls;
    for (int i = 0; i < outputs; ++i) {
      const OutputFrames frames = session.output(i);
      const std::size_t frame_bytes =
          prepared.placement(model.outputs()[static_cast<std::size_t>(i)]).frame_bytes;
      if (frames.count > 0 && !out.write(frames.data, static_cast<std::size_t>(frames.count) * frame_bytes))
        return Status(Code::io_error) << "cannot write the output";
    }
    if (static_cast<std::int64_t>(calls) == wanted.save) RUNNEL_TRY(save_and_restore(session, state));
  }
  if (wanted.profile && calls > 0) counts.print_all(model, prepared, calls);
  print_line("runs ", calls, " instructions_per_run ", calls > 0 ? spent / calls : 0, " most ", most);
  return {};
}

Status run_model(const Arguments& arguments, const Wanted& wanted) noexcept {
  HostFile model_file, in, out;
  if (!model_file.open_to_read(arguments.words[1])) return Status(Code::not_found) << "cannot read the model";
  const std::size_t size = model_file.read(file, sizeof file);
  if (size == sizeof file)
    return Status(Code::out_of_memory) << "a model of " << sizeof file << " bytes or more";
  if (!in.open_to_read(arguments.words[2]) || !out.open_to_write(arguments.words[3]))
    return Status(Code::not_found) << "cannot open the input or the output";
  FixedMemory memory(storage);
  start_clock();
  RUNNEL_ASSIGN(const Model model, Model::open({file, size}));
  const std::uint64_t opened = instructions();
  PrepareOptions options;
  options.mode = wanted.whole ? RunMode::whole : RunMode::stream;
  options.frames = wanted.block;
  options.slack = false;
  RUNNEL_ASSIGN(const Prepared* const prepared, Prepared::make(model, kOperators, options, memory));
  const std::size_t prepared_bytes = memory.used();
  const std::uint64_t ready = instructions();
  RUNNEL_ASSIGN(Workspace* const workspace, Workspace::make(*prepared, memory));
  const std::size_t workspace_bytes = memory.used() - prepared_bytes;
  const std::span<std::byte> state(static_cast<std::byte*>(memory.allocate(prepared->state_bytes(), 16)),
                                   prepared->state_bytes());
  if (state.data() == nullptr)
    return Status(Code::out_of_memory) << "no memory for a state of " << prepared->state_bytes() << " bytes";
  RUNNEL_ASSIGN(Session session, Session::make(*prepared, *workspace, state));
  print_line("instructions_to_open ", opened, " instructions_to_prepare ", ready - opened,
             " instructions_to_make ", instructions() - ready);
  print_line("bytes prepared ", prepared_bytes, " operators ", prepared->operator_bytes(), " workspace ",
             workspace_bytes);
  print_line("bytes arena ", prepared->arena_bytes(), " scratch ", prepared->scratch_bytes(), " state ",
             prepared->state_bytes(), " all ", memory.used());
  return run(wanted, model, *prepared, session, state, in, out);
}

}  // namespace

int runnel::firmware::image_main() noexcept {
  paint_stack();
  static Arguments arguments;
  arguments.count = command_line(arguments.text, arguments.words);
  Wanted wanted;
  if (arguments.count < 4 || !read_wanted(arguments, wanted))
    return fail("expected MODEL INPUT OUTPUT [block=N] [save=K] [whole=1] [profile=1]");
  if (const Status status = run_model(arguments, wanted); !status.ok()) return fail(status.text());
  print_line("stack ", stack_used());
  return 0;
}
