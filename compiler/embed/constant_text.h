// Values as initializers in C++, for the constants of a compiled model.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/dtype.h"
#include "kernels/arithmetic/requantize.h"
#include "kernels/elementwise/affine.h"
#include "kernels/movement.h"

namespace runnel::compiler {

// The type of C++: "std::int8_t". `type`: int8, int16 or float32.
inline std::string_view c_type(DType type) {
  return type == DType::int8 ? "std::int8_t" : type == DType::int16 ? "std::int16_t" : "float";
}
inline std::string text_of(DType type) {
  return type == DType::none ? "DType::none" : fmt::format("DType::{}", name_of(type));
}
inline std::string text_of(kernels::Rounding rounding) {
  return fmt::format("static_cast<kernels::Rounding>({})", static_cast<int>(rounding));
}
// Exactly this value.
inline std::string text_of(float value) { return fmt::format("{:a}F", value); }
inline std::string text_of(const kernels::Multiplier& of) {
  return fmt::format("{{{}, {}}}", of.value, of.shift);
}
inline std::string text_of(const kernels::Affine& of) {
  return fmt::format("{{{}, {}, {}}}", text_of(of.dtype), text_of(of.scale), of.zero_point);
}
// "{1, 2, 3}" of any numbers; of a std::array with a second pair of braces around it.
template <class Values>
std::string list_of(const Values& values) {
  std::string out = "{";
  for (const auto& value : values) out += fmt::format("{}{}", out.size() > 1 ? ", " : "", value);
  return out + "}";
}
template <class Array>
std::string array_of(const Array& values) {
  return "{" + list_of(values) + "}";
}

// The base of a bound operator that `run` runs.
inline std::string bound_text(std::string_view run) {
  return fmt::format("{{{}, nullptr, nullptr, 1, 0, false, false, {{}}}}", run);
}

}  // namespace runnel::compiler
