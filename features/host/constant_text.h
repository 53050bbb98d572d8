// Numbers and options as C++ text that reproduces their bits, for the writers of tables.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "features/parameters.h"

namespace runnel::features {

template <std::integral T>
std::string text_of(T value) {
  return std::to_string(value);
}

// Hexadecimal, so that nothing is rounded.
inline std::string text_of(float value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), std::fabs(value), std::chars_format::hex).ptr;
  return (std::signbit(value) ? "-0x" : "0x") + std::string(digits.begin(), end) + "F";
}

template <class T>
std::string list_of(std::span<const T> values) {
  constexpr std::size_t kPerLine = 12;
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i % kPerLine == 0 ? "\n      " : " ") + text_of(values[i]) + ",";
  return text;
}

// The members of `options`, whose type in C++ is `type`. Parameters have the names and the order
// of the members.
template <class Options>
std::string members_of(std::span<const ParameterOf<Options>> parameters, const Options& options,
                       std::string_view type) {
  std::string text;
  for (const ParameterOf<Options>& parameter : parameters) {
    const double value = parameter.get(options);
    text += "\n      ." + std::string(parameter.name) + " = ";
    switch (parameter.type) {
      case ParameterFacts::Type::real:
        text += text_of(static_cast<float>(value));
        break;
      case ParameterFacts::Type::integer:
        text += text_of(static_cast<std::int32_t>(value));
        break;
      case ParameterFacts::Type::boolean:
        text += value != 0 ? "true" : "false";
        break;
      case ParameterFacts::Type::choice: {
        const std::string_view choice = choice_at(parameter.choices, static_cast<std::size_t>(value));
        text += "static_cast<decltype(" + std::string(type) + "::" + std::string(parameter.name) + ")>(" +
                text_of(static_cast<std::int32_t>(value)) + ") /* " + std::string(choice) + " */";
        break;
      }
    }
    text += ",";
  }
  return text;
}

}  // namespace runnel::features
