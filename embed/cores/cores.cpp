// The functions of runnel_cores.h, and the node that makes use of them.
#include <algorithm>
#include <span>

#include "embed/cores/cores_infer.h"
#include "embed/cores/runnel_cores.h"
#include "embed/node.h"

namespace runnel::embed {
namespace {

// Multiply-adds that a part has at least. Handing a part to another core and waiting for it takes about a
// hundred instructions, and a multiply-add takes one or more.
constexpr std::int64_t kLeastPart = 500;

}  // namespace

// Parts for which there is no core are computed by this one.
void CoreWorkers::run(int parts, void (*task)(const void* argument, int part) noexcept,
                      const void* argument) noexcept {
  const runnel_job job{task, argument};
  const int shared = std::min(parts, static_cast<int>(cores_.count));
  for (int i = 1; i < shared; ++i) cores_.run(cores_.context, &job, static_cast<std::uint32_t>(i));
  task(argument, 0);
  for (int i = shared; i < parts; ++i) task(argument, i);
  for (int i = 1; i < shared; ++i) cores_.wait(cores_.context, static_cast<std::uint32_t>(i));
}

void CoresInfer::use(const runnel_cores* given) noexcept {
  if (given != nullptr) workers_.set(*given);
  workspace_->use(given == nullptr || given->count < 2 ? nullptr : &workers_);
}

Result<const Prepared*> CoresInfer::make_prepared(pipeline::NodeContext& context, const Model& loaded,
                                                  const PrepareOptions& options) noexcept {
  PrepareOptions split = options;
  split.threads = cores;
  split.least_part = kLeastPart;
  return Infer::make_prepared(context, loaded, split);
}

// As ModelStream::make_session(), and keeps the workspace.
Result<Session> CoresInfer::make_session(pipeline::NodeContext& context) noexcept {
  Memory& fast = context.fast.memory != nullptr ? *context.fast.memory : context.memory;
  RUNNEL_ASSIGN(workspace_, Workspace::make(prepared(), fast, context.memory));
  Memory& of_state = prepared().state_tier() == Tier::fast ? fast : context.memory;
  const std::size_t bytes = prepared().state_bytes();
  auto* const state = static_cast<std::byte*>(of_state.allocate(bytes, prepared().alignment()));
  if (state == nullptr) return pipeline::out_of_memory("the state of the session");
  return Session::make(prepared(), *workspace_, {state, bytes});
}

Result<SteppedSession> CoresInfer::make_stepped(pipeline::NodeContext& context,
                                                const ModelUsage& usage) noexcept {
  RUNNEL_ASSIGN(const Session session, make_session(context));
  return SteppedSession::make(session, usage, context.memory);
}

}  // namespace runnel::embed

using namespace runnel::embed;

void runnel_do(const runnel_job* job, uint32_t index) { job->task(job->argument, static_cast<int>(index)); }

runnel_code runnel_use_cores(runnel_node* node, const runnel_cores* cores) {
  if (node == nullptr ||
      (cores != nullptr && cores->count > 1 && (cores->run == nullptr || cores->wait == nullptr)))
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the node or the functions of its cores");
  const InferLink* const link = node->program->infer;
  if (link == nullptr || link->use == nullptr)
    return fail(RUNNEL_NOT_FOUND, "the program is for one core: run runnel embed with --cores");
  if (cores != nullptr && (cores->count < 1 || cores->count > static_cast<std::uint32_t>(link->cores))) {
    const runnel::Status status = runnel::Status(runnel::Code::invalid_argument)
                                  << cores->count << " cores, the program is for 1 to " << link->cores;
    return fail(status);
  }
  link->use(*node->executor->schedule().stage(1 + node->program->output_stage).node, cores);
  return RUNNEL_OK;
}
