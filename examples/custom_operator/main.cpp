// Application with a custom operator: imports a model that has it, runs it over a whole recording and as a
// stream, and proves that both agree.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "compiler/import/espdl/importer.h"
#include "compiler/write/writer.h"
#include "examples/custom_operator/espdl_file.h"
#include "examples/custom_operator/exponential_average.h"
#include "inference/host/check.h"
#include "inference/host/engine.h"

namespace {

constexpr std::int64_t kFrames = 24, kBlock = 7;
constexpr std::size_t kChannels = 2;
using Frames = std::vector<std::int8_t>;

// A step up on one channel, a step down and up again on the other; the ReLU before it keeps positive values.
Frames recording() {
  Frames frames;
  for (std::int64_t t = 0; t < kFrames; ++t) {
    frames.push_back(t < 4 ? 0 : 100);
    frames.push_back(t < 8 ? 40 : t < 16 ? -40 : 80);
  }
  return frames;
}

runnel::Result<Frames> run(const std::shared_ptr<const runnel::OwnedModel>& model,
                           runnel::OperatorTable operators, runnel::RunMode mode, const Frames& input) {
  runnel::PrepareOptions options;
  options.mode = mode;
  options.frames = mode == runnel::RunMode::stream ? kBlock : kFrames;
  RUNNEL_ASSIGN(const auto engine, runnel::Engine::make(model, options, operators));
  RUNNEL_ASSIGN(const auto runner, runnel::Runner::make(engine));
  runnel::Session& session = runner->session();
  Frames output;
  const auto step = [&](std::int64_t first, std::int64_t valid) {
    if (valid > 0)
      std::memcpy(session.input(0).data(), input.data() + static_cast<std::size_t>(first) * kChannels,
                  static_cast<std::size_t>(valid) * kChannels);
    session.run(valid);
    const runnel::OutputFrames out = session.output(0);
    const auto* data = reinterpret_cast<const std::int8_t*>(out.data);
    if (out.count > 0)
      output.insert(output.end(), data, data + static_cast<std::size_t>(out.count) * kChannels);
  };
  for (std::int64_t first = 0; first < kFrames; first += options.frames)
    step(first, std::min(options.frames, kFrames - first));
  while (session.flush_calls_left() > 0) step(kFrames, 0);
  return output;
}

void print(const char* name, const Frames& frames) {
  for (std::size_t channel = 0; channel < kChannels; ++channel) {
    std::printf("%-9s%zu:", name, channel);
    for (std::size_t at = channel; at < frames.size(); at += kChannels) std::printf(" %3d", frames[at]);
    std::printf("\n");
  }
}

runnel::Status demonstrate() {
  // For run time: the operators of runnel and ours.
  const runnel::OperatorTable all = runnel::all_operators();
  std::vector<const runnel::OperatorDefinition*> operators(all.begin(), all.end());
  operators.push_back(&example::exponential_average_v1);

  // For the import: the type in the file. Its output has the shape of its input, the default.
  runnel::compiler::EspdlOptions import;
  import.target = runnel::compiler::EspdlTarget::esp32s3;
  import.custom_operators = {{.op_type = "ExponentialAverage" }};
  import.operators = operators;
  RUNNEL_ASSIGN(const auto imported, runnel::compiler::import_espdl(example::espdl_file(), import));
  runnel::compiler::WriteOptions write;
  write.operators = operators;
  RUNNEL_ASSIGN(const auto written, runnel::compiler::write_model(imported.graph, write));
  RUNNEL_ASSIGN(const auto model, runnel::OwnedModel::from_bytes(written.bytes));

  const Frames input = recording();
  RUNNEL_ASSIGN(const Frames whole, run(model, operators, runnel::RunMode::whole, input));
  RUNNEL_ASSIGN(const Frames streamed, run(model, operators, runnel::RunMode::stream, input));
  print("input", input);
  print("whole", whole);
  print("streamed", streamed);
  if (whole != streamed)
    return runnel::Status(runnel::Code::mismatch) << "the stream differs from the whole run";

  // The proof of `runnel check`: many block sizes, resets, interleaved sessions, saving and restoring.
  RUNNEL_ASSIGN(const auto proof, runnel::check_streaming(model, 200, {}, 1, runnel::best_isa(), operators));
  if (!proof.differences.empty())
    return runnel::Status(runnel::Code::mismatch)
           << "differs from the whole run: " << proof.differences[0].run;
  std::printf("streamed equals whole, also in %zu block sizes over %lld frames of random input\n",
              proof.blocks.size(), static_cast<long long>(proof.frames));
  return {};
}

}  // namespace

int main() {
  const runnel::Status status = demonstrate();
  if (status.ok()) return 0;
  std::fprintf(stderr, "custom_operator: %s\n", std::string(status.text()).c_str());
  return 1;
}
