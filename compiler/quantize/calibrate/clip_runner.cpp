#include "compiler/quantize/calibrate/clip_runner.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "base/host/joined_thread.h"
#include "compiler/ir/numbering.h"
#include "compiler/quantize/round/quantization_grid.h"
#include "compiler/write/writer.h"

namespace runnel::compiler::quantizer {
namespace {

// An engine for the whole clip at once.
Result<std::shared_ptr<const Engine>> engine_of(const Graph& graph) {
  Numbering numbering(graph);
  RUNNEL_TRY(numbering.number());
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, graph_bytes(graph, numbering));
  RUNNEL_ASSIGN(auto model, OwnedModel::from_bytes(bytes));
  PrepareOptions options;
  options.mode = RunMode::whole;
  return Engine::make(std::move(model), options);
}

}  // namespace

Result<ClipRunner> ClipRunner::make(std::span<const Graph* const> graphs, int threads) {
  ClipRunner runner;
  runner.threads_ = std::clamp(threads, 1, static_cast<int>(kSlices));
  for (const Graph* graph : graphs) {
    Form form;
    RUNNEL_ASSIGN(form.engine, engine_of(*graph));
    for (const TensorId id : graph->inputs)
      form.inputs.push_back(without_data(graph->tensors[static_cast<std::size_t>(id)]));
    for (const TensorId id : graph->outputs)
      form.outputs.push_back(without_data(graph->tensors[static_cast<std::size_t>(id)]));
    if (!graph->nodes.empty()) form.rounding = graph->nodes[0].rounding;
    runner.forms_.push_back(std::move(form));
  }
  return runner;
}

Status ClipRunner::run_slice(const Clips& clips, std::span<const std::size_t> which, std::size_t slice,
                             const Visit& visit) const {
  std::vector<std::unique_ptr<Runner>> runners;
  std::vector<std::vector<std::vector<float>>> values(forms_.size());
  Outputs outputs(forms_.size());
  for (std::size_t f = 0; f < forms_.size(); ++f) {
    RUNNEL_ASSIGN(auto runner, Runner::make(forms_[f].engine));
    runners.push_back(std::move(runner));
    values[f].resize(forms_[f].outputs.size());
    outputs[f].resize(forms_[f].outputs.size());
  }
  Clip clip;
  for (std::size_t at = slice; at < which.size(); at += kSlices) {
    RUNNEL_TRY(clips.read(which[at], clip));
    for (std::size_t f = 0; f < forms_.size(); ++f) {
      const Form& form = forms_[f];
      Session& session = runners[f]->session();
      session.reset();
      for (std::size_t i = 0; i < form.inputs.size(); ++i) {
        const std::span<std::byte> to = session.input(static_cast<int>(i));
        const std::size_t expected = clip[i].size() * size_of(form.inputs[i].dtype);
        if (to.size() != expected)
          return Status(Code::mismatch)
                 << clips.name(which[at]) << ": " << expected << " bytes for an input of " << to.size();
        to_integers(form.inputs[i], form.rounding, clip[i], to);
      }
      session.run(runners[f]->prepared().block());
      for (std::size_t o = 0; o < form.outputs.size(); ++o) {
        const std::size_t bytes = runners[f]->prepared().placement(runners[f]->model().outputs()[o]).bytes;
        to_reals(form.outputs[o], {session.output(static_cast<int>(o)).data, bytes}, values[f][o]);
        outputs[f][o] = values[f][o];
      }
    }
    visit(which[at], slice, outputs);
  }
  return {};
}

Status ClipRunner::run(const Clips& clips, std::span<const std::size_t> which, const Visit& visit) const {
  std::vector<Status> failures(kSlices);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t slice = next++; slice < kSlices; slice = next++)
      failures[slice] = run_slice(clips, which, slice, visit);
  };
  {
    std::vector<JoinedThread> helpers;
    for (int i = 1; i < threads_ && which.size() > 1; ++i) helpers.emplace_back(work);
    work();
  }
  for (const Status& failure : failures) RUNNEL_TRY(Status(failure));
  return {};
}

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace runnel::compiler::quantizer
