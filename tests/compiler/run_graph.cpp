#include "tests/compiler/run_graph.h"

#include <algorithm>
#include <cstring>

#include "inference/frames.h"
#include "inference/host/thread_pool.h"
#include "inference/operator.h"
#include "inference/session.h"

namespace runnel::test {

struct RunnableGraph::Running {
  HeapMemory memory;
  std::unique_ptr<ThreadPool> threads;
  const Prepared* prepared = nullptr;
  std::unique_ptr<Session> session;

  Status start(const Model& model, const PrepareOptions& options) {
    RUNNEL_ASSIGN(prepared, Prepared::make(model, all_operators(), options, memory));
    RUNNEL_ASSIGN(Workspace* const workspace, Workspace::make(*prepared, memory));
    if (options.threads > 1) {
      RUNNEL_ASSIGN(threads, ThreadPool::make(options.threads));
      workspace->use(threads.get());
    }
    const std::size_t bytes = std::max<std::size_t>(prepared->state_bytes(), 1);
    auto* state = static_cast<std::byte*>(memory.allocate(bytes, 64));
    std::memset(state, 0x5A, bytes);
    RUNNEL_ASSIGN(Session made, Session::make(*prepared, *workspace, {state, bytes}));
    session = std::make_unique<Session>(std::move(made));
    return {};
  }
};

Result<std::unique_ptr<RunnableGraph>> RunnableGraph::make(const compiler::Graph& graph) {
  auto made = std::make_unique<RunnableGraph>();
  RUNNEL_ASSIGN(made->written_, compiler::write_model(graph));
  RUNNEL_ASSIGN(Model model, Model::open(made->written_.bytes));
  made->model_ = std::make_unique<Model>(std::move(model));
  return made;
}

Result<std::vector<Bytes>> RunnableGraph::whole(const std::vector<Bytes>& inputs, std::int64_t frames,
                                                int threads) const {
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.threads = threads;
  options.frames = frames;
  Running running;
  RUNNEL_TRY(running.start(*model_, options));
  return call(running, inputs);
}

Result<std::vector<std::vector<Bytes>>> RunnableGraph::stepped(
    const std::vector<std::vector<Bytes>>& steps) const {
  PrepareOptions options;
  options.mode = RunMode::whole;
  Running running;
  RUNNEL_TRY(running.start(*model_, options));
  std::vector<std::vector<Bytes>> outputs;
  for (const auto& inputs : steps) {
    RUNNEL_ASSIGN(std::vector<Bytes> one, call(running, inputs));
    outputs.push_back(std::move(one));
  }
  return outputs;
}

Result<std::vector<Bytes>> RunnableGraph::call(Running& running, const std::vector<Bytes>& inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::span<std::byte> to = running.session->input(static_cast<int>(i));
    if (to.size() != inputs[i].size())
      return Status(Code::mismatch) << "input " << i << " takes " << to.size() << " bytes, the test has "
                                    << inputs[i].size();
    std::memcpy(to.data(), inputs[i].data(), to.size());
  }
  running.session->run(running.prepared->block());
  std::vector<Bytes> outputs;
  for (std::size_t i = 0; i < model_->outputs().size(); ++i) {
    const std::byte* data = running.session->output(static_cast<int>(i)).data;
    outputs.emplace_back(data, data + running.prepared->placement(model_->outputs()[i]).bytes);
  }
  return outputs;
}

Result<std::vector<Bytes>> RunnableGraph::streamed(const std::vector<Bytes>& inputs,
                                                   std::int64_t block) const {
  PrepareOptions options;
  options.frames = block;
  Running running;
  RUNNEL_TRY(running.start(*model_, options));
  Session& session = *running.session;
  const auto frame_bytes = [&](std::int32_t tensor) {
    return running.prepared->placement(tensor).frame_bytes;
  };
  std::int64_t frames = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int32_t tensor = model_->inputs()[i];
    if (running.prepared->placement(tensor).time_axis >= 0)
      frames = static_cast<std::int64_t>(inputs[i].size() / frame_bytes(tensor));
  }
  // Rows before the time axis grow apart and are joined at the end; what has no time axis is taken as it
  // is last.
  std::vector<std::vector<Bytes>> rows(model_->outputs().size());
  std::vector<std::int64_t> next(rows.size(), 0);
  Status order;
  const auto take = [&](std::size_t i) {
    const std::int32_t tensor = model_->outputs()[i];
    const Placement& place = running.prepared->placement(tensor);
    const OutputFrames brought = session.output(static_cast<int>(i));
    if (brought.count == 0) return;
    const TensorView view = model_->tensor(tensor);
    const FrameLayout layout = FrameLayout::of(view.shape, place.time_axis, view.dtype);
    rows[i].resize(layout.outer);
    if (place.time_axis < 0) {
      rows[i][0].assign(brought.block, brought.block + place.bytes);
      return;
    }
    if (brought.first != next[i])
      order = Status(Code::mismatch) << "output " << i << " brought frame " << brought.first << ", expected "
                                     << next[i];
    next[i] += brought.count;
    for (std::size_t row = 0; row < layout.outer; ++row) {
      const std::byte* first = brought.block + (row * static_cast<std::size_t>(place.frames) +
                                                static_cast<std::size_t>(brought.offset)) *
                                                   layout.inner_bytes;
      rows[i][row].insert(rows[i][row].end(), first,
                          first + static_cast<std::size_t>(brought.count) * layout.inner_bytes);
    }
  };
  const auto run = [&](std::int64_t at, std::int64_t valid) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::int32_t tensor = model_->inputs()[i];
      const std::span<std::byte> to = session.input(static_cast<int>(i));
      if (running.prepared->placement(tensor).time_axis < 0) {
        std::memcpy(to.data(), inputs[i].data(), std::min(to.size(), inputs[i].size()));
        continue;
      }
      std::memset(to.data(), 0x77, to.size());  // what is behind the end must not matter
      std::memcpy(to.data(), inputs[i].data() + static_cast<std::size_t>(at) * frame_bytes(tensor),
                  static_cast<std::size_t>(valid) * frame_bytes(tensor));
    }
    session.run(valid);
    for (std::size_t i = 0; i < rows.size(); ++i) take(i);
  };
  for (std::int64_t at = 0; at < frames; at += block) run(at, std::min(block, frames - at));
  if (frames % block == 0) run(0, 0);  // says that the recording ended
  while (session.flush_calls_left() > 0) run(0, 0);
  RUNNEL_TRY(order);
  std::vector<Bytes> outputs(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Bytes& row : rows[i]) outputs[i].insert(outputs[i].end(), row.begin(), row.end());
  }
  return outputs;
}

}  // namespace runnel::test
