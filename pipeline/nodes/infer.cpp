#include "pipeline/nodes/infer.h"

#include <algorithm>

#include "base/checked.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Infer::model>("model", "", "model file", true),
    parameter<&Infer::chunk>("chunk", "frames", 0, 1 << 20, "frames per run of a streamed model; more is faster and later; 0: the smallest possible"),
    text_parameter<&Infer::output>("output", "", "name of the output; empty: the only one that is no state"),
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
    .help = "Runs a model over the stream, as its file says: streamed, in steps, in windows, or once over a clip.",
    .input = {Kind::frames | Kind::audio, "float32, or the model's own integers"},
    .output = {static_cast<Kinds>(Kind::frames), "the model's type, or float32"},
    .parameters = kParameters,
    .make = make_node<Infer>,
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
  if (output.empty()) status << "the model " << model << " has " << candidates << " outputs, choose one with output=:";
  else status << "output=" << output << ": the model " << model << " has no such output; it has";
  for (const std::int32_t tensor : outputs) status << ' ' << name_of_tensor(loaded, tensor).view();
  return status;
}

Status Infer::give_labels(PrepareContext& context, const Model& loaded) noexcept {
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

Result<const Prepared*> Infer::make_prepared(PrepareContext& context, const Model& loaded, const PrepareOptions& options) noexcept {
  Memory& fast = context.fast.memory != nullptr ? *context.fast.memory : context.memory;
  return Prepared::make(loaded, context.operators, options, context.memory, fast);
}

Result<Session> Infer::make_session(PrepareContext& context) noexcept {
  Memory& fast = context.fast.memory != nullptr ? *context.fast.memory : context.memory;
  RUNNEL_ASSIGN(Workspace* workspace, Workspace::make(*prepared_, fast, context.memory));
  Memory& of_state = prepared_->state_tier() == Tier::fast ? fast : context.memory;
  auto* state = static_cast<std::byte*>(of_state.allocate(prepared_->state_bytes(), prepared_->alignment()));
  if (state == nullptr) return out_of_memory("the state of the session");
  return Session::make(*prepared_, *workspace, {state, prepared_->state_bytes()});
}

Status Infer::prepare_stream(PrepareContext& context, const Model& loaded) noexcept {
  if (loaded.inputs().size() != 1) {
    return Status(Code::unsupported) << "the model " << model << " has " << loaded.inputs().size() << " inputs, expected 1";
  }
  const int from = loaded.inputs()[0], to = loaded.outputs()[static_cast<std::size_t>(position_)];
  PrepareOptions options{.mode = RunMode::stream, .frames = chunk, .isa = context.isa, .slack = context.slack};
  if (context.fast.memory != nullptr) options.fast_bytes = context.fast.bytes;
  RUNNEL_ASSIGN(prepared_, make_prepared(context, loaded, options));
  const Placement &in = prepared_->placement(from), &out = prepared_->placement(to);
  in_values_ = static_cast<std::int64_t>(in.frame_bytes / size_of(loaded.tensor(from).dtype));
  in_layout_ = FrameLayout::of(prepared_->shape(from), in.time_axis, loaded.tensor(from).dtype);
  RUNNEL_TRY(input_.prepare(context, loaded, model, from, in_values_));
  if (out.time_axis < 0) {
    return Status(Code::unsupported) << "output " << name_of_tensor(loaded, to).view() << " of " << model << " is not a stream";
  }
  RUNNEL_TRY(output_values_.prepare(context, loaded, model, to, dequantize));
  out_values_ = static_cast<std::int64_t>(out.frame_bytes / size_of(loaded.tensor(to).dtype));
  out_layout_ = FrameLayout::of(prepared_->shape(to), out.time_axis, loaded.tensor(to).dtype);
  out_frames_ = out.frames;
  up_ = out.up;
  down_ = out.down;
  // A frame keeps the extent of the input frame at its place: how far a model looks back is no property of the event.
  context.output.clock = context.input.clock.every(up_, down_);
  const std::int64_t block = prepared_->block();
  context.max_output = ceil_div(context.max_input + block - 1, block) * out.frames;
  RUNNEL_ASSIGN(session_, make_session(context));
  return {};
}

Status Infer::prepare_stepped(PrepareContext& context, const Model& loaded, const ModelUsage& usage) noexcept {
  if (chunk != 0) {
    return Status(Code::invalid_argument) << "chunk=" << chunk << ": the model " << model << " is of usage " << runnel::name_of(usage.kind)
                                          << ", only streams have chunks";
  }
  const int from = loaded.inputs()[static_cast<std::size_t>(usage.input)], to = loaded.outputs()[static_cast<std::size_t>(position_)];
  in_values_ = usage.frame_values;
  RUNNEL_TRY(input_.prepare(context, loaded, model, from, in_values_));
  RUNNEL_TRY(output_values_.prepare(context, loaded, model, to, dequantize));
  const PrepareOptions options = prepare_options(loaded, usage, {.isa = context.isa, .slack = context.slack});
  RUNNEL_ASSIGN(prepared_, make_prepared(context, loaded, options));
  RUNNEL_ASSIGN(stepped_, SteppedSession::make(*prepared_, usage, context.memory));
  const int axis = output_time_axis(loaded, usage, to);
  const Shape shape = prepared_->shape(to);
  out_layout_ = FrameLayout::of(shape, axis, loaded.tensor(to).dtype);
  out_frames_ = axis < 0 ? 1 : usage.advance;
  out_values_ = shape.elements() / out_frames_;
  down_ = usage.advance;
  up_ = out_frames_;
  if (axis < 0) context.output.clock = context.input.clock.windows(usage.advance, 0, usage.frames - usage.context);
  context.max_output = (context.max_input / usage.advance + 1) * out_frames_;
  return {};
}

Status Infer::prepare(PrepareContext& context) noexcept {
  if (context.models == nullptr) return Status(Code::unsupported, "this program cannot load models");
  RUNNEL_ASSIGN(const Model* loaded, context.models->load(model));
  auto usage = usage_of(*loaded, context.input.channels);
  if (!usage.ok()) return usage.status().at(model);
  RUNNEL_TRY(choose_output(*loaded, *usage));
  in_bytes_ = context.input.frame_bytes();
  RUNNEL_TRY(usage->stepped() ? prepare_stepped(context, *loaded, *usage) : prepare_stream(context, *loaded));
  context.output.kind = Kind::frames;
  context.output.channels = static_cast<std::int32_t>(out_values_);
  out_bytes_ = context.output.frame_bytes();
  return give_labels(context, *loaded);
}

std::int64_t Infer::reset(std::int64_t first) noexcept {
  if (stepped_) stepped_->reset();
  else session_.reset();
  pending_ = 0;
  heard_ = ended_ = false;
  // The first input frame that stands at a whole output frame.
  const std::int64_t start = ceil_div(first, down_);
  skip_ = start * down_ - first;
  grid_ = start * up_;
  return grid_;
}

// A frame of the pipeline is dense; in the model, dimensions
// may stand in front of time (channels first), and a frame is then spread over that many rows.
void Infer::store(const std::byte* frames, std::int64_t count) noexcept {
  std::byte* block = session_.input(0).data();
  const auto outer = static_cast<std::int64_t>(in_layout_.outer);
  const std::int64_t runs = outer == 1 ? 1 : count * outer;
  const std::int64_t values = outer == 1 ? count * in_values_ : in_values_ / outer;
  for (std::int64_t i = 0; i < runs; ++i) {
    const std::int64_t place = (i % outer) * prepared_->block() + pending_ + i / outer;
    input_.convert(frames + static_cast<std::size_t>(i * values) * size_of(input_.given()), values, block + static_cast<std::size_t>(place) * in_layout_.inner_bytes);
  }
  pending_ += count;
  heard_ = true;
}

void Infer::run(Output& out) noexcept {
  session_.run(pending_);
  collect(out);
}

std::int64_t Infer::skip(std::int64_t count) noexcept {
  const std::int64_t done = std::min(skip_, count);
  skip_ -= done;
  return done;
}

void Infer::collect(Output& out) noexcept {
  pending_ = 0;
  OutputFrames frames = session_.output(position_);
  frames.first += grid_;
  copy_out(frames, out);
}

void Infer::step(Output& out) noexcept {
  stepped_->run();
  OutputFrames frames;
  frames.block = stepped_->session().tensor(prepared_->model().outputs()[static_cast<std::size_t>(position_)]).data();
  frames.count = out_frames_;
  frames.first = grid_;
  grid_ += out_frames_;
  copy_out(frames, out);
}

void Infer::copy_out(const OutputFrames& frames, Output& out) noexcept {
  if (frames.count == 0) return;
  if (out.count == 0) out.first = frames.first;
  std::byte* to = out.data + static_cast<std::size_t>(out.count) * out_bytes_;
  const auto outer = static_cast<std::int64_t>(out_layout_.outer);
  const std::int64_t runs = outer == 1 ? 1 : frames.count * outer;
  const std::int64_t values = outer == 1 ? frames.count * out_values_ : out_values_ / outer;
  const std::size_t value_bytes = out_bytes_ / static_cast<std::size_t>(out_values_);
  for (std::int64_t i = 0; i < runs; ++i) {
    const std::int64_t place = (i % outer) * out_frames_ + frames.offset + i / outer;
    output_values_.convert(frames.block + static_cast<std::size_t>(place) * out_layout_.inner_bytes, values, to + static_cast<std::size_t>(i * values) * value_bytes);
  }
  out.count += frames.count;
}

Status Infer::process(const Block& in, Output& out) noexcept {
  std::int64_t done = skip(in.count);
  while (done < in.count) {
    const std::byte* from = in.data + static_cast<std::size_t>(done) * in_bytes_;
    if (stepped_) {
      const std::int64_t skipped = stepped_->skip(in.count - done);
      if (stepped_->over()) ignored_ += skipped;
      done += skipped;
      const std::int64_t count = std::min(stepped_->wanted(), in.count - done);
      input_.convert(from + static_cast<std::size_t>(skipped) * in_bytes_, count * in_values_, stepped_->room());
      stepped_->written(count);
      done += count;
      if (stepped_->due()) step(out);
      continue;
    }
    const std::int64_t count = std::min(prepared_->block() - pending_, in.count - done);
    store(from, count);
    done += count;
    if (pending_ == prepared_->block()) run(out);
  }
  return {};
}

// One run per call: first the frames that wait, as a partly valid block, then empty ones.
Status Infer::flush(Output& out) noexcept {
  if (stepped_) {
    stepped_->finish();
    if (stepped_->due()) step(out);
    out.end = true;
    return {};
  }
  if (!heard_) {
    out.end = true;
    return {};
  }
  if (!ended_ || session_.flush_calls_left() > 0) run(out);
  ended_ = true;
  out.end = session_.flush_calls_left() <= 0;
  if (out.end) heard_ = false;
  return {};
}

Text Infer::note() const noexcept {
  Text text;
  if (ignored_ > 0) {
    text << model << ": the model takes one clip of " << stepped_->usage().frames << " frames, " << ignored_
         << " frames behind it were not looked at; for many clips import it with --usage window";
  }
  return text;
}

}  // namespace runnel::pipeline
