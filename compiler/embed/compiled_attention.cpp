// Compiled forms of the operators of attention networks.
#include <fmt/format.h>

#include <span>

#include "compiler/embed/constant_text.h"
#include "compiler/embed/operator_forms.h"
#include "inference/ops/bound.h"

namespace runnel::compiler {
namespace {

std::string window_text(const OperatorSource& source, const ops::BoundWindow& of, std::string_view run) {
  const auto tensor = [&](int i) { return source.tensors.of(of.tensors[i]); };
  const int q = tensor(0), k = tensor(1), v = tensor(2);
  return fmt::format("{{{}, {{{}, {}, {}}}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}",
                     bound_text(run), q, k, v, source.tensors.of(of.y), of.fixed, of.in_frames, of.out_frames,
                     of.most_keys, of.left, of.right, of.chunk, of.heads, of.key_size, of.value_size,
                     of.distance_size);
}

std::string softmax_text(const kernels::SoftmaxSpec& s) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}, Isa::generic}}", s.logarithm, text_of(s.from),
                     text_of(s.to), s.x_exponent, s.y_exponent, text_of(s.rounding), s.outer, s.count,
                     s.inner);
}

// All elements of a constant operand.
template <class T>
std::span<const T> elements_of(const OperatorSource& source, int position) {
  const TensorView tensor = ops::input(source.model(), source.op(), position);
  return {reinterpret_cast<const T*>(tensor.data.data()), static_cast<std::size_t>(tensor.shape.elements())};
}

}  // namespace

Result<CompiledOperator> compile_fixed_attention(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundFixedAttention>();
  const kernels::FixedAttentionSpec& s = bound.spec;
  const std::string bias =
      bound.bias == nullptr ? "nullptr" : source.pool.numbers(elements_of<std::int32_t>(source, ops::kBias));
  const std::string distances =
      bound.distances == nullptr
          ? "nullptr"
          : source.pool.bytes(ops::input(source.model(), source.op(), ops::kDistances).data);
  CompiledOperator out;
  out.type = "ops::BoundFixedAttention";
  out.value = fmt::format(
      "{{{},\n    {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, &kernels::kAttentionSums{}}},\n    "
      "{}, "
      "{}, {}, {}}}",
      window_text(source, bound, fmt::format("ops::run_fixed_attention<{}>", c_type(s.dtype))),
      text_of(s.dtype), s.key_size, s.value_size, s.distance_size, s.key_stride, s.value_stride,
      s.distance_stride, s.query_zero, s.value_zero, s.y_zero, text_of(s.score), text_of(s.distance),
      text_of(s.result), 8 * size_of(s.dtype), bias, distances, bound.bias_stride,
      bound.distance_head_stride);
  return out;
}

Result<CompiledOperator> compile_attention(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundAttention>();
  CompiledOperator out;
  out.type = "ops::BoundAttention";
  out.value = fmt::format(
      "{{{},\n    {}, {}, {}, {}, {}, {}, {}, nullptr, nullptr, 0, 0, 0, {}, {}, {}}}",
      window_text(source, bound, fmt::format("ops::run_window_attention<{}>", c_type(bound.dtype))),
      text_of(bound.dtype), softmax_text(bound.softmax), bound.score_shift, bound.scale, bound.scale_shift,
      bound.sum_shift, text_of(bound.real_scale), text_of(bound.rounding), bound.weights_offset,
      bound.powers_offset);
  return out;
}

Result<CompiledOperator> compile_fixed_norm(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundFixedNorm>();
  const kernels::FixedLayerNormSpec& s = bound.spec;
  const auto count = static_cast<std::size_t>(s.count);
  const std::string gain = source.pool.shorts({s.gain, count});
  const std::string offset = s.offset == nullptr ? "nullptr" : source.pool.numbers({s.offset, count});
  return direct_form(source, bound.x, bound.y, "kernels::FixedLayerNormSpec",
                     fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}}}", text_of(s.from), text_of(s.to),
                                 s.rows, s.count, gain, offset, s.epsilon, text_of(s.result), s.y_zero),
                     fmt::format("kernels::rom_layer_norm<{}, {}>", c_type(s.from), c_type(s.to)));
}

Result<CompiledOperator> compile_norm(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundNorm>();
  const auto count = static_cast<std::size_t>(bound.count);
  const auto factors = [&](const float* values) {
    return values == nullptr ? std::string("nullptr") : source.pool.floats({values, count});
  };
  const std::string gain = factors(bound.gain), offset = factors(bound.offset), x = source.text_of(bound.x);
  CompiledOperator out;
  out.type = "ops::BoundNorm";
  out.value = fmt::format(
      "{{{}, {}, {}, {}, {}, static_cast<ops::Norm>({}), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}",
      bound_text(fmt::format("ops::run_norm_as<{}, {}>", c_type(bound.from), c_type(bound.to))), x,
      source.tensors.of(bound.y), text_of(bound.from), text_of(bound.to), static_cast<int>(bound.kind),
      bound.p, bound.outer, bound.count, bound.inner, text_of(bound.x_scale), text_of(bound.y_scale),
      text_of(bound.epsilon), text_of(bound.rounding), gain, offset);
  return out;
}

Result<CompiledOperator> compile_softmax(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundSoftmax>();
  const std::string x = source.text_of(bound.x);
  CompiledOperator out;
  out.type = "ops::BoundSoftmax";
  out.value = fmt::format("{{{}, {}, {}, {}}}", bound_text("ops::run_softmax"), softmax_text(bound.spec), x,
                          source.tensors.of(bound.y));
  return out;
}

Result<CompiledOperator> compile_affine_softmax(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundAffineSoftmax>();
  const kernels::AffineSoftmaxSpec& s = bound.spec;
  return direct_form(source, bound.x, bound.y, "kernels::AffineSoftmaxSpec",
                     fmt::format("{{{}, {}, {}, {}, {}, {}, nullptr}}", text_of(s.from), text_of(s.to),
                                 s.rows, s.count, text_of(s.multiplier), s.least_difference),
                     fmt::format("kernels::rom_affine_softmax<{}>", c_type(s.from)));
}

Result<CompiledOperator> compile_matmul(const OperatorSource& source) {
  const auto& bound = source.as<ops::BoundMatmul>();
  const kernels::MatmulSpec& s = bound.spec;
  const std::string shifts = s.shift == nullptr
                                 ? "nullptr"
                                 : source.pool.numbers({s.shift, static_cast<std::size_t>(s.shift_count)});
  const std::string a = source.text_of(bound.a), b = source.text_of(bound.b);
  CompiledOperator out;
  out.type = "ops::BoundMatmul";
  out.value = fmt::format(
      "{{{},\n    {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, false, nullptr, nullptr}},\n    "
      "{}, {}, {}, {}, {}, {}, {}, {}}}",
      bound_text(fmt::format("ops::run_matmul_as<{}, {}>", c_type(s.dtype), s.affine)), text_of(s.dtype),
      s.rows, s.inner, s.columns, shifts, s.shift_count, text_of(s.rounding), s.affine, s.a_zero, s.b_zero,
      s.y_zero, text_of(s.multiplier), s.low, s.high, a, b, source.tensors.of(bound.y), bound.batch_rank,
      array_of(bound.batch), list_of(bound.a_stride), list_of(bound.b_stride), bound.y_bytes);
  return out;
}

}  // namespace runnel::compiler
