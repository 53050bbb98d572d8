#include "pipeline/nodes/model/infer.h"

#include <algorithm>
#include <cstring>

#include "inference/model/loader.h"
#include "pipeline/nodes/model/passed_frames.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Infer::model>("model", "", "model file", true),
    parameter<&Infer::chunk>(
        "chunk", "frames", 0, 1 << 20,
        "frames per run of a streamed model; more is faster with more latency; 0: the smallest possible, or "
        "what has arrived"),
    text_parameter<&Infer::output>("output", "", "name of the output; empty: the only one that is not state"),
    switch_parameter<&Infer::dequantize>("dequantize", "float32 instead of the model's integers"),
};

bool is_state(const ModelUsage& usage, int tensor) noexcept {
  for (std::uint32_t k = 0; usage.pairs != nullptr && k < usage.pairs->size(); ++k) {
    if (usage.pairs->Get(k)->output() == tensor) return true;
  }
  return false;
}

}  // namespace

const NodeType Infer::type = {
    .name = "infer",
    .help =
        "Runs a model over the stream, as its file says: streamed, in steps, in windows, or once over a "
        "clip.",
    .input = {Kind::frames | Kind::audio, "float32, or the model's own integers"},
    .output = {static_cast<Kinds>(Kind::frames), "the model's type, or float32"},
    .parameters = kParameters,
    .make = make_node<PassingBy<Infer>>,
};

Status Infer::choose_output(const Model& loaded, const ModelUsage& usage) noexcept {
  const std::span<const std::int32_t> outputs = loaded.outputs();
  int candidates = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (output.empty() ? is_state(usage, outputs[i]) : loaded.tensor_name(outputs[i]) != output) continue;
    if (candidates++ == 0) position_ = static_cast<int>(i);
  }
  if (candidates == 1 || (candidates > 1 && !output.empty())) return {};
  Status status(output.empty() ? Code::invalid_argument : Code::not_found);
  if (output.empty())
    status << "the model " << model << " has " << candidates << " outputs, choose one with output=:";
  else
    status << "output=" << output << ": the model " << model << " has no such output; it has";
  for (const std::int32_t tensor : outputs) status << ' ' << name_of_tensor(loaded, tensor).view();
  return status;
}

Status Infer::give_labels(NodeContext& context, const Model& loaded) noexcept {
  const fb::Pipeline* pipeline = loaded.pipeline();
  context.output.labels = {};
  if (pipeline == nullptr || pipeline->labels() == nullptr || pipeline->labels()->size() == 0) return {};
  const flatbuffers::uoffset_t count = pipeline->labels()->size();
  auto* labels = context.memory.array<std::string_view>(count);
  if (labels == nullptr) return out_of_memory("the labels");
  for (flatbuffers::uoffset_t i = 0; i < count; ++i) labels[i] = pipeline->labels()->Get(i)->string_view();
  context.output.labels = {labels, count};
  return {};
}

Result<const Prepared*> Infer::make_prepared(NodeContext& context, const Model& loaded,
                                             const PrepareOptions& options) noexcept {
  Memory& fast = context.fast.memory != nullptr ? *context.fast.memory : context.memory;
  return Prepared::make(loaded, context.operators, options, context.memory, fast);
}

Result<Session> Infer::make_session(NodeContext& context) noexcept {
  return ModelStream::make_session(context, *prepared_);
}

Status Infer::make_bypass(const NodeContext& context, const Prepared&, const ModelStreamShape&, std::int64_t,
                          Bypass*&) noexcept {
  if (context.input.beside == 0) return {};
  return Status(Code::unsupported, "frames of which a part passes by the model");
}

Result<SteppedSession> Infer::make_stepped(NodeContext& context, const ModelUsage& usage) noexcept {
  return SteppedSession::make(*prepared_, usage, context.memory);
}

// The shape of the prepared model; the number of output frames is that of a stream, stepped models set their
// own.
ModelStreamShape Infer::shape_of(const Model& loaded, const NodeContext& context, int to) const noexcept {
  const Placement& out = prepared_->placement(to);
  ModelStreamShape shape;
  shape.position = position_;
  shape.in_bytes =
      static_cast<std::size_t>(context.input.channels - context.input.beside) * size_of(context.input.dtype);
  shape.out = FrameLayout::of(prepared_->shape(to), out.time_axis, loaded.tensor(to).dtype);
  shape.out_values = static_cast<std::int64_t>(out.frame_bytes / size_of(loaded.tensor(to).dtype));
  shape.out_bytes = static_cast<std::size_t>(shape.out_values) * size_of(context.output.dtype);
  shape.out_frames = out.frames;
  shape.up = out.up;
  shape.down = out.down;
  return shape;
}

PrepareOptions Infer::stream_options(const NodeContext& context, std::int64_t frames, std::int64_t least,
                                     std::int64_t most) noexcept {
  PrepareOptions options{.mode = RunMode::stream,
                         .frames = frames,
                         .least = least,
                         .most = most,
                         .isa = context.isa,
                         .slack = context.slack};
  if (context.fast.memory != nullptr) options.fast_bytes = context.fast.bytes;
  return options;
}

void Infer::start_like(NodeContext& context, const Session& session, ModelStream& to) noexcept {
  ModelStreamShape shape = shape_;
  shape.out_frames = session.prepared().placement(output_tensor()).frames;
  const std::int64_t most = context.max_output;  // that of the smaller blocks
  to.start(context, session, shape, input_.converter(), output_values_.converter(), stream_.bypass());
  context.max_output = most;
}

Status Infer::prepare_stream(NodeContext& context, const Model& loaded) noexcept {
  if (loaded.inputs().size() != 1) {
    return Status(Code::unsupported) << "the model " << model << " has " << loaded.inputs().size()
                                     << " inputs, expected 1";
  }
  const int from = loaded.inputs()[0], to = loaded.outputs()[static_cast<std::size_t>(position_)];
  const std::int64_t block = chunk != 0 || loaded.plan() == nullptr ? chunk : loaded.plan()->block_multiple();
  const std::int64_t larger = larger_block(context, block);
  RUNNEL_ASSIGN(prepared_, make_prepared(context, loaded,
                                         larger == 0 ? stream_options(context, chunk, 0, 0)
                                                     : stream_options(context, block, block, larger)));
  const Placement& in = prepared_->placement(from);
  const auto in_values = static_cast<std::int64_t>(in.frame_bytes / size_of(loaded.tensor(from).dtype));
  RUNNEL_TRY(input_.prepare(context, loaded, model, from, in_values));
  if (prepared_->placement(to).time_axis < 0) {
    return Status(Code::unsupported) << "output " << name_of_tensor(loaded, to).view() << " of " << model
                                     << " is not a stream";
  }
  // What passes by the model is float32, and so are the frames of both.
  RUNNEL_TRY(output_values_.prepare(context, loaded, model, to, dequantize || context.input.beside > 0));
  shape_ = shape_of(loaded, context, to);
  shape_.in = FrameLayout::of(prepared_->shape(from), in.time_axis, loaded.tensor(from).dtype);
  shape_.in_values = in_values;
  Bypass* bypass = nullptr;
  RUNNEL_TRY(make_bypass(context, *prepared_, shape_, std::max(prepared_->block(), larger), bypass));
  RUNNEL_ASSIGN(const Session session, make_session(context));
  stream_.start(context, session, shape_, input_.converter(), output_values_.converter(), bypass);
  return {};
}

Status Infer::prepare_stepped(NodeContext& context, const Model& loaded, const ModelUsage& usage) noexcept {
  if (chunk != 0) {
    return Status(Code::invalid_argument) << "chunk=" << chunk << ": the model " << model << " is of usage "
                                          << runnel::name_of(usage.kind) << ", only streams have chunks";
  }
  if (context.input.beside > 0) {
    return Status(Code::unsupported) << "the first " << context.input.beside << " values of the frames of "
                                     << context.input_label << " pass by the model, and " << model
                                     << " is of usage " << runnel::name_of(usage.kind)
                                     << ": expected a model that is streamed";
  }
  const int from = loaded.inputs()[static_cast<std::size_t>(usage.input)],
            to = loaded.outputs()[static_cast<std::size_t>(position_)];
  RUNNEL_TRY(input_.prepare(context, loaded, model, from, usage.frame_values));
  RUNNEL_TRY(output_values_.prepare(context, loaded, model, to, dequantize));
  const PrepareOptions options = prepare_options(loaded, usage, {.isa = context.isa, .slack = context.slack});
  RUNNEL_ASSIGN(prepared_, make_prepared(context, loaded, options));
  RUNNEL_ASSIGN(stepped_, make_stepped(context, usage));
  const int axis = output_time_axis(loaded, usage, to);
  const Shape shape = prepared_->shape(to);
  shape_ = shape_of(loaded, context, to);
  shape_.in_values = usage.frame_values;
  shape_.out = FrameLayout::of(shape, axis, loaded.tensor(to).dtype);
  shape_.out_frames = shape_.up = axis < 0 ? 1 : shape[axis];
  shape_.out_values = shape.elements() / shape_.out_frames;
  shape_.out_bytes = static_cast<std::size_t>(shape_.out_values) * size_of(context.output.dtype);
  shape_.down = usage.advance;
  if (axis < 0)
    context.output.clock =
        context.input.clock.windows(usage.advance, 0, usage.frames - usage.context - usage.look_ahead);
  else
    context.output.clock = context.input.clock.every(shape_.up, shape_.down);
  context.max_output = (context.max_input / usage.advance + 1) * shape_.out_frames;
  return {};
}

Status Infer::prepare(NodeContext& context) noexcept {
  if (context.models == nullptr) return Status(Code::unsupported, "this program cannot load models");
  RUNNEL_ASSIGN(const Model* loaded, context.models->load(model));
  auto usage = usage_of(*loaded, context.input.channels - context.input.beside);
  if (!usage.ok()) return usage.status().at(model);
  RUNNEL_TRY(choose_output(*loaded, *usage));
  RUNNEL_TRY(usage->stepped() ? prepare_stepped(context, *loaded, *usage) : prepare_stream(context, *loaded));
  context.output.kind = Kind::frames;
  context.output.channels = context.input.beside + static_cast<std::int32_t>(shape_.out_values);
  return give_labels(context, *loaded);
}

std::int64_t Infer::reset(std::int64_t first) noexcept {
  if (!stepped_) return stream_.reset(first);
  stepped_->reset();
  return grid_ = first_on_grid(shape_, first, skip_);
}

void Infer::step(Output& out) noexcept {
  stepped_->run();
  give(out);
}

void Infer::give(Output& out) noexcept {
  OutputFrames frames;
  frames.block =
      stepped_->session().tensor(prepared_->model().outputs()[static_cast<std::size_t>(position_)]).data();
  frames.count = shape_.out_frames;
  frames.first = grid_;
  grid_ += shape_.out_frames;
  copy_out(shape_, output_values_.converter(), frames, out);
}

Status Infer::process(const Block& in, Output& out) noexcept {
  if (!stepped_) {
    stream_.process(in, out);
    return {};
  }
  for (std::int64_t done = 0; done < in.count;) {
    done += take(in.data + static_cast<std::size_t>(done) * shape_.in_bytes, in.count - done);
    if (stepped_->due()) step(out);
  }
  return {};
}

std::int64_t Infer::take(const std::byte* frames, std::int64_t count) noexcept {
  const std::int64_t before = std::min(skip_, count);
  skip_ -= before;
  const std::int64_t skipped = before + stepped_->skip(count - before);
  if (stepped_->over()) ignored_ += skipped;
  const std::int64_t taken = std::min(stepped_->wanted(), count - skipped);
  input_.convert(frames + static_cast<std::size_t>(skipped) * shape_.in_bytes, taken * shape_.in_values,
                 stepped_->room());
  stepped_->written(taken);
  return skipped + taken;
}

Status Infer::flush(Output& out) noexcept {
  if (!stepped_) {
    stream_.flush(out);
    return {};
  }
  stepped_->finish();
  if (stepped_->due()) step(out);
  out.end = !stepped_->due();
  return {};
}

std::size_t Infer::saved_bytes() const noexcept {
  return stepped_ ? 3 * sizeof(std::int64_t) + stepped_->saved_bytes() : stream_.saved_bytes();
}

Status Infer::save(std::span<std::byte> to) noexcept {
  if (!stepped_) return stream_.save(to);
  if (to.size() < saved_bytes())
    return Status(Code::out_of_memory)
           << "saving a stream needs " << saved_bytes() << " bytes, given " << to.size();
  const std::int64_t counters[] = {grid_, skip_, ignored_};
  std::memcpy(to.data(), counters, sizeof(counters));
  return stepped_->save(to.subspan(sizeof(counters)));
}

Status Infer::restore(std::span<const std::byte> from) noexcept {
  if (!stepped_) return stream_.restore(from);
  if (from.size() != saved_bytes())
    return Status(Code::invalid_data)
           << "a saved stream of " << from.size() << " bytes, expected " << saved_bytes();
  std::int64_t counters[3];
  std::memcpy(counters, from.data(), sizeof(counters));
  if (counters[0] < 0 || counters[1] < 0 || counters[2] < 0)
    return Status(Code::invalid_data, "the saved stream has impossible counters");
  RUNNEL_TRY(stepped_->restore(from.subspan(sizeof(counters))));
  grid_ = counters[0];
  skip_ = counters[1];
  ignored_ = counters[2];
  return {};
}

Text Infer::note() const noexcept {
  Text text;
  if (ignored_ > 0) {
    text << model << ": the model takes one clip of " << stepped_->usage().frames << " frames, " << ignored_
         << " frames after it were not looked at; for many clips import it with --usage window";
  }
  return text;
}

}  // namespace runnel::pipeline
