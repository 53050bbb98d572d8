#include "library/runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "npu/host/simulator/simulated_npu.h"

using runnel::Code;
using runnel::Status;

void runnel_runner::describe(int tensor, std::span<const std::byte> data, runnel_tensor& to) {
  const runnel::TensorView view = model_->tensor(tensor);
  const runnel::Shape shape = prepared_->shape(tensor);
  std::string name(model_->tensor_name(tensor));
  if (name.empty()) name = "#" + std::to_string(tensor);
  names_.push_back(std::make_unique<std::string>(std::move(name)));
  to = {};
  to.name = names_.back()->c_str();
  to.type = static_cast<runnel_type>(view.dtype);
  to.rank = static_cast<std::int32_t>(shape.rank);
  for (int i = 0; i < static_cast<int>(shape.rank); ++i) to.dims[i] = static_cast<std::int32_t>(shape[i]);
  to.bytes = data.size();
  to.data = const_cast<std::byte*>(data.data());
  to.scale = 1;
  if (view.scales.size() == 1) {
    to.scale = view.scales[0];
    to.zero_point = view.zero_point();
  } else if (view.exponents.size() == 1) {
    to.scale = std::ldexp(1.0F, view.exponent());
  }
}

runnel::Result<std::unique_ptr<runnel_runner>> runnel_runner::make(
    const std::shared_ptr<const runnel::library::Program>& program, std::int64_t frames) {
  const std::vector<const runnel::Model*> models = program->models().loaded();
  if (models.size() != 1) {
    return Status(Code::invalid_argument)
           << "a program of " << models.size() << " models, expected one to run over tensors";
  }
  auto runner = std::make_unique<runnel_runner>();
  runner->program_ = program;
  runner->model_ = models[0];
  const runnel::Model& model = *models[0];
  runnel::PrepareOptions options;
  options.mode = runnel::RunMode::whole;
  if (frames < 0 || (frames > 0 && model.plan() == nullptr)) {
    return Status(Code::invalid_argument)
           << frames << " frames, expected 0: the model " << model.name() << " takes tensors of one size";
  }
  options.frames = frames;
  RUNNEL_ASSIGN(runner->prepared_,
                program->models().prepare(model, runnel::npu::simulating_operators(), options));
  const runnel::Prepared& prepared = *runner->prepared_;
  RUNNEL_ASSIGN(runnel::Workspace* const workspace, runnel::Workspace::make(prepared, runner->memory_));
  auto* const state =
      static_cast<std::byte*>(runner->memory_.allocate(std::max<std::size_t>(prepared.state_bytes(), 1), 64));
  if (state == nullptr) return Status(Code::out_of_memory, "no memory for the state of a run");
  RUNNEL_ASSIGN(const runnel::Session session,
                runnel::Session::make(prepared, *workspace, {state, prepared.state_bytes()}));
  runner->session_ = session;
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    runner->given_.emplace_back(runner->session_->input(static_cast<int>(i)).size());
    runner->describe(model.inputs()[i], runner->given_.back(), runner->inputs.emplace_back());
  }
  for (const std::int32_t output : model.outputs()) {
    runner->results_.emplace_back(runner->session_->tensor(output).size());
    runner->describe(output, runner->results_.back(), runner->outputs.emplace_back());
  }
  return runner;
}

void runnel_runner::run() noexcept {
  session_->reset();
  for (std::size_t i = 0; i < given_.size(); ++i) {
    const std::span<std::byte> to = session_->input(static_cast<int>(i));
    std::copy_n(given_[i].begin(), std::min(given_[i].size(), to.size()), to.begin());
  }
  session_->run(prepared_->block());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const auto from = session_->tensor(model_->outputs()[i]);
    std::copy_n(from.begin(), std::min(results_[i].size(), from.size()), results_[i].begin());
  }
}
