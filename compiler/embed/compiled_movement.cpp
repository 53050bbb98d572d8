// Compiled forms of operators that move data.
#include <fmt/format.h>

#include "compiler/embed/constant_text.h"
#include "compiler/embed/operator_forms.h"
#include "inference/ops/bound.h"
#include "kernels/elementwise/rom_elementwise.h"

namespace runnel::compiler {
namespace {

Status check_rescale(const ops::Rescale& of) {
  if (!of.needed() || kernels::rom_requantize_fits(of.shift)) return {};
  return Status(Code::unsupported) << "a change of scale by a shift of " << of.shift
                                   << " on the way, expected -15 to 30";
}

// With a table of one function, where it is needed at all.
std::string rescale_text(const ops::Rescale& of) {
  if (!of.needed()) return "{}";
  return fmt::format("{{&kernels::kRomRequantize{}, {}, {}, {}}}", 8 * size_of(of.dtype), text_of(of.dtype),
                     of.shift, text_of(of.rounding));
}

}  // namespace

Result<CompiledOperator> compile_copy(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundCopy>();
  const ops::Rescale& rescale = bound.rescale;
  if (!rescale.needed())
    return direct_form(source, bound.x, bound.y, "std::size_t", fmt::format("{}", bound.bytes),
                       "kernels::rom_copy");
  RUNNEL_TRY(check_rescale(rescale));
  const bool bytes = rescale.dtype == DType::int8;
  return direct_form(source, bound.x, bound.y, "kernels::RomRequantize",
                     fmt::format("{{{}, {}, {}, {}, {}}}", bound.count, rescale.shift,
                                 text_of(rescale.rounding), bytes ? -128 : -32768, bytes ? 127 : 32767),
                     fmt::format("kernels::rom_requantize<{0}, {0}>", c_type(rescale.dtype)));
}

Result<CompiledOperator> compile_move(const OperatorSource& source) {
  if (source.bound.keeps_bytes) return compile_copy(source);
  const auto& bound = source.as<ops::BoundMove>();
  RUNNEL_TRY(check_rescale(bound.rescale));
  const bool slice = code_of(source.op()) == OpCode::slice;
  std::string perm;
  for (const std::uint8_t axis : bound.perm) perm += fmt::format("{}, ", axis);
  const std::string x = source.text_of(bound.x);
  CompiledOperator out;
  out.type = "ops::BoundMove";
  out.value =
      fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {{{}}}, {}}}",
                  bound_text(slice ? "ops::run_slice" : "ops::run_transpose"), x, source.tensors.of(bound.y),
                  bound.element, bound.count, bound.rank, array_of(bound.x_dims), array_of(bound.y_dims),
                  array_of(bound.begin), array_of(bound.step), perm, rescale_text(bound.rescale));
  return out;
}

Result<CompiledOperator> compile_strided(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundStrided>();
  RUNNEL_TRY(check_rescale(bound.rescale));
  const std::string x = source.text_of(bound.x);
  CompiledOperator out;
  out.type = "ops::BoundStrided";
  out.value = fmt::format("{{{}, {{{}, {}, {}, {}}}, {}, {}, {}, {}}}", bound_text("ops::run_strided"),
                          bound.copy.element_size, bound.copy.rank, array_of(bound.copy.dims),
                          array_of(bound.copy.strides), x, source.tensors.of(bound.y), bound.count,
                          rescale_text(bound.rescale));
  return out;
}

Result<CompiledOperator> compile_parts(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundParts>();
  const bool split = code_of(source.op()) == OpCode::split;
  const std::string parts = fmt::format("kPartsOf{}", source.index);
  CompiledOperator out;
  out.before = fmt::format("constinit const ops::Part {}[] = {{\n", parts);
  for (std::int32_t i = 0; i < bound.count; ++i) {
    const ops::Part& part = bound.parts[i];
    RUNNEL_TRY(check_rescale(part.rescale));
    out.before += fmt::format("    {{{}, {}, {}, {}, {}, {}}},\n", split ? "{}" : source.text_of(part.x),
                              split ? source.tensors.of(part.tensor) : -1, array_of(part.dims), part.offset,
                              part.count, rescale_text(part.rescale));
  }
  out.before += "};\n";
  out.type = "ops::BoundParts";
  out.value = fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}}}",
                          bound_text(split ? "ops::run_split" : "ops::run_concat"),
                          split ? source.text_of(bound.x) : "{}", split ? -1 : source.tensors.of(bound.y),
                          bound.element, bound.rank, bound.axis, array_of(bound.dims), bound.count, parts);
  return out;
}

}  // namespace runnel::compiler
