#include "compiler/quantize/streamed_model.h"

#include "compiler/quantize/round/quantization_grid.h"
#include "compiler/write/writer.h"
#include "inference/reblocker.h"

namespace runnel::compiler::quantizer {

Result<std::unique_ptr<StreamedModel>> StreamedModel::make(const Graph& graph) {
  if (graph.inputs.size() != 1)
    return Status(Code::unsupported) << graph.inputs.size() << " inputs, expected 1";
  WriteOptions write;
  write.blocks.clear();
  RUNNEL_ASSIGN(const WrittenModel written, write_model(graph, write));
  if (!written.refusals.empty()) return Status(Code::unsupported, written.refusals[0]);
  RUNNEL_ASSIGN(auto model, OwnedModel::from_bytes(written.bytes));
  PrepareOptions options;
  options.mode = RunMode::stream;
  std::unique_ptr<StreamedModel> made(new StreamedModel);
  RUNNEL_ASSIGN(made->engine_, Engine::make(std::move(model), options));
  RUNNEL_ASSIGN(made->runner_, Runner::make(made->engine_));
  made->input_ = graph.tensors[static_cast<std::size_t>(graph.inputs[0])];
  made->output_ = graph.tensors[static_cast<std::size_t>(graph.outputs[0])];
  if (!graph.nodes.empty()) made->rounding_ = graph.nodes[0].rounding;
  return made;
}

Result<std::vector<float>> StreamedModel::run(const std::vector<float>& clip) {
  Session& session = runner_->session();
  const Prepared& prepared = engine_->prepared();
  const std::int32_t from = engine_->model().inputs()[0], to = engine_->model().outputs()[0];
  const Placement &in = prepared.placement(from), &out = prepared.placement(to);
  if (in.time_axis < 0 || out.time_axis < 0)
    return Status(Code::unsupported, "no time axis at its input or output");
  const std::int64_t frames = input_.shape[static_cast<std::size_t>(in.time_axis)];
  std::vector<std::byte> bytes(clip.size() * size_of(input_.dtype));
  to_integers(input_, rounding_, clip, bytes);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(engine_->model().tensor_count()));
  prepared.lengths(frames, lengths);
  const std::int64_t length = lengths[static_cast<std::size_t>(to)];
  const TensorView view = engine_->model().tensor(to);
  const FrameLayout layout = FrameLayout::of(view.shape, out.time_axis, view.dtype);
  std::vector<std::byte> collected(layout.outer * static_cast<std::size_t>(length) * layout.inner_bytes);
  const auto sink = [&] {
    const OutputFrames got = session.frames(to);
    if (got.count > 0)
      copy_frames(layout, got.block, out.frames, got.offset, collected.data(), length, got.first, got.count);
  };
  session.reset();
  Reblocker reblocker(session);
  const std::byte* const inputs[] = {bytes.data()};
  reblocker.push(inputs, frames, sink);
  reblocker.finish(sink);
  std::vector<float> values;
  to_reals(output_, collected, values);
  return values;
}

}  // namespace runnel::compiler::quantizer
