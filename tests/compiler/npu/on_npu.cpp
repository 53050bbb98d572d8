#include "tests/compiler/npu/on_npu.h"

#include <cstring>
#include <functional>
#include <random>

#include "compiler/write/writer.h"
#include "inference/host/check.h"
#include "inference/host/engine.h"
#include "npu/decoder.h"
#include "npu/host/cycles/estimate.h"
#include "npu/host/simulator/simulated_npu.h"
#include "npu/validate.h"

namespace runnel::test {
namespace {

using Bytes = std::vector<std::byte>;

Result<std::shared_ptr<const OwnedModel>> written(const compiler::Graph& graph) {
  compiler::WriteOptions options;
  options.blocks.clear();
  RUNNEL_ASSIGN(const compiler::WrittenModel model, compiler::write_model(graph, options));
  return OwnedModel::from_bytes(model.bytes);
}

Result<std::vector<Bytes>> run(const std::shared_ptr<const OwnedModel>& owned, OperatorTable table,
                               const std::vector<Bytes>& inputs, std::int64_t frames = 0) {
  const Model& model = owned->model();
  PrepareOptions options;
  options.mode = RunMode::whole;
  const std::int32_t first = model.inputs()[0];
  const int axis = model.plan() == nullptr
                       ? -1
                       : model.plan()->tensors()->Get(static_cast<std::uint32_t>(first))->time_axis();
  if (axis >= 0) options.frames = frames > 0 ? frames : model.tensor(first).shape[axis];
  RUNNEL_ASSIGN(auto engine, Engine::make(owned, options, table));
  RUNNEL_ASSIGN(const auto runner, Runner::make(std::move(engine)));
  Session& session = runner->session();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto to = session.input(static_cast<int>(i));
    if (to.size() != inputs[i].size())
      return Status(Code::mismatch) << "input " << i << " takes " << to.size() << " bytes";
    std::memcpy(to.data(), inputs[i].data(), to.size());
  }
  session.run(runner->prepared().block());
  std::vector<Bytes> outputs;
  for (const std::int32_t tensor : model.outputs()) {
    const auto bytes = session.tensor(tensor);
    outputs.emplace_back(bytes.begin(), bytes.end());
  }
  return outputs;
}

class FirstViolation final : public npu::ViolationSink {
 public:
  void report(const npu::Operation& op, std::string_view rule, std::string_view what) noexcept override {
    if (status.ok())
      status = Status(Code::invalid_data)
               << "operation " << op.index << ' ' << npu::name_of(op) << ": " << rule << ": " << what;
  }
  Status status;
};

Status judge_segment(const npu::Segment& segment) {
  FirstViolation sink;
  const auto sizes = segment.region_sizes();
  npu::ValidatorLimits limits;
  limits.regions = sizes;
  npu::Validator validator(*segment.accelerator, limits, sink);
  npu::Decoder decoder(segment.payload.commands, *segment.accelerator);
  for (npu::Operation op;;) {
    RUNNEL_ASSIGN(const bool more, decoder.next(op));
    if (!more) break;
    validator.check(op);
  }
  return sink.status;
}
// The programs that step streams, too.
Status judge_segments(const Model& model) {
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& op = model.op(i);
    if (code_of(op) != OpCode::delegate) continue;
    RUNNEL_ASSIGN(const npu::Segment segment, npu::read_segment(model, op));
    RUNNEL_TRY(judge_segment(segment));
    if (!npu::is_stepped(model, op)) continue;
    RUNNEL_ASSIGN(const npu::SteppedSegment stepped, npu::read_stepped_segment(model, op));
    RUNNEL_TRY(judge_segment(stepped.segment));
  }
  return {};
}

}  // namespace

compiler::ethos_u::Options npu_options(const std::string& accelerator, const char* mode) {
  compiler::ethos_u::Options options;
  options.program.accelerator = *npu::find_accelerator(std::string_view(accelerator));
  options.program.mode = *npu::find_memory_mode(mode);
  return options;
}

Status judge(const std::vector<std::byte>& bytes) {
  RUNNEL_ASSIGN(const auto owned, OwnedModel::from_bytes(bytes));
  return judge_segments(owned->model());
}

namespace {

// Each segment's accelerator and operations.
using Visit = std::function<Status(const npu::Segment& segment, std::span<const npu::Operation> operations)>;
Status each_segment(const compiler::ethos_u::CompiledGraph& compiled, const Visit& visit) {
  RUNNEL_ASSIGN(const auto owned, written(compiled.graph));
  for (int i = 0; i < owned->model().operator_count(); ++i) {
    if (code_of(owned->model().op(i)) != OpCode::delegate) continue;
    RUNNEL_ASSIGN(const npu::Segment segment, npu::read_segment(owned->model(), owned->model().op(i)));
    std::vector<npu::Operation> operations;
    npu::Decoder decoder(segment.payload.commands, *segment.accelerator);
    for (npu::Operation op;;) {
      RUNNEL_ASSIGN(const bool more, decoder.next(op));
      if (!more) break;
      operations.push_back(op);
    }
    RUNNEL_TRY(visit(segment, operations));
  }
  return {};
}

}  // namespace

Result<std::vector<npu::Operation>> operations_of(const compiler::ethos_u::CompiledGraph& compiled) {
  std::vector<npu::Operation> all;
  RUNNEL_TRY(each_segment(compiled, [&](const npu::Segment&, std::span<const npu::Operation> operations) {
    all.insert(all.end(), operations.begin(), operations.end());
    return Status();
  }));
  return all;
}

Result<double> cycles_of(const compiler::ethos_u::CompiledGraph& compiled,
                         const npu::ProgramOptions& options) {
  const npu::Program program(options);  // knows what is meant where nothing is said
  double cycles = 0;
  RUNNEL_TRY(each_segment(
      compiled, [&](const npu::Segment& segment, std::span<const npu::Operation> operations) -> Status {
        RUNNEL_ASSIGN(const npu::Estimate estimate,
                      npu::estimate_stream(operations, *segment.accelerator, *program.options().system,
                                           *program.options().mode));
        cycles += estimate.total;
        return {};
      }));
  return cycles;
}

Status compare_whole(const compiler::Graph& graph, const compiler::ethos_u::Options& options,
                     std::uint32_t seed, int rounds, compiler::ethos_u::CompiledGraph* compiled) {
  RUNNEL_ASSIGN(compiler::ethos_u::CompiledGraph made, compiler::ethos_u::compile(graph, options));
  RUNNEL_ASSIGN(const auto cpu, written(graph));
  RUNNEL_ASSIGN(const auto mixed, written(made.graph));
  RUNNEL_TRY(judge_segments(mixed->model()));
  if (compiled != nullptr) *compiled = std::move(made);
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    std::vector<Bytes> inputs;
    for (const std::int32_t tensor : cpu->model().inputs()) {
      Bytes bytes(cpu->model().tensor(tensor).bytes());
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      inputs.push_back(std::move(bytes));
    }
    RUNNEL_ASSIGN(const std::vector<Bytes> expected, run(cpu, all_operators(), inputs));
    npu::SimulatedNpu npu(mixed->model());
    RUNNEL_ASSIGN(const std::vector<Bytes> found, run(mixed, npu.table(), inputs));
    RUNNEL_TRY(npu.status());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (found[i].size() != expected[i].size())
        return Status(Code::mismatch)
               << "output " << i << " has " << found[i].size() << " bytes, expected " << expected[i].size();
      for (std::size_t at = 0; at < expected[i].size(); ++at) {
        if (found[i][at] == expected[i][at]) continue;
        return Status(Code::mismatch) << "round " << round << ", output " << i << ", byte " << at << ": "
                                      << std::to_integer<int>(found[i][at]) << ", expected "
                                      << std::to_integer<int>(expected[i][at]);
      }
    }
  }
  return {};
}

Status compare_streamed(const compiler::Graph& graph, const compiler::ethos_u::Options& options,
                        std::int64_t frames, std::uint32_t seed) {
  RUNNEL_ASSIGN(const compiler::ethos_u::CompiledGraph made, compiler::ethos_u::compile(graph, options));
  RUNNEL_ASSIGN(const auto cpu, written(graph));
  RUNNEL_ASSIGN(const auto mixed, written(made.graph));
  RUNNEL_TRY(judge_segments(mixed->model()));
  if (mixed->model().plan() == nullptr)
    return Status(Code::unsupported) << "the compiled model has no streaming plan";
  const Model& model = cpu->model();
  const std::int32_t first = model.inputs()[0];
  const int axis = model.plan()->tensors()->Get(static_cast<std::uint32_t>(first))->time_axis();
  std::mt19937 random(seed);
  std::vector<Bytes> inputs;
  for (const std::int32_t tensor : model.inputs()) {
    const TensorView view = model.tensor(tensor);
    Bytes bytes(view.bytes() / static_cast<std::size_t>(view.shape[axis]) * static_cast<std::size_t>(frames));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    inputs.push_back(std::move(bytes));
  }
  npu::SimulatedNpu npu(mixed->model());
  RUNNEL_ASSIGN(const std::vector<Bytes> expected, run(cpu, all_operators(), inputs, frames));
  RUNNEL_ASSIGN(const std::vector<Bytes> found, run(mixed, npu.table(), inputs, frames));
  if (found != expected) return Status(Code::mismatch) << "a whole clip differs from the CPU's";
  // That the whole clip is what a stream gives is what check_streaming is for.
  RUNNEL_ASSIGN(const StreamReport report,
                check_streaming(mixed, frames, inputs, seed, best_isa(), npu.table()));
  RUNNEL_TRY(npu.status());
  if (report.differences.empty()) return {};
  const Difference& difference = report.differences.front();
  return Status(Code::mismatch) << difference.run << ": tensor " << difference.tensor << ", frame "
                                << difference.frame << ", element " << difference.element << ": "
                                << difference.found << ", expected " << difference.expected;
}

}  // namespace runnel::test
