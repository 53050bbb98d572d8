// GRU and LSTM, batch 1. A whole clip starts from the initial state; a stream carries its state from block to
// block, loads the initial state before its first frame, and lets only frames that are data update it.
//
// Inputs: x [T, 1, I], weights [D, gates*H, I], hidden weights [D, gates*H, H], then optional ones: bias [D,
// 2*gates*H] (int16 at the gate exponent; float32), initial h [D, 1, H], initial c [D, 1, H]. Outputs, those
// named by the options: every frame's h [T, D, 1, H], the last h [D, 1, H], the last c [D, 1, H] (int16 at
// the gate exponent; float32). D = 2 when bidirectional.
#include "kernels/recurrent/recurrent.h"

#include <algorithm>
#include <cstring>

#include "inference/ops/definitions.h"
#include "inference/ops/support.h"
#include "kernels/float32/float_recurrent.h"

namespace runnel::ops {
namespace {

enum Input { kX, kWeights, kHiddenWeights, kBias, kInitialH, kInitialC };
enum Which { kEvery = 1, kLastH = 2, kLastC = 4 };

// A copy of a state tensor, requantized where exponents differ.
struct Initial {
  std::int32_t tensor = -1;  // -1: zero
  DType dtype = DType::none;
  int shift = 0;
};

struct BoundRecurrent : BoundOperator {
  kernels::RecurrentSpec spec[2];
  kernels::FloatRecurrent floats[2];  // float32 instead of `spec`
  Operand x;
  std::int32_t every = -1, last_h = -1, last_c = -1;
  Initial initial_h, initial_c;
  std::int32_t x_tensor = -1;
  std::int64_t frames = 0;
  int directions = 1;
  bool reverse = false, streamed = false;
  std::size_t x_bytes = 0, h_bytes = 0, c_bytes = 0;  // of one frame
  std::size_t h_offset = 0, c_offset = 0;  // into state (streamed) or scratch, per direction in scratch
  std::size_t state = 0;                   // streamed: offset of the flag "started"
  DType dtype = DType::none;
};

template <class T>
void load(const Initial& from, const RunContext& context, int direction, std::int32_t count,
          kernels::Rounding rounding, T* to) noexcept {
  if (from.tensor < 0) {
    std::fill_n(to, count, T{});
    return;
  }
  const std::byte* x = context.data[from.tensor] + static_cast<std::size_t>(direction) *
                                                       static_cast<std::size_t>(count) * size_of(from.dtype);
  for (std::int32_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, float>) {
      to[i] = reinterpret_cast<const float*>(x)[i];
    } else {
      const std::int64_t value = from.dtype == DType::int8
                                     ? std::int64_t{reinterpret_cast<const std::int8_t*>(x)[i]}
                                     : std::int64_t{reinterpret_cast<const std::int16_t*>(x)[i]};
      to[i] = kernels::saturate<T>(kernels::round_shift(value, from.shift, rounding));
    }
  }
}

void load_initial(const BoundRecurrent& op, const RunContext& context, int direction, std::byte* h,
                  std::byte* c) noexcept {
  const std::int32_t hidden = op.spec[0].hidden;
  const kernels::Rounding rounding = op.spec[0].rounding;
  if (op.dtype == DType::int8)
    load(op.initial_h, context, direction, hidden, rounding, reinterpret_cast<std::int8_t*>(h));
  else if (op.dtype == DType::int16)
    load(op.initial_h, context, direction, hidden, rounding, reinterpret_cast<std::int16_t*>(h));
  else
    load(op.initial_h, context, direction, hidden, rounding, reinterpret_cast<float*>(h));
  if (!op.spec[0].lstm) return;
  if (op.dtype == DType::float32)
    load(op.initial_c, context, direction, hidden, rounding, reinterpret_cast<float*>(c));
  else
    load(op.initial_c, context, direction, hidden, rounding, reinterpret_cast<std::int16_t*>(c));
}

void put_last(const BoundRecurrent& op, const RunContext& context, int direction, const std::byte* h,
              const std::byte* c) noexcept {
  const auto d = static_cast<std::size_t>(direction);
  if (op.last_h >= 0) std::memcpy(context.data[op.last_h] + d * op.h_bytes, h, op.h_bytes);
  if (op.last_c >= 0) std::memcpy(context.data[op.last_c] + d * op.c_bytes, c, op.c_bytes);
}

// `count` frames from frame `first` of x on, backwards or forwards; every frame's h goes where it belongs.
void run_frames(const BoundRecurrent& op, const RunContext& context, int direction, std::int64_t first,
                std::int64_t count, bool backwards, std::byte* h, std::byte* c) noexcept {
  const std::byte* const x = op.x.at(context) + first * static_cast<std::int64_t>(op.x_bytes);
  const auto row = static_cast<std::int64_t>(op.h_bytes) * op.directions;
  std::byte* const every =
      op.every < 0 ? nullptr
                   : context.data[op.every] + first * row + direction * static_cast<std::int64_t>(op.h_bytes);
  const std::int64_t way = backwards ? -1 : 1;
  if (op.dtype == DType::float32) {
    constexpr std::int64_t kFloat = sizeof(float);
    op.floats[direction].run(count, reinterpret_cast<const float*>(x),
                             way * static_cast<std::int64_t>(op.x_bytes) / kFloat,
                             reinterpret_cast<float*>(h), reinterpret_cast<float*>(c),
                             reinterpret_cast<float*>(every), way * row / kFloat, context.scratch);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    kernels::recurrent_step(op.spec[direction], x + way * i * static_cast<std::int64_t>(op.x_bytes), h, c,
                            context.scratch);
    if (every != nullptr) std::memcpy(every + way * i * row, h, op.h_bytes);
  }
}

void run_whole(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundRecurrent&>(self);
  std::byte* const h = context.scratch + op.h_offset;
  std::byte* const c = context.scratch + op.c_offset;
  for (int d = 0; d < op.directions; ++d) {
    load_initial(op, context, d, h, c);
    const bool backwards = d == 1 || op.reverse;
    run_frames(op, context, d, backwards ? op.frames - 1 : 0, op.frames, backwards, h, c);
    put_last(op, context, d, h, c);
  }
}

void run_streamed(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundRecurrent&>(self);
  auto* const started = reinterpret_cast<std::uint32_t*>(context.state + op.state);
  std::byte* const h = context.state + op.h_offset;
  std::byte* const c = context.state + op.c_offset;
  if (*started == 0) load_initial(op, context, 0, h, c);
  const FrameIndex& index = context.index[op.x_tensor];
  const std::int64_t first = std::clamp<std::int64_t>(-index.first, 0, op.frames);
  const std::int64_t last = std::clamp<std::int64_t>(index.length - index.first, first, op.frames);
  if (last > first) *started = 1;
  run_frames(op, context, 0, first, last - first, false, h, c);
  if (op.every >= 0) {
    std::byte* const every = context.data[op.every];
    std::memset(every, 0, static_cast<std::size_t>(first) * op.h_bytes);
    std::memset(every + static_cast<std::size_t>(last) * op.h_bytes, 0,
                static_cast<std::size_t>(op.frames - last) * op.h_bytes);
  }
  put_last(op, context, 0, h, c);
}

void reset_streamed(const BoundOperator& self, std::byte* state) noexcept {
  // The initial state may be an input of the graph; it is read when the first frame comes.
  *reinterpret_cast<std::uint32_t*>(state + static_cast<const BoundRecurrent&>(self).state) = 0;
}

bool is_lstm(const fb::Operator& op) noexcept { return code_of(op) == OpCode::lstm; }

Shape shape_of(std::initializer_list<std::int32_t> dims) noexcept {
  Shape shape;
  for (const std::int32_t dim : dims) shape[shape.rank++] = dim;
  return shape;
}

// Tensor of the output named by `which`; -1 when the options leave it out.
std::int32_t output_of(const fb::Operator& op, int which) noexcept {
  const int present = op.options_as_RecurrentOptions()->outputs();
  if ((present & which) == 0) return -1;
  int position = 0;
  for (int bit = 1; bit < which; bit *= 2) position += (present & bit) != 0 ? 1 : 0;
  return output_index(op, position);
}

// A tensor of the state: h is of the type of x; c is int16 for integers.
Status check_state(const TensorView& tensor, const Shape& expected, bool real,
                   std::string_view what) noexcept {
  RUNNEL_TRY(expect_shape(tensor.shape, expected, what));
  if (real && tensor.dtype != DType::float32)
    return Status(Code::unsupported) << what << " is " << name_of(tensor.dtype) << ", expected float32";
  return real ? Status() : check_quantized(tensor, what);
}

Status check_outputs(const Model& model, const fb::Operator& op, const fb::RecurrentOptions& o,
                     std::int32_t frames, std::int32_t directions, std::int32_t hidden, bool real) noexcept {
  const DType dtype = input(model, op, kX).dtype;
  const Shape state = shape_of({directions, 1, hidden});
  int h_exponent = 0;
  bool known = false;
  for (const int which : {kEvery, kLastH}) {
    const std::int32_t tensor = output_of(op, which);
    if (tensor < 0) continue;
    const TensorView h = model.tensor(tensor);
    RUNNEL_TRY(check_state(h, which == kEvery ? shape_of({frames, directions, 1, hidden}) : state, real,
                           which == kEvery ? "the output" : "the last h"));
    if (h.dtype != dtype)
      return Status(Code::unsupported)
             << "input " << name_of(dtype) << ", output " << name_of(h.dtype) << ", expected one type";
    if (known && h.exponent() != h_exponent)
      return Status(Code::unsupported)
             << "outputs of exponents " << h_exponent << " and " << h.exponent() << ", expected one";
    h_exponent = h.exponent();
    known = true;
  }
  if (!known) return Status(Code::invalid_data) << "outputs without any h";
  if (const std::int32_t tensor = output_of(op, kLastC); tensor >= 0) {
    const TensorView c = model.tensor(tensor);
    RUNNEL_TRY(check_state(c, state, real, "the last c"));
    if (!real && (c.dtype != DType::int16 || c.exponent() != o.gate_exponent())) {
      return Status(Code::unsupported)
             << "the last c is " << name_of(c.dtype) << " of exponent " << c.exponent()
             << ", expected int16 of the gates' " << static_cast<int>(o.gate_exponent());
    }
  }
  if (input_index(op, kInitialH) >= 0)
    RUNNEL_TRY(check_state(input(model, op, kInitialH), state, real, "the initial h"));
  if (input_index(op, kInitialC) >= 0)
    RUNNEL_TRY(check_state(input(model, op, kInitialC), state, real, "the initial c"));
  return {};
}

Status check_recurrent(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_ASSIGN(const fb::RecurrentOptions* const o, options<fb::RecurrentOptions>(op));
  const int most = is_lstm(op) ? kLastC | kLastH | kEvery : kLastH | kEvery;
  if (o->outputs() < 1 || o->outputs() > most)
    return Status(Code::invalid_data)
           << "outputs " << static_cast<int>(o->outputs()) << ", expected 1 to " << most;
  RUNNEL_TRY(check_operands(op, 3, is_lstm(op) ? 6 : 5, __builtin_popcount(o->outputs())));
  if (o->direction() > fb::Direction::MAX)
    return Status(Code::invalid_data) << "unknown direction " << static_cast<int>(o->direction());
  const TensorView x = input(model, op, kX), w = input(model, op, kWeights),
                   r = input(model, op, kHiddenWeights);
  const bool real = x.dtype == DType::float32;
  if (!real) RUNNEL_TRY(check_quantized(x, "the input"));
  if (x.shape.rank != 3 || x.shape[1] != 1) {
    return Status(Code::unsupported) << "an input of rank " << x.shape.rank << " with a batch of "
                                     << (x.shape.rank > 1 ? x.shape[1] : 0)
                                     << ", expected [time, 1, features]";
  }
  const std::int32_t directions = native(o->direction()) == Direction::bidirectional ? 2 : 1,
                     gates = is_lstm(op) ? 4 : 3;
  constexpr std::int32_t kMax = 1 << 16;
  const std::int32_t inputs = x.shape[2], hidden = r.shape.rank == 3 ? r.shape[2] : 0;
  if (hidden < 1 || hidden > kMax / 4 || inputs > kMax)
    return Status(Code::unsupported) << "a state of " << hidden << " and an input of " << inputs
                                     << ", expected at most " << kMax / 4 << " and " << kMax;
  RUNNEL_TRY(expect_shape(w.shape, shape_of({directions, gates * hidden, inputs}), "the weights"));
  RUNNEL_TRY(expect_shape(r.shape, shape_of({directions, gates * hidden, hidden}), "the hidden weights"));
  for (const TensorView& weights : {w, r}) {
    if (!weights.constant || weights.dtype != x.dtype)
      return Status(Code::unsupported)
             << "weights that are not constants of the input's type " << name_of(x.dtype);
    if (!real) RUNNEL_TRY(check_quantized(weights, "the weights"));
  }
  if (!real && (o->gate_exponent() < -13 || o->gate_exponent() > -1)) {
    return Status(Code::unsupported) << "gates of exponent " << static_cast<int>(o->gate_exponent())
                                     << ", expected -13 to -1";
  }
  if (input_index(op, kBias) >= 0) {
    const TensorView bias = input(model, op, kBias);
    RUNNEL_TRY(expect_shape(bias.shape, shape_of({directions, 2 * gates * hidden}), "the bias"));
    const DType expected = real ? DType::float32 : DType::int16;
    if (!bias.constant || bias.dtype != expected || (!real && bias.exponent() != o->gate_exponent())) {
      return Status(Code::invalid_data)
             << "the bias is not a constant " << name_of(expected) << (real ? "" : " of the gates' exponent");
    }
  }
  return check_outputs(model, op, *o, x.shape[0], directions, hidden, real);
}

Status stream_recurrent(const Model&, const fb::Operator& op, TimeAxes axes,
                        streaming::NodeRule& rule) noexcept {
  const fb::RecurrentOptions& o = *op.options_as_RecurrentOptions();
  if (native(o.direction()) != Direction::forward) {
    return Status(Code::unsupported) << "runs "
                                     << (native(o.direction()) == Direction::reverse ? "backwards"
                                                                                     : "in both directions")
                                     << ", from the end of the recording; train it forwards, or run the "
                                        "model in usage `window` or `whole`";
  }
  const std::size_t inputs = op.inputs()->size();
  for (std::size_t i = 1; i < inputs; ++i) {
    if (axes[i] >= 0)
      return Status(Code::unsupported) << "takes input " << i << " from a stream, expected x alone";
  }
  if (axes[0] != 0)
    return Status(Code::unsupported) << "has time on axis " << static_cast<int>(axes[0])
                                     << " of its input, expected axis 0";
  rule.kind = streaming::Kind::recurrent;
  // The last h and c have no time axis: they hold the state after the frames so far.
  if ((o.outputs() & kEvery) != 0) axes[inputs] = 0;
  return {};
}

Result<kernels::GateTable> make_table(PrepareContext& context, kernels::GateFunction function,
                                      int exponent) noexcept {
  const std::int32_t last = kernels::gate_table_last(function, exponent);
  auto* const entries = context.memory().array<float>(static_cast<std::size_t>(last) + 1);
  if (entries == nullptr)
    return Status(Code::out_of_memory) << "no memory for a table of " << last + 1 << " gate values";
  kernels::fill_gate_table(function, exponent, entries);
  return kernels::GateTable{entries, last};
}

Initial bind_initial(PrepareContext& context, int position, int exponent) noexcept {
  Initial initial;
  initial.tensor = input_index(context.op(), position);
  if (initial.tensor < 0) return initial;
  context.read_constant(initial.tensor);
  const TensorView tensor = context.model().tensor(initial.tensor);
  initial.dtype = tensor.dtype;
  if (is_integer(tensor.dtype)) initial.shift = exponent - tensor.exponent();
  return initial;
}

Result<const BoundOperator*> prepare_recurrent(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::RecurrentOptions& o = *op.options_as_RecurrentOptions();
  const Model& model = context.model();
  RUNNEL_ASSIGN(BoundRecurrent* const bound,
                allocate<BoundRecurrent>(context, context.streamed() ? run_streamed : run_whole));
  bound->x_tensor = input_index(op, kX);
  bound->x = operand(context, kX);
  bound->every = output_of(op, kEvery);
  bound->last_h = output_of(op, kLastH);
  bound->last_c = output_of(op, kLastC);
  const TensorView x = input(model, op, kX), w = input(model, op, kWeights),
                   r = input(model, op, kHiddenWeights);
  const TensorView h = model.tensor(bound->every >= 0 ? bound->every : bound->last_h);
  const bool real = x.dtype == DType::float32;
  bound->dtype = x.dtype;
  bound->frames = context.shape(bound->x_tensor)[0];
  bound->directions = native(o.direction()) == Direction::bidirectional ? 2 : 1;
  bound->reverse = native(o.direction()) == Direction::reverse;
  // Constants keep a stream without x from being one: then the whole is run, from the initial state, every
  // time.
  bound->streamed = context.streamed() && context.time_axis(bound->x_tensor) >= 0;
  if (!bound->streamed) bound->run = run_whole;
  const std::int32_t hidden = r.shape[2];
  bound->x_bytes = static_cast<std::size_t>(x.shape[2]) * size_of(x.dtype);
  bound->h_bytes = static_cast<std::size_t>(hidden) * size_of(x.dtype);
  bound->c_bytes = is_lstm(op) ? static_cast<std::size_t>(hidden) * (real ? 4 : 2) : 0;
  bound->initial_h = bind_initial(context, kInitialH, h.exponent());
  bound->initial_c = bind_initial(context, kInitialC, o.gate_exponent());

  kernels::RecurrentSpec& spec = bound->spec[0];
  spec.lstm = is_lstm(op);
  spec.dtype = x.dtype;
  spec.inputs = x.shape[2];
  spec.hidden = hidden;
  spec.rounding = rounding_of(op);
  if (!real) {
    spec.input_exponent = x.exponent() + w.exponent();
    spec.hidden_exponent = h.exponent() + r.exponent();
    spec.gate_exponent = o.gate_exponent();
    spec.state_exponent = h.exponent();
    RUNNEL_ASSIGN(spec.sigmoid, make_table(context, kernels::GateFunction::sigmoid, o.gate_exponent()));
    RUNNEL_ASSIGN(spec.tanh, make_table(context, kernels::GateFunction::tanh, o.gate_exponent()));
  }
  bound->spec[1] = spec;
  std::size_t scratch = 0;
  context.chose_kernel({real ? vector_level(context.isa()) : Isa::generic, ""});
  const std::size_t rows = static_cast<std::size_t>(spec.rows()), element = size_of(x.dtype),
                    bias_element = 2;
  for (std::size_t d = 0; real && d < static_cast<std::size_t>(bound->directions); ++d) {
    const auto constant = [&](int position, std::size_t offset) {
      return input_index(op, position) < 0
                 ? nullptr
                 : reinterpret_cast<const float*>(input(model, op, position).data.data()) + offset;
    };
    const kernels::FloatRecurrentSpec floats{
        spec.lstm,
        spec.inputs,
        hidden,
        constant(kWeights, d * rows * static_cast<std::size_t>(spec.inputs)),
        constant(kHiddenWeights, d * rows * static_cast<std::size_t>(hidden)),
        constant(kBias, d * 2 * rows),
        constant(kBias, (d * 2 + 1) * rows)};
    RUNNEL_TRY(kernels::prepare_float_recurrent(floats, context.isa(), context.memory(), bound->floats[d]));
    scratch = bound->floats[d].scratch_bytes(bound->frames);
  }
  for (std::size_t d = 0; !real && d < static_cast<std::size_t>(bound->directions); ++d) {
    bound->spec[d].input_weights = w.data.data() + d * rows * bound->x_bytes;
    RUNNEL_TRY(context.read_constant(input_index(op, kWeights), &bound->spec[d].input_weights));
    bound->spec[d].hidden_weights = r.data.data() + d * rows * static_cast<std::size_t>(hidden) * element;
    RUNNEL_TRY(context.read_constant(input_index(op, kHiddenWeights), &bound->spec[d].hidden_weights));
    if (input_index(op, kBias) >= 0) {
      const std::byte* bias = input(model, op, kBias).data.data() + d * 2 * rows * bias_element;
      bound->spec[d].input_bias = bias;
      bound->spec[d].hidden_bias = bias + rows * bias_element;
      RUNNEL_TRY(context.read_constant(input_index(op, kBias), &bound->spec[d].input_bias));
      RUNNEL_TRY(context.read_constant(input_index(op, kBias), &bound->spec[d].hidden_bias));
    }
    RUNNEL_TRY(kernels::use_vectors(context.isa(), context.memory(), bound->spec[d]));
    if (bound->spec[d].vectors != nullptr) context.chose_kernel({vector_level(context.isa()), ""});
    scratch = std::max(scratch, bound->spec[d].scratch_bytes());
  }

  const auto aligned = [](std::size_t bytes) { return (bytes + 15) / 16 * 16; };
  if (bound->streamed) {
    bound->reset = reset_streamed;
    bound->state = context.request_state(16 + aligned(bound->h_bytes) + bound->c_bytes);
    bound->h_offset = bound->state + 16;
    context.use_frame_index();
    context.request_scratch(scratch);
  } else {
    bound->h_offset = aligned(scratch);
    context.request_scratch(bound->h_offset + aligned(bound->h_bytes) + bound->c_bytes);
  }
  bound->c_offset = bound->h_offset + aligned(bound->h_bytes);
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kGru{OpCode::gru,     Arithmetic::espdl, "gru",
                              check_recurrent, stream_recurrent,  prepare_recurrent};
const OperatorDefinition kLstm{OpCode::lstm,    Arithmetic::espdl, "lstm",
                               check_recurrent, stream_recurrent,  prepare_recurrent};

}  // namespace runnel::ops
