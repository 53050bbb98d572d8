#include "pipeline/nodes/infer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "kernels/elementwise.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Infer::model>("model", "", "model file", true),
    parameter<&Infer::chunk>("chunk", "frames", 0, 1 << 20, "frames per run of the model; more is faster and later; 0: the smallest possible"),
    text_parameter<&Infer::output>("output", "", "name of the output; empty: the only one"),
    switch_parameter<&Infer::dequantize>("dequantize", "float32 instead of the model's integers"),
};

bool power_of_two_scale(const TensorView& tensor) noexcept { return tensor.scales.empty(); }

// The name of a tensor, or "#<index>" where names were stripped.
Text name_of_tensor(const Model& model, int tensor) noexcept {
  Text text;
  if (const std::string_view name = model.tensor_name(tensor); !name.empty()) text << '\'' << name << '\'';
  else text << '#' << tensor;
  return text;
}

// How the operators that read a tensor round: that is how its values are made from floats.
kernels::Rounding rounding_of(const Model& model, int tensor) noexcept {
  for (int i = 0; i < model.operator_count(); ++i) {
    const auto* inputs = model.op(i).inputs();
    if (inputs != nullptr && std::find(inputs->begin(), inputs->end(), tensor) != inputs->end()) {
      return static_cast<kernels::Rounding>(model.op(i).rounding());
    }
  }
  return kernels::Rounding::half_up;
}

// Affine: integer = round(value / scale) + zero point, ties away from zero, as TensorFlow Lite's Quantize.
template <class T>
void quantize_affine(const float* x, std::int64_t count, float scale, std::int32_t zero_point, std::byte* to) noexcept {
  T* y = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    const float scaled = std::round(x[i] / scale);
    const float bounded = scaled > 1e9f ? 1e9f : scaled > -1e9f ? scaled : -1e9f;
    y[i] = kernels::saturate<T>(scaled != scaled ? zero_point : static_cast<std::int64_t>(bounded) + zero_point);
  }
}

template <class T>
void dequantize_affine(const std::byte* from, std::int64_t count, float scale, std::int32_t zero_point, float* y) noexcept {
  const T* x = reinterpret_cast<const T*>(from);
  for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(static_cast<std::int32_t>(x[i]) - zero_point) * scale;
}

}  // namespace

const NodeType Infer::type = {
    .name = "infer",
    .help = "Runs a model over the stream; its output equals that of the whole recording at once.",
    .input = {Kind::frames | Kind::audio, "float32, or the model's own integers"},
    .output = {static_cast<Kinds>(Kind::frames), "the model's type, or float32"},
    .parameters = kParameters,
    .make = make_node<Infer>,
};

Status Infer::choose_output(const Model& loaded) noexcept {
  const std::span<const std::int32_t> outputs = loaded.outputs();
  if (output.empty() && outputs.size() == 1) {
    position_ = 0;
    return {};
  }
  Status status(output.empty() ? Code::invalid_argument : Code::not_found);
  if (output.empty()) status << "the model " << model << " has " << outputs.size() << " outputs, choose one with output=:";
  else status << "output=" << output << ": the model " << model << " has no such output; it has";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!output.empty() && loaded.tensor_name(outputs[i]) == output) {
      position_ = static_cast<int>(i);
      return {};
    }
    status << ' ' << name_of_tensor(loaded, outputs[i]).view();
  }
  return status;
}

Status Infer::check_input(PrepareContext& context, const Model& loaded) noexcept {
  const int tensor = loaded.inputs()[0];
  const Format& given = context.input;
  input_ = loaded.tensor(tensor);
  const Placement& placement = prepared_->placement(tensor);
  in_values_ = static_cast<std::int64_t>(placement.frame_bytes / size_of(input_.dtype));
  in_layout_ = FrameLayout::of(prepared_->shape(tensor), placement.time_axis, input_.dtype);
  in_bytes_ = given.frame_bytes();
  given_ = given.dtype;
  Text model_input;
  model_input << "input " << name_of_tensor(loaded, tensor).view() << " of " << model;
  if (given.channels != in_values_) {
    return Status(Code::mismatch) << context.input_label << " gives " << given.channels << (given.channels == 1 ? " value" : " values")
                                  << " per frame, " << model_input.view() << " takes " << in_values_;
  }
  if (given_ == input_.dtype) {
    const bool same_scale = given_ == DType::float32 || (power_of_two_scale(input_) && given.exponent == input_.exponent());
    if (same_scale) return {};
    return Status(Code::mismatch) << context.input_label << " gives " << describe(given).view() << ", " << model_input.view()
                                  << " has another scale: give float32";
  }
  const bool quantizable = given_ == DType::float32 && (input_.dtype == DType::int8 || input_.dtype == DType::int16 ||
                                                        (input_.dtype == DType::uint8 && !power_of_two_scale(input_)));
  if (quantizable) {
    rounding_ = rounding_of(loaded, tensor);
    return {};
  }
  return Status(Code::mismatch) << context.input_label << " gives " << name_of(given_) << ", " << model_input.view() << " takes "
                                << name_of(input_.dtype);
}

Status Infer::describe_output(PrepareContext& context, const Model& loaded) noexcept {
  const int tensor = loaded.outputs()[static_cast<std::size_t>(position_)];
  const Placement& placement = prepared_->placement(tensor);
  output_ = loaded.tensor(tensor);
  if (placement.time_axis < 0) {
    return Status(Code::unsupported) << "output " << name_of_tensor(loaded, tensor).view() << " of " << model << " is not a stream";
  }
  // Only power-of-two scales travel with frames.
  const bool integers = output_.dtype != DType::float32;
  if (integers && !power_of_two_scale(output_)) dequantize = true;
  const bool convertible = output_.dtype == DType::int8 || output_.dtype == DType::int16 || (output_.dtype == DType::uint8 && !power_of_two_scale(output_));
  if (integers && dequantize && !convertible) {
    return Status(Code::unsupported) << "output " << name_of_tensor(loaded, tensor).view() << " of " << model << " is "
                                     << name_of(output_.dtype) << ", which cannot be made float32";
  }
  out_values_ = static_cast<std::int64_t>(placement.frame_bytes / size_of(output_.dtype));
  out_layout_ = FrameLayout::of(prepared_->shape(tensor), placement.time_axis, output_.dtype);
  out_frames_ = placement.frames;
  up_ = placement.up;
  down_ = placement.down;
  Format& format = context.output;
  format.kind = Kind::frames;
  format.dtype = integers && dequantize ? DType::float32 : output_.dtype;
  format.exponent = integers && !dequantize ? output_.exponent() : 0;
  format.channels = static_cast<std::int32_t>(out_values_);
  // A frame keeps the extent of the input frame at its place: how far a model looks back is no property of the event.
  format.clock = context.input.clock.every(up_, down_);
  out_bytes_ = format.frame_bytes();
  const std::int64_t block = prepared_->block();
  context.max_output = ceil_div(context.max_input + block - 1, block) * placement.frames;

  const fb::Pipeline* pipeline = loaded.pipeline();
  format.labels = {};
  if (pipeline == nullptr || pipeline->labels() == nullptr || pipeline->labels()->size() == 0) return {};
  const flatbuffers::uoffset_t count = pipeline->labels()->size();
  auto* labels = context.memory.array<std::string_view>(count);
  if (labels == nullptr) return out_of_memory("the labels");
  for (flatbuffers::uoffset_t i = 0; i < count; ++i) labels[i] = pipeline->labels()->Get(i)->string_view();
  format.labels = {labels, count};
  return {};
}

Status Infer::prepare(PrepareContext& context) noexcept {
  if (context.models == nullptr) return Status(Code::unsupported, "this program cannot load models");
  RUNNEL_ASSIGN(const Model* loaded, context.models->load(model));
  if (loaded->inputs().size() != 1) {
    return Status(Code::unsupported) << "the model " << model << " has " << loaded->inputs().size() << " inputs, expected 1";
  }
  RUNNEL_TRY(choose_output(*loaded));
  const PrepareOptions options{.mode = RunMode::stream, .frames = chunk, .isa = context.isa};
  RUNNEL_ASSIGN(prepared_, Prepared::make(*loaded, context.operators, options, context.memory));
  RUNNEL_TRY(check_input(context, *loaded));
  RUNNEL_TRY(describe_output(context, *loaded));
  elementwise_ = &kernels::elementwise(context.isa);
  RUNNEL_ASSIGN(Workspace* workspace, Workspace::make(*prepared_, context.memory));
  auto* state = static_cast<std::byte*>(context.memory.allocate(prepared_->state_bytes(), 64));
  if (state == nullptr) return out_of_memory("the state of the session");
  RUNNEL_ASSIGN(session_, Session::make(*prepared_, *workspace, {state, prepared_->state_bytes()}));
  return {};
}

std::int64_t Infer::reset(std::int64_t first) noexcept {
  session_.reset();
  pending_ = 0;
  heard_ = ended_ = false;
  // The first input frame that stands at a whole output frame.
  const std::int64_t start = ceil_div(first, down_);
  skip_ = start * down_ - first;
  grid_ = start * up_;
  return grid_;
}

// Converts values as they come to those of the model's input.
void Infer::convert_input(const std::byte* from, std::int64_t values, std::byte* to) noexcept {
  const auto* x = reinterpret_cast<const float*>(from);
  const auto count = static_cast<std::size_t>(values);
  if (given_ == input_.dtype) std::memcpy(to, from, count * size_of(given_));
  else if (power_of_two_scale(input_)) elementwise_->quantize(input_.dtype, count, x, to, input_.exponent(), rounding_);
  else if (input_.dtype == DType::int8) quantize_affine<std::int8_t>(x, values, input_.scales[0], input_.zero_point(), to);
  else if (input_.dtype == DType::uint8) quantize_affine<std::uint8_t>(x, values, input_.scales[0], input_.zero_point(), to);
  else quantize_affine<std::int16_t>(x, values, input_.scales[0], input_.zero_point(), to);
}

void Infer::convert_output(const std::byte* from, std::int64_t values, std::byte* to) noexcept {
  auto* y = reinterpret_cast<float*>(to);
  const auto count = static_cast<std::size_t>(values);
  if (!dequantize || output_.dtype == DType::float32) std::memcpy(to, from, count * size_of(output_.dtype));
  else if (power_of_two_scale(output_)) elementwise_->dequantize(output_.dtype, count, from, y, output_.exponent());
  else if (output_.dtype == DType::int8) dequantize_affine<std::int8_t>(from, values, output_.scales[0], output_.zero_point(), y);
  else if (output_.dtype == DType::uint8) dequantize_affine<std::uint8_t>(from, values, output_.scales[0], output_.zero_point(), y);
  else dequantize_affine<std::int16_t>(from, values, output_.scales[0], output_.zero_point(), y);
}

// Appends frames to the block that the session will run next; they fit. A frame of the pipeline is dense; in the model, dimensions
// may stand in front of time (channels first), and a frame is then spread over that many rows.
void Infer::store(const std::byte* frames, std::int64_t count) noexcept {
  std::byte* block = session_.input(0).data();
  const auto outer = static_cast<std::int64_t>(in_layout_.outer);
  const std::int64_t runs = outer == 1 ? 1 : count * outer;
  const std::int64_t values = outer == 1 ? count * in_values_ : in_values_ / outer;
  for (std::int64_t i = 0; i < runs; ++i) {
    const std::int64_t place = (i % outer) * prepared_->block() + pending_ + i / outer;
    convert_input(frames + static_cast<std::size_t>(i * values) * size_of(given_), values, block + static_cast<std::size_t>(place) * in_layout_.inner_bytes);
  }
  pending_ += count;
}

void Infer::run(Output& out) noexcept {
  session_.run(pending_);
  pending_ = 0;
  const OutputFrames frames = session_.output(position_);
  if (frames.count == 0) return;
  if (out.count == 0) out.first = grid_ + frames.first;
  std::byte* to = out.data + static_cast<std::size_t>(out.count) * out_bytes_;
  const auto outer = static_cast<std::int64_t>(out_layout_.outer);
  const std::int64_t runs = outer == 1 ? 1 : frames.count * outer;
  const std::int64_t values = outer == 1 ? frames.count * out_values_ : out_values_ / outer;
  const std::size_t value_bytes = out_bytes_ / static_cast<std::size_t>(out_values_);
  for (std::int64_t i = 0; i < runs; ++i) {
    const std::int64_t place = (i % outer) * out_frames_ + frames.offset + i / outer;
    convert_output(frames.block + static_cast<std::size_t>(place) * out_layout_.inner_bytes, values, to + static_cast<std::size_t>(i * values) * value_bytes);
  }
  out.count += frames.count;
}

Status Infer::process(const Block& in, Output& out) noexcept {
  std::int64_t done = std::min(skip_, in.count);
  skip_ -= done;
  const std::int64_t block = prepared_->block();
  while (done < in.count) {
    const std::int64_t count = std::min(block - pending_, in.count - done);
    store(in.data + static_cast<std::size_t>(done) * in_bytes_, count);
    done += count;
    heard_ = true;
    if (pending_ == block) run(out);
  }
  return {};
}

// One run per call: first the frames that wait, as a partly valid block, then empty ones.
Status Infer::flush(Output& out) noexcept {
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

}  // namespace runnel::pipeline
