// Compiled forms of operators that work element by element.
#include <fmt/format.h>

#include <vector>

#include "compiler/embed/constant_text.h"
#include "compiler/embed/operator_forms.h"
#include "inference/ops/bound.h"
#include "kernels/elementwise/rom_elementwise.h"
#include "kernels/rom_kernels.h"

namespace runnel::compiler {
namespace {

// ---- two operands

// Pieces of a broadcast in several calls.
std::string broadcast_text(const ops::Broadcast<2>& of) {
  return fmt::format("{{{}, {}, {}, {}, {{{{{}, {}}}}}, {}}}", of.count, array_of(of.counts), of.outer_rank,
                     array_of(of.outer), array_of(of.stride[0]), array_of(of.stride[1]), of.y_bytes);
}

// `kernel` in one call, or for each piece of a broadcast.
Result<CompiledOperator> pair_form(const OperatorSource& source, const ops::BoundPair& bound,
                                   std::string type, std::string value, std::string kernel) {
  CompiledOperator out;
  if (bound.broadcast.outer_rank == 0) {
    RUNNEL_TRY(connect(bound.a, bound.y, source.tensors, out, &bound.b));
    out.type = std::move(type);
    out.value = std::move(value);
    out.run = std::move(kernel);
    return out;
  }
  const std::string a = source.text_of(bound.a), b = source.text_of(bound.b);
  out.type = fmt::format("ops::RomPair<{}>", type);
  out.value = fmt::format("{{{{{}, {}, {}, {}, {}}}, {}}}",
                          bound_text(fmt::format("ops::run_rom_pair<{}, {}>", type, kernel)),
                          broadcast_text(bound.broadcast), a, b, source.tensors.of(bound.y), value);
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

std::string_view name_of(kernels::AffinePair op) {
  constexpr std::string_view kNames[] = {"add", "sub", "mul", "max", "min", "squared_difference", "prelu"};
  return kNames[static_cast<std::size_t>(op)];
}

}  // namespace

Result<CompiledOperator> compile_binary(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundBinary>();
  kernels::BinarySpec s = bound.spec;
  const std::string_view type = c_type(s.dtype);
  // As the general form takes it: the same bits from integers alone.
  const int shift = s.y_exponent - s.a_exponent - s.b_exponent;
  const bool product = s.op == kernels::BinaryOp::mul;
  if (product && s.dtype == DType::int8 && shift >= 0 && shift <= 22) s.exact = true;
  std::string kernel;
  if (fits(s))
    kernel = kernels::is_plain_sum(s)
                 ? std::string("kernels::rom_sum_int8")
                 : fmt::format("kernels::run_rom_binary<kernels::BinaryOp::{}, {}>", name_of(s.op), type);
  else if (product && !s.exact)
    kernel = fmt::format("kernels::rom_multiply<{}>", type);
  else
    kernel = "kernels::rom_binary_any";
  return pair_form(source, bound, "kernels::BinarySpec",
                   fmt::format("{{kernels::BinaryOp::{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}",
                               name_of(s.op), text_of(s.dtype), s.count, s.a_count, s.b_count, s.a_exponent,
                               s.b_exponent, s.y_exponent, text_of(s.rounding), s.exact, s.low, s.high),
                   kernel);
}

Result<CompiledOperator> compile_affine_pair(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundAffinePair>();
  const kernels::AffinePairSpec& s = bound.spec;
  return pair_form(
      source, bound, "kernels::AffinePairSpec",
      fmt::format("{{kernels::AffinePair::{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}",
                  name_of(s.op), text_of(s.dtype), s.count, s.a_count, s.b_count, s.a_zero, s.b_zero,
                  s.y_zero, s.left_shift, text_of(s.a), text_of(s.b), text_of(s.y), s.low, s.high),
      fmt::format("kernels::rom_affine_pair{}<kernels::AffinePair::{}, {}>",
                  kernels::affine_pair_in_32_bits(s) ? "32" : "", name_of(s.op), c_type(s.dtype)));
}

// ---- one operand

namespace {

Result<CompiledOperator> table_form(const OperatorSource& source, const ops::Operand& x, int y,
                                    std::size_t count, const void* table) {
  return direct_form(
      source, x, y, "kernels::RomTable8",
      fmt::format("{{{}, {}}}", count, source.pool.bytes({static_cast<const std::byte*>(table), 256})),
      "kernels::rom_table8");
}

Result<CompiledOperator> compile_requantize(const OperatorSource& source, const ops::BoundUnary& bound) {
  if (!kernels::rom_requantize_fits(bound.shift))
    return Status(Code::unsupported) << "a shift of " << bound.shift << ", expected -15 to 30";
  return direct_form(source, bound.x, bound.y, "kernels::RomRequantize",
                     fmt::format("{{{}, {}, {}, {}, {}}}", bound.count, bound.shift, text_of(bound.rounding),
                                 bound.low, bound.high),
                     fmt::format("kernels::rom_requantize<{}, {}>", c_type(bound.from), c_type(bound.to)));
}

}  // namespace

Result<CompiledOperator> compile_unary(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundUnary>();
  const OpCode code = code_of(source.op());
  if (code == OpCode::lut && bound.to == DType::int8)
    return table_form(source, bound.x, bound.y, bound.count, bound.table);
  if (code == OpCode::lut) {
    const std::string table =
        source.pool.bytes({bound.table, static_cast<std::size_t>(bound.entries) * sizeof(std::int16_t)});
    return direct_form(source, bound.x, bound.y, "kernels::RomTable16",
                       fmt::format("{{{}, {}, {}, {}, {}}}", bound.count, table, bound.entries, bound.linear,
                                   text_of(bound.rounding)),
                       "kernels::rom_table16");
  }
  if (code != OpCode::quantize && code != OpCode::dequantize) return compile_requantize(source, bound);
  const bool integers = code == OpCode::quantize;
  return direct_form(source, bound.x, bound.y, "kernels::RomScale",
                     fmt::format("{{{}, {}, {}}}", bound.count, bound.shift, text_of(bound.rounding)),
                     fmt::format("kernels::{}<{}>", integers ? "rom_to_integers" : "rom_to_floats",
                                 c_type(integers ? bound.to : bound.from)));
}

Result<CompiledOperator> compile_affine_unary(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundAffine>();
  const OpCode code = code_of(source.op());
  const kernels::AffineUnarySpec& s = bound.spec;
  if (code == OpCode::quantize || code == OpCode::dequantize) {
    const bool integers = code == OpCode::quantize;
    return direct_form(
        source, bound.x, bound.y, "kernels::RomAffineScale",
        fmt::format("{{{}, {}, {}}}", bound.count, text_of(integers ? s.y : s.x), text_of(bound.rounding)),
        integers ? "kernels::rom_affine_to_integers" : "kernels::rom_affine_to_floats");
  }
  if (bound.table != nullptr) return table_form(source, bound.x, bound.y, bound.count, bound.table);
  const bool requantizes = s.op == kernels::AffineUnary::requantize || s.op == kernels::AffineUnary::relu;
  return direct_form(
      source, bound.x, bound.y, "kernels::RomAffineUnary",
      fmt::format(
          "{{{}, {{static_cast<kernels::AffineUnary>({}), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, "
          "{}, {}, {}}}}}",
          bound.count, static_cast<int>(s.op), text_of(s.x), text_of(s.y), text_of(s.multiplier),
          text_of(s.negative), s.negate, s.radius, s.input_multiplier, s.input_shift, s.output_factor,
          s.relu_factor, s.output_exponent, s.relu_exponent, s.low, s.high),
      requantizes ? "kernels::rom_affine_requantize" : "kernels::rom_affine_unary");
}

Result<CompiledOperator> compile_function(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundFunction>();
  if (bound.table != nullptr) return table_form(source, bound.x, bound.y, bound.count, bound.table);
  const kernels::QuantizedFunction& how = bound.how;
  return direct_form(
      source, bound.x, bound.y, "kernels::RomFunction",
      fmt::format("{{{}, {{{{static_cast<kernels::Function>({}), {}, {}, {}}}, {}, {}, {}, {}, {}}}}}",
                  bound.count, static_cast<int>(how.spec.function), text_of(how.spec.alpha),
                  text_of(how.spec.beta), text_of(how.spec.gamma), text_of(how.from), text_of(how.to),
                  how.x_exponent, how.y_exponent, text_of(how.rounding)),
      "kernels::rom_function");
}

}  // namespace runnel::compiler
