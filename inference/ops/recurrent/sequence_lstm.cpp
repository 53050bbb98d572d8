// LSTM that keeps h and c from call to call (TensorFlow Lite's arithmetic, or with powers of two). Inputs: x,
// weights of x for the input, forget, cell and output gates, weights of h for them, their biases.
#include "kernels/recurrent/sequence_lstm.h"

#include <algorithm>
#include <cstring>

#include "inference/ops/affine.h"
#include "inference/ops/definitions.h"

namespace runnel::ops {
namespace {

enum Input { kX = 0, kXWeights = 1, kHWeights = 5, kBias = 9, kInputs = 13 };

struct BoundLstm : BoundOperator {
  kernels::SequenceLstmSpec spec;
  Operand x;
  std::int32_t y = -1;
  std::size_t h = 0, c = 0;  // offsets of the state
  std::size_t h_bytes = 0, c_bytes = 0;
};

void run_lstm(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundLstm&>(self);
  kernels::sequence_lstm(op.spec, op.x.at(context), context.state + op.h, context.state + op.c,
                         context.data[op.y], context.scratch);
}
void reset_lstm(const BoundOperator& self, std::byte* state) noexcept {
  const auto& op = static_cast<const BoundLstm&>(self);
  std::memset(state + op.h, op.spec.h_zero & 0xFF, op.h_bytes);
  std::memset(state + op.c, 0, op.c_bytes);
}

Status check_weights(const TensorView& w, bool powers, DType dtype, std::int32_t rows, std::int32_t columns,
                     int position) noexcept {
  const std::size_t scales = dtype == DType::int8 ? 1 : 0;
  if (w.constant && w.dtype == dtype && w.shape.rank == 2 && w.shape[0] == rows && w.shape[1] == columns &&
      w.zero_point() == 0 && w.scales.size() == (powers ? 0 : scales) &&
      w.exponents.size() == (powers ? scales : 0)) {
    return {};
  }
  return Status(Code::unsupported) << "input " << position << " is no constant " << name_of(dtype)
                                   << " matrix of " << rows << " x " << columns
                                   << " with one scale and zero point 0";
}

Status check_lstm(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, kInputs, kInputs));
  RUNNEL_ASSIGN(const fb::SequenceLstmOptions* const o, options<fb::SequenceLstmOptions>(op));
  const TensorView x = input(model, op, kX), y = output(model, op);
  const bool powers = arithmetic_of(op) == Arithmetic::stateful_shifts,
             floats = x.dtype == DType::float32 && !powers;
  if (!floats) {
    RUNNEL_TRY(powers ? check_quantized(x, "the input") : check_affine(x, false, "the input"));
    RUNNEL_TRY(powers ? check_quantized(y, "the output") : check_affine(y, false, "the output"));
    if (x.dtype != DType::int8)
      return Status(Code::unsupported) << name_of(x.dtype) << ", expected int8 or float32";
    if (o->cell_exponent() < -16 || o->cell_exponent() > -1)
      return Status(Code::unsupported)
             << "a cell with scale 2^" << static_cast<int>(o->cell_exponent()) << ", expected 2^-16 to 2^-1";
  }
  if (x.dtype != y.dtype)
    return Status(Code::unsupported) << "input " << name_of(x.dtype) << ", output " << name_of(y.dtype)
                                     << ", expected one type";
  if (x.shape.rank != 3 || y.shape.rank != 3)
    return Status(Code::invalid_data)
           << "input rank " << x.shape.rank << ", output rank " << y.shape.rank << ", expected 3";
  if (!(o->cell_clip() >= 0)) return Status(Code::invalid_data) << "a cell clipped below 0";
  const std::int32_t units = y.shape[2];
  const DType wide = floats ? DType::float32 : DType::int32;
  for (int g = 0; g < 4; ++g) {
    RUNNEL_TRY(
        check_weights(input(model, op, kXWeights + g), powers, x.dtype, units, x.shape[2], kXWeights + g));
    RUNNEL_TRY(check_weights(input(model, op, kHWeights + g), powers, x.dtype, units, units, kHWeights + g));
    const TensorView bias = input(model, op, kBias + g);
    if (!bias.constant || bias.dtype != wide || bias.shape.elements() != units) {
      return Status(Code::invalid_data)
             << "input " << kBias + g << " is not a constant of " << units << ' ' << name_of(wide);
    }
  }
  Shape expected = x.shape;
  expected[2] = units;
  return expect_shape(y.shape, expected, "the output");
}

Status stream_lstm(const Model&, const fb::Operator&, TimeAxes, streaming::NodeRule&) noexcept {
  return Status(Code::unsupported) << "keeps its state from call to call: the model runs in steps of the "
                                      "length it was exported for (`infer --sequence`)";
}

void bind_scales(const Model& model, const fb::Operator& op, kernels::SequenceLstmSpec& spec) noexcept {
  const fb::SequenceLstmOptions& o = *op.options_as_SequenceLstmOptions();
  const TensorView x = input(model, op, kX), y = output(model, op);
  constexpr float gate_input = 1.0f / 4096, gate_output = 1.0f / 32768;
  spec.cell_exponent = o.cell_exponent();
  spec.x_zero = x.zero_point();
  spec.h_zero = y.zero_point();
  for (int g = 0; g < 4; ++g) {
    spec.x_scale[g].multiplier =
        kernels::multiplier_of(static_cast<double>(x.scales[0] * input(model, op, kXWeights + g).scales[0]) /
                               static_cast<double>(gate_input));
    spec.h_scale[g].multiplier =
        kernels::multiplier_of(static_cast<double>(y.scales[0] * input(model, op, kHWeights + g).scales[0]) /
                               static_cast<double>(gate_input));
  }
  const auto cell = static_cast<double>(kernels::power_of_two(o.cell_exponent())),
             fraction = static_cast<double>(gate_output);
  spec.forget_cell.multiplier = kernels::multiplier_of(fraction * cell / cell);
  spec.input_cell.multiplier = kernels::multiplier_of(fraction * fraction / cell);
  spec.hidden.multiplier = kernels::multiplier_of(fraction * fraction / static_cast<double>(y.scales[0]));
  spec.clip = static_cast<std::int16_t>(std::min(static_cast<double>(o.cell_clip()) / cell, 32767.0));
}

// The same with shifts: gates are 2^-12 before their functions and 2^-15 after them.
void bind_shifts(const Model& model, const fb::Operator& op, kernels::SequenceLstmSpec& spec) noexcept {
  const fb::SequenceLstmOptions& o = *op.options_as_SequenceLstmOptions();
  const int x = input(model, op, kX).exponent(), y = output(model, op).exponent();
  const auto scaling = [&](int shift) {
    kernels::Scaling made;
    made.shift = shift;
    made.rounding = rounding_of(op);
    return made;
  };
  spec.cell_exponent = o.cell_exponent();
  for (int g = 0; g < 4; ++g) {
    spec.x_scale[g] = scaling(-12 - x - input(model, op, kXWeights + g).exponent());
    spec.h_scale[g] = scaling(-12 - y - input(model, op, kHWeights + g).exponent());
  }
  spec.forget_cell = scaling(15);
  spec.input_cell = scaling(30 + o.cell_exponent());
  spec.hidden = scaling(30 + y);
  spec.clip = static_cast<std::int16_t>(std::min(
      static_cast<double>(o.cell_clip()) / static_cast<double>(kernels::power_of_two(o.cell_exponent())),
      32767.0));
}

Result<const BoundOperator*> prepare_lstm(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const Model& model = context.model();
  const fb::SequenceLstmOptions& o = *op.options_as_SequenceLstmOptions();
  RUNNEL_ASSIGN(BoundLstm* const bound, allocate<BoundLstm>(context, run_lstm));
  const TensorView x = input(model, op, kX), y = output(model, op);
  kernels::SequenceLstmSpec& spec = bound->spec;
  spec.dtype = x.dtype;
  spec.time_major = o.time_major();
  spec.batches = x.shape[o.time_major() ? 1 : 0];
  spec.steps = x.shape[o.time_major() ? 0 : 1];
  spec.inputs = x.shape[2];
  spec.units = y.shape[2];
  spec.float_clip = o.cell_clip();
  for (int g = 0; g < 4; ++g) {
    const auto bind = [&](int position, const void*& pointer) {
      pointer = input(model, op, position).data.data();
      return context.read_constant(input_index(op, position), &pointer);
    };
    RUNNEL_TRY(bind(kXWeights + g, spec.x_weights[g]));
    RUNNEL_TRY(bind(kHWeights + g, spec.h_weights[g]));
    RUNNEL_TRY(bind(kBias + g, spec.bias[g]));
  }
  const std::size_t cell = x.dtype == DType::float32 ? sizeof(float) : sizeof(std::int16_t);
  if (arithmetic_of(op) == Arithmetic::stateful_shifts)
    bind_shifts(model, op, spec);
  else if (x.dtype != DType::float32)
    bind_scales(model, op, spec);
  RUNNEL_TRY(kernels::use_vectors(context.isa(), context.memory(), spec));
  context.chose_kernel(
      {spec.vectors == nullptr && spec.kernels == nullptr ? Isa::reference : vector_level(context.isa()),
       ""});
  const std::size_t values = static_cast<std::size_t>(spec.batches) * static_cast<std::size_t>(spec.units);
  bound->reset = reset_lstm;
  bound->x = operand(context, kX);
  bound->y = output_index(op);
  bound->h_bytes = values * size_of(x.dtype);
  bound->c_bytes = values * cell;
  bound->h = context.request_state(bound->h_bytes);
  bound->c = context.request_state(bound->c_bytes);
  context.request_scratch(spec.scratch_bytes());
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kLstmStatefulTflite{
    OpCode::lstm, Arithmetic::stateful_tflite, "lstm", check_lstm, stream_lstm, prepare_lstm};
const OperatorDefinition kLstmStatefulShifts{OpCode::lstm, Arithmetic::stateful_shifts,
                                             "lstm",       check_lstm,
                                             stream_lstm,  prepare_lstm};  // powers of two

}  // namespace runnel::ops
