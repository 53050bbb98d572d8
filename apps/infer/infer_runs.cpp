// The run modes of `runnel infer`.
#include <algorithm>
#include <cstring>

#include "apps/infer/infer_call.h"
#include "inference/frames.h"
#include "inference/host/engine.h"
#include "inference/reblocker.h"
#include "inference/stepped_session.h"

namespace runnel::apps {
namespace {

std::vector<std::int64_t> dims_of(const Shape& shape) {
  return {shape.dims.begin(), shape.dims.begin() + shape.rank};
}

}  // namespace

Status run_whole(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                 const InputMap& inputs, std::int64_t frames, const std::vector<int>& wanted) {
  const Model& model = owned->model();
  if (model.plan() != nullptr && frames == 0)
    return Status(Code::invalid_argument) << "an input of 0 frames, expected at least 1 for a whole run";
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.frames = model.plan() != nullptr ? frames : 0;
  options.share = call.dump.empty();
  options.threads = call.threads;
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned, options, call.operators));
  RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
  Session& session = runner->session();
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const Values& values = inputs.at(model.inputs()[i]);
    std::memcpy(session.input(static_cast<int>(i)).data(), values.bytes.data(), values.bytes.size());
  }
  session.run(engine->prepared().block());
  for (const int tensor : wanted) {
    const auto bytes = session.tensor(tensor);
    RUNNEL_TRY(write_values(call, model, tensor,
                            {dims_of(engine->prepared().shape(tensor)), {bytes.begin(), bytes.end()}}));
  }
  return {};
}

Status run_streamed(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                    const InputMap& inputs, std::int64_t frames, const std::vector<int>& wanted) {
  const Model& model = owned->model();
  PrepareOptions options;
  options.mode = RunMode::stream;
  options.frames = call.chunk;
  options.share = call.dump.empty();
  options.threads = call.threads;
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned, options, call.operators));
  const Prepared& prepared = engine->prepared();
  RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
  Session& session = runner->session();
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(model.tensor_count()));
  prepared.lengths(frames, lengths);
  const auto length_of = [&](int tensor) {
    return prepared.placement(tensor).time_axis < 0 ? 1 : lengths[static_cast<std::size_t>(tensor)];
  };
  std::vector<Values> collected;
  std::vector<std::int64_t> got(wanted.size());
  for (const int tensor : wanted) {
    Values values;
    Shape shape = prepared.shape(tensor);
    if (prepared.placement(tensor).time_axis >= 0)
      shape[prepared.placement(tensor).time_axis] = static_cast<std::int32_t>(length_of(tensor));
    values.shape = dims_of(shape);
    values.bytes.resize(static_cast<std::size_t>(shape.elements()) * size_of(model.tensor(tensor).dtype));
    collected.push_back(std::move(values));
  }
  const auto sink = [&] {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Placement& at = prepared.placement(wanted[i]);
      const OutputFrames out = session.frames(wanted[i]);
      const TensorView view = model.tensor(wanted[i]);
      if (at.time_axis < 0) {  // a value without time axis: keep the last one
        std::memcpy(collected[i].bytes.data(), out.block, collected[i].bytes.size());
        got[i] = 1;
        continue;
      }
      if (out.count == 0) continue;
      copy_frames(FrameLayout::of(view.shape, at.time_axis, view.dtype), out.block, at.frames, out.offset,
                  collected[i].bytes.data(), length_of(wanted[i]), out.first, out.count);
      got[i] += out.count;
    }
  };
  std::vector<const std::byte*> pointers;
  for (const std::int32_t input : model.inputs()) pointers.push_back(inputs.at(input).bytes.data());
  Reblocker reblocker(session);
  reblocker.push(pointers, frames, sink);
  reblocker.finish(sink);
  // The last frames of a tensor that no output needs may come later.
  const auto complete = [&] {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (got[i] < length_of(wanted[i])) return false;
    }
    return true;
  };
  constexpr int kMoreCalls = 1 << 16;
  for (int i = 0; i < kMoreCalls && !call.dump.empty() && !complete(); ++i) {
    session.run(0);
    sink();
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (got[i] != length_of(wanted[i])) {
      return Status(Code::mismatch) << "tensor " << tensor_label(model, wanted[i]) << ": " << got[i]
                                    << " frames came out, expected " << length_of(wanted[i]);
    }
    RUNNEL_TRY(write_values(call, model, wanted[i], std::move(collected[i])));
  }
  return {};
}

Status run_stepped(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                   const ModelUsage& usage, const Values& input, const std::vector<int>& wanted) {
  const Model& model = owned->model();
  PrepareOptions options;
  options.share = call.dump.empty();
  options.threads = call.threads;
  RUNNEL_ASSIGN(const auto engine,
                Engine::make(owned, prepare_options(model, usage, options), call.operators));
  HeapMemory memory;
  RUNNEL_ASSIGN(SteppedSession stepped, SteppedSession::make(engine->prepared(), usage, memory));
  std::vector<std::vector<std::byte>> runs(wanted.size());
  std::int64_t count = 0;
  const auto run = [&] {
    stepped.run();
    ++count;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto bytes = stepped.session().tensor(wanted[i]);
      runs[i].insert(runs[i].end(), bytes.begin(), bytes.end());
    }
  };
  const FrameLayout& layout = usage.layout;
  const std::int64_t frames = input.shape[static_cast<std::size_t>(usage.time_axis)];
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    if (stepped.skip(1) > 0) continue;
    for (std::size_t row = 0; row < layout.outer; ++row) {
      std::memcpy(
          stepped.room() + row * layout.inner_bytes,
          input.bytes.data() +
              (row * static_cast<std::size_t>(frames) + static_cast<std::size_t>(frame)) * layout.inner_bytes,
          layout.inner_bytes);
    }
    stepped.written(1);
    if (stepped.due()) run();
  }
  stepped.finish();
  while (stepped.due()) run();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const TensorView view = model.tensor(wanted[i]);
    Shape shape = engine->prepared().shape(wanted[i]);
    const int axis = output_time_axis(model, usage, wanted[i]);
    Values values;
    if (axis < 0) {
      values = {dims_of(shape), std::move(runs[i])};
      values.shape.insert(values.shape.begin(), count);
    } else {
      const FrameLayout out = FrameLayout::of(shape, axis, view.dtype);
      values.bytes.resize(runs[i].size());
      const std::int64_t each = shape[axis];
      for (std::int64_t r = 0; r < count; ++r) {
        copy_frames(
            out,
            runs[i].data() + static_cast<std::size_t>(r) * (runs[i].size() / static_cast<std::size_t>(count)),
            each, 0, values.bytes.data(), count * each, r * each, each);
      }
      shape[axis] = static_cast<std::int32_t>(count * each);
      values.shape = dims_of(shape);
    }
    RUNNEL_TRY(write_values(call, model, wanted[i], std::move(values)));
  }
  return {};
}

Status run_sequence(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                    const InputMap& inputs, std::int64_t steps, const std::map<int, int>& states,
                    const std::vector<int>& wanted) {
  const Model& model = owned->model();
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.share = call.dump.empty();
  options.threads = call.threads;
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned, options, call.operators));
  RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
  Session& session = runner->session();
  std::map<int, std::vector<std::byte>> carried;
  for (const auto& [out, in] : states) {
    const auto given = inputs.find(in);
    if (given != inputs.end()) {
      carried[in].assign(given->second.bytes.begin(),
                         given->second.bytes.begin() + static_cast<std::ptrdiff_t>(model.tensor(in).bytes()));
    } else {
      carried[in].assign(model.tensor(in).bytes(), std::byte{0});
    }
  }
  std::vector<Values> outputs(wanted.size());
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < model.inputs().size(); ++i) {
      const std::int32_t tensor = model.inputs()[i];
      const auto state = carried.find(tensor);
      const std::size_t bytes = model.tensor(tensor).bytes();
      const std::byte* from = state != carried.end()
                                  ? state->second.data()
                                  : inputs.at(tensor).bytes.data() + static_cast<std::size_t>(step) * bytes;
      std::memcpy(session.input(static_cast<int>(i)).data(), from, bytes);
    }
    session.run(engine->prepared().block());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto bytes = session.tensor(wanted[i]);
      outputs[i].bytes.insert(outputs[i].bytes.end(), bytes.begin(), bytes.end());
    }
    for (const auto& [out, in] : states) {
      const auto bytes = session.tensor(out);
      carried[in].assign(bytes.begin(), bytes.end());
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].shape = dims_of(model.tensor(wanted[i]).shape);
    outputs[i].shape.insert(outputs[i].shape.begin(), steps);
    RUNNEL_TRY(write_values(call, model, wanted[i], std::move(outputs[i])));
  }
  return {};
}

}  // namespace runnel::apps
