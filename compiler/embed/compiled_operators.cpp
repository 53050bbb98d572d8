#include "compiler/embed/compiled_operators.h"

#include <fmt/format.h>

#include <limits>

#include "inference/ops/bound.h"
#include "kernels/conv/arm/conv_device.h"
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

// Offsets of a step are of 32 bits.
Status connect(const ops::Operand& x, int y, TensorNumbers& tensors, CompiledOperator& out,
               const ops::Operand* addend = nullptr) {
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

// With nothing but zeros: whether the loops of one operation and type can do it does not depend on values.
template <kernels::BinaryOp kOp>
bool fits(const kernels::BinarySpec& spec) {
  const std::vector<std::int16_t> a(spec.a_count), b(spec.b_count);
  std::vector<std::int16_t> y(spec.count);
  return spec.dtype == DType::int8
             ? kernels::rom_binary<kOp, std::int8_t>(spec, a.data(), b.data(), y.data())
             : kernels::rom_binary<kOp, std::int16_t>(spec, a.data(), b.data(), y.data());
}
bool fits(const kernels::BinarySpec& spec) {
  switch (spec.op) {
    case kernels::BinaryOp::add:
      return fits<kernels::BinaryOp::add>(spec);
    case kernels::BinaryOp::sub:
      return fits<kernels::BinaryOp::sub>(spec);
    case kernels::BinaryOp::mul:
      return fits<kernels::BinaryOp::mul>(spec);
    case kernels::BinaryOp::max:
      return fits<kernels::BinaryOp::max>(spec);
    case kernels::BinaryOp::min:
      return fits<kernels::BinaryOp::min>(spec);
    case kernels::BinaryOp::prelu:
      break;
  }
  return false;
}
std::string_view name_of(kernels::BinaryOp op) {
  switch (op) {
    case kernels::BinaryOp::add:
      return "add";
    case kernels::BinaryOp::sub:
      return "sub";
    case kernels::BinaryOp::mul:
      return "mul";
    case kernels::BinaryOp::max:
      return "max";
    case kernels::BinaryOp::min:
      return "min";
    case kernels::BinaryOp::prelu:
      break;
  }
  return {};
}

Result<CompiledOperator> compile_binary(const ops::BoundBinary& bound, TensorNumbers& tensors) {
  kernels::BinarySpec s = bound.spec;
  if (bound.broadcast.outer_rank != 0)
    return Status(Code::unsupported, "operands that are repeated in more than one way");
  // As the general form takes it: the same bits from integers alone.
  const int shift = s.y_exponent - s.a_exponent - s.b_exponent;
  if (s.op == kernels::BinaryOp::mul && s.dtype == DType::int8 && shift >= 0 && shift <= 22) s.exact = true;
  if (!fits(s))
    return Status(Code::unsupported) << "exponents " << s.a_exponent << " and " << s.b_exponent
                                     << " with a result of " << s.y_exponent;
  CompiledOperator out;
  RUNNEL_TRY(connect(bound.a, bound.y, tensors, out, &bound.b));
  out.type = "kernels::BinarySpec";
  out.value = fmt::format(
      "{{kernels::BinaryOp::{}, DType::{}, {}, {}, {}, {}, {}, {}, static_cast<kernels::Rounding>({}), {}, "
      "{}, {}}}",
      name_of(s.op), suffix(s.dtype), s.count, s.a_count, s.b_count, s.a_exponent, s.b_exponent, s.y_exponent,
      static_cast<int>(s.rounding), s.exact, s.low, s.high);
  out.run = kernels::is_plain_sum(s)
                ? std::string("kernels::rom_sum_int8")
                : fmt::format("kernels::run_rom_binary<kernels::BinaryOp::{}, std::{}_t>", name_of(s.op),
                              suffix(s.dtype));
  return out;
}

Result<CompiledOperator> compile_copy(const ops::BoundCopy& bound, TensorNumbers& tensors) {
  if (bound.rescale.needed()) return Status(Code::unsupported, "a change of scale on the way");
  CompiledOperator out;
  RUNNEL_TRY(connect(bound.x, bound.y, tensors, out));
  out.type = "std::size_t";
  out.value = fmt::format("{}", bound.bytes);
  out.run = "kernels::rom_copy";
  return out;
}

}  // namespace

int TensorNumbers::of(int tensor) {
  const auto [found, added] = numbers_.try_emplace(tensor, static_cast<int>(kept_.size()));
  if (added) kept_.push_back(tensor);
  return found->second;
}

Result<CompiledOperator> compile_operator(const Prepared& prepared, int index, const BoundOperator& bound,
                                          TensorNumbers& tensors, ConstantPool& pool) {
  const fb::Operator& op = prepared.model().op(index);
  const TensorView y = ops::output(prepared.model(), op);
  const bool integers = y.dtype == DType::int8 || y.dtype == DType::int16;
  const Status none = Status(Code::unsupported) << "no compiled form for " << name_of(y.dtype);
  switch (code_of(op)) {
    case OpCode::conv:
    case OpCode::fully_connected:
      if (!integers ||
          (arithmetic_of(op) != Arithmetic::espdl && arithmetic_of(op) != Arithmetic::multipliers))
        return none;
      return compile_conv(prepared, op, static_cast<const ops::BoundConv&>(bound), tensors, pool);
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::max:
    case OpCode::min:
      if (!integers || arithmetic_of(op) > Arithmetic::exact) return none;
      return compile_binary(static_cast<const ops::BoundBinary&>(bound), tensors);
    case OpCode::transpose:
      if (!bound.keeps_bytes) return Status(Code::unsupported, "elements in another order");
      [[fallthrough]];
    case OpCode::reshape:
      return compile_copy(static_cast<const ops::BoundCopy&>(bound), tensors);
    default:
      return none;
  }
}

}  // namespace runnel::compiler
