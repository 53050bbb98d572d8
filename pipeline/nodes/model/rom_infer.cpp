#include "pipeline/nodes/model/rom_infer.h"

#include <cstring>

#include "base/crc32c.h"
#include "kernels/rom_kernels.h"

namespace runnel::pipeline {
namespace {

const CompiledModel& of(const void* self) noexcept { return *static_cast<const CompiledModel*>(self); }

// Not inlined: otherwise its messages would take stack while the session is made.
[[gnu::noinline]] Status check(const CompiledModel& m, const NodeContext& context) noexcept {
  for (const CompiledModel::Constants& part : m.constants) {
    if (const std::uint32_t crc = crc32c({static_cast<const std::byte*>(part.data), part.bytes});
        crc != part.crc) {
      return Status(Code::invalid_data) << "constants of the model: checksum " << crc << ", expected "
                                        << part.crc << ": the image is damaged";
    }
  }
  const Format& given = context.input;
  const bool integers = m.given != DType::float32;
  if (given.dtype != m.given || given.channels - given.beside != m.shape.in_values ||
      (integers && !given.codes && given.exponent != m.given_exponent)) {
    return Status(Code::mismatch) << context.input_label
                                  << " gives other frames than this model was compiled for: expected "
                                  << m.shape.in_values << ' ' << name_of(m.given);
  }
  return {};
}

}  // namespace

void copy_values(const void*, const std::byte* from, std::int64_t values, std::byte* to) noexcept {
  std::memcpy(to, from, static_cast<std::size_t>(values));
}
void copy_wide_values(const void*, const std::byte* from, std::int64_t values, std::byte* to) noexcept {
  std::memcpy(to, from, 2 * static_cast<std::size_t>(values));
}
void copy_floats(const void*, const std::byte* from, std::int64_t values, std::byte* to) noexcept {
  std::memcpy(to, from, 4 * static_cast<std::size_t>(values));
}
void quantize_int8(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept {
  kernels::rom_quantize<std::int8_t>(static_cast<std::size_t>(values), reinterpret_cast<const float*>(from),
                                     to, of(self).in_exponent, of(self).rounding);
}
void quantize_int16(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept {
  kernels::rom_quantize<std::int16_t>(static_cast<std::size_t>(values), reinterpret_cast<const float*>(from),
                                      to, of(self).in_exponent, of(self).rounding);
}
void quantize_affine(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept {
  kernels::affine_quantize(of(self).in_affine, of(self).rounding, static_cast<std::size_t>(values),
                           reinterpret_cast<const float*>(from), to);
}
void dequantize_affine(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept {
  kernels::affine_dequantize(of(self).out_affine, static_cast<std::size_t>(values), from,
                             reinterpret_cast<float*>(to));
}
void dequantize_int8(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept {
  kernels::rom_dequantize<std::int8_t>(static_cast<std::size_t>(values), from, reinterpret_cast<float*>(to),
                                       of(self).out_exponent);
}
void dequantize_int16(const void* self, const std::byte* from, std::int64_t values, std::byte* to) noexcept {
  kernels::rom_dequantize<std::int16_t>(static_cast<std::size_t>(values), from, reinterpret_cast<float*>(to),
                                        of(self).out_exponent);
}

Status RomInfer::prepare(NodeContext& context) noexcept {
  const CompiledModel& m = *model;
  RUNNEL_TRY(check(m, context));
  Bypass* bypass = nullptr;
  RUNNEL_TRY(make_bypass(context, m.prepared, m.shape, m.prepared.block(), bypass));
  RUNNEL_ASSIGN(const Session session, ModelStream::make_session(context, m.prepared));
  stream_.start(context, session, m.shape, m.input, m.output, bypass);
  context.output.kind = Kind::frames;
  context.output.dtype = m.gives;
  context.output.exponent = m.gives == DType::float32 ? 0 : m.out_exponent;
  context.output.codes = false;
  context.output.channels = context.input.beside + static_cast<std::int32_t>(m.shape.out_values);
  context.output.labels = m.labels;
  return {};
}

Status RomInfer::make_bypass(const NodeContext&, const Prepared&, const ModelStreamShape&, std::int64_t,
                             Bypass*&) noexcept {
  return {};
}

Status RomInfer::process(const Block& in, Output& out) noexcept {
  stream_.process(in, out);
  return {};
}

Status RomInfer::flush(Output& out) noexcept {
  stream_.flush(out);
  return {};
}

}  // namespace runnel::pipeline
