#include "compiler/embed/compiled_operators.h"

#include <fmt/format.h>

#include <limits>

#include "compiler/embed/operator_forms.h"
#include "inference/ops/bound.h"
#include "kernels/conv/device/conv_device.h"
#include "kernels/rom_kernels.h"

namespace runnel::compiler {
namespace {

std::string_view suffix(DType type) { return type == DType::int8 ? "int8" : "int16"; }

std::string requant_text(const kernels::Requant& r, ConstantPool& pool) {
  const auto count = static_cast<std::size_t>(r.count);
  const std::string multipliers = r.multiplier == nullptr ? "nullptr" : pool.numbers({r.multiplier, count});
  return fmt::format("{{static_cast<kernels::Rounding>({}), {}, {}, {}, {}, {}, {}}}",
                     static_cast<int>(r.rounding), multipliers, pool.numbers({r.shift, count}), r.count,
                     r.zero_point, r.low, r.high);
}

Result<CompiledOperator> compile_conv(const Prepared& prepared, const fb::Operator& op,
                                      const ops::BoundConv& bound, TensorNumbers& tensors,
                                      ConstantPool& pool) {
  if (bound.batch != 1 || bound.conv.spec.add)
    return Status(Code::unsupported) << "a batch of " << bound.batch << ", expected 1";
  kernels::ConvSpec s = bound.conv.spec;
  std::int64_t largest = 0;
  RUNNEL_TRY(kernels::largest_accumulator(s, largest));
  if (!kernels::rom_conv_fits(s, largest))
    return Status(Code::unsupported) << "accumulators up to " << largest
                                     << " or multipliers that only the general kernel computes";
  kernels::lay_down(s);
  const std::string weights = pool.bytes(ops::input(prepared.model(), op, 1).data);
  const std::string bias =
      s.bias == nullptr ? "nullptr" : pool.bytes(ops::input(prepared.model(), op, 2).data);
  const std::string requant = requant_text(s.requant, pool);
  CompiledOperator out;
  RUNNEL_TRY(connect(bound.x, bound.y, tensors, out));
  if (kernels::RomDense dense; kernels::as_rom(s, dense)) {
    out.type = "kernels::RomDense";
    out.value = fmt::format("{{{}, {}, {}, {}, {}, {}}}", weights, bias, dense.inputs, dense.channels,
                            dense.in_zero_point, requant);
    out.run = "kernels::rom_dense_int8";
  } else if (kernels::RomDepthwise depthwise; kernels::as_rom(s, depthwise)) {
    out.type = "kernels::RomDepthwise";
    out.value = fmt::format("{{{}, {}, {}, {}, {}, {}, {}}}", weights, bias, depthwise.channels,
                            depthwise.taps, depthwise.distance, depthwise.in_zero_point, requant);
    out.run = "kernels::rom_depthwise_int8";
  } else {
    out.type = "kernels::ConvSpec";
    out.value = fmt::format(
        "{{DType::{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},\n        {}, "
        "{}, false, -128, 127}}",
        name_of(s.dtype), s.in_height, s.in_width, s.in_channels, s.out_height, s.out_width, s.out_channels,
        s.kernel_height, s.kernel_width, s.stride_height, s.stride_width, s.dilation_height, s.dilation_width,
        s.pad_top, s.pad_left, s.groups, weights, bias, s.in_zero_point, requant, s.input_non_negative);
    out.run = fmt::format("kernels::rom_conv_{}", suffix(s.dtype));
  }
  return out;
}

}  // namespace

int TensorNumbers::of(int tensor) {
  const auto [found, added] = numbers_.try_emplace(tensor, static_cast<int>(kept_.size()));
  if (added) kept_.push_back(tensor);
  return found->second;
}

Status connect(const ops::Operand& x, int y, TensorNumbers& tensors, CompiledOperator& out,
               const ops::Operand* addend) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (x.back > kMax || (addend != nullptr && addend->back > kMax))
    return Status(Code::unsupported) << "a history of " << x.back << " bytes, expected at most " << kMax;
  out.x = tensors.of(x.tensor);
  out.x_back = x.back;
  if (addend != nullptr) {
    out.addend = tensors.of(addend->tensor);
    out.addend_back = addend->back;
  }
  out.y = tensors.of(y);
  return {};
}

Result<CompiledOperator> direct_form(const OperatorSource& source, const ops::Operand& x, int y,
                                     std::string type, std::string value, std::string run) {
  CompiledOperator out;
  RUNNEL_TRY(connect(x, y, source.tensors, out));
  out.type = std::move(type);
  out.value = std::move(value);
  out.run = std::move(run);
  return out;
}

std::string OperatorSource::text_of(const ops::Operand& operand) const {
  return fmt::format("{{{}, {}}}", tensors.of(operand.tensor), operand.back);
}

namespace {

bool is_number(DType type) { return ops::is_integer(type) || type == DType::float32; }

// The forms of an operator of integers, or nothing for one that has none.
using Form = Result<CompiledOperator> (*)(const OperatorSource&);
Form pair_form(Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::espdl || arithmetic == Arithmetic::exact) return compile_binary;
  return arithmetic == Arithmetic::tflite ? compile_affine_pair : nullptr;
}
Form form_of(OpCode code, Arithmetic arithmetic) {
  const bool tflite = arithmetic == Arithmetic::tflite, fixed = arithmetic == Arithmetic::fixed_point;
  switch (code) {
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::max:
    case OpCode::min:
      return pair_form(arithmetic);
    case OpCode::squared_difference:
      return compile_affine_pair;
    case OpCode::prelu:
      return tflite ? compile_affine_pair : nullptr;
    case OpCode::lut:
      return compile_unary;
    case OpCode::relu:
    case OpCode::clip:
    case OpCode::requantize:
    case OpCode::quantize:
    case OpCode::dequantize:
      return tflite ? compile_affine_unary : compile_unary;
    case OpCode::abs:
    case OpCode::neg:
    case OpCode::exp:
    case OpCode::log:
    case OpCode::sqrt:
    case OpCode::sigmoid:
    case OpCode::tanh:
    case OpCode::swish:
    case OpCode::hard_sigmoid:
    case OpCode::hard_swish:
    case OpCode::gelu:
    case OpCode::elu:
    case OpCode::leaky_relu:
    case OpCode::mish:
    case OpCode::softplus:
    case OpCode::erf:
    case OpCode::swoosh:
      return tflite ? compile_affine_unary : compile_function;
    case OpCode::attention:
      return fixed ? compile_fixed_attention : compile_attention;
    case OpCode::layer_norm:
      return fixed ? compile_fixed_norm : compile_norm;
    case OpCode::rms_norm:
    case OpCode::lp_norm:
      return compile_norm;
    case OpCode::softmax:
    case OpCode::log_softmax:
      return tflite ? compile_affine_softmax : compile_softmax;
    case OpCode::matmul:
      return compile_matmul;
    case OpCode::reshape:
      return compile_copy;
    case OpCode::transpose:
    case OpCode::slice:
      return compile_move;
    case OpCode::depth_to_space:
    case OpCode::space_to_depth:
    case OpCode::expand:
      return compile_strided;
    case OpCode::concat:
    case OpCode::split:
      return compile_parts;
    default:
      return nullptr;
  }
}
// Whether an operator may have operands of float32: those between the integers and the borders of a model.
bool takes_floats(OpCode code) {
  return code == OpCode::quantize || code == OpCode::dequantize || code == OpCode::softmax ||
         code == OpCode::log_softmax || code == OpCode::reshape || code == OpCode::transpose ||
         code == OpCode::slice || code == OpCode::concat || code == OpCode::split || code == OpCode::expand;
}

}  // namespace

Result<CompiledOperator> compile_operator(const Prepared& prepared, int index, const BoundOperator& bound,
                                          TensorNumbers& tensors, ConstantPool& pool) {
  const OperatorSource source{prepared, index, bound, tensors, pool};
  const fb::Operator& op = source.op();
  const OpCode code = code_of(op);
  const Arithmetic arithmetic = arithmetic_of(op);
  const DType from = ops::input_index(op, 0) < 0 ? DType::none : ops::input(prepared.model(), op, 0).dtype,
              to = ops::output(prepared.model(), op).dtype;
  const bool integers = ops::is_integer(from) && ops::is_integer(to);
  if ((code == OpCode::conv || code == OpCode::fully_connected) && integers &&
      (arithmetic == Arithmetic::espdl || arithmetic == Arithmetic::multipliers))
    return compile_conv(prepared, op, source.as<ops::BoundConv>(), tensors, pool);
  const Form form = form_of(code, arithmetic);
  if (form == nullptr || !is_number(from) || !is_number(to) || (!integers && !takes_floats(code)))
    return Status(Code::unsupported) << "no compiled form for " << name_of(is_number(to) ? from : to);
  return form(source);
}

}  // namespace runnel::compiler
