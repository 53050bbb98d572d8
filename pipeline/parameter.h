// Parameters of nodes: one table per node type. The parser of graphs, the help and the documentation use it.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace runnel::pipeline {

class Node;

enum class ParameterType : std::uint8_t { integer, real, boolean, text };
std::string_view name_of(ParameterType type) noexcept;

// Only the member that belongs to `type` is valid.
struct Value {
  ParameterType type = ParameterType::text;
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::string_view text;  // owned by the caller, who keeps it as long as the node
};

struct Parameter {
  std::string_view name;
  ParameterType type = ParameterType::text;
  std::string_view unit;     // "Hz", "ms", "s", "frames", "samples"; empty: a plain number
  double low = 0, high = 0;  // both included; numbers only
  std::string_view choices;  // texts: "a|b|c"; empty: any
  std::string_view help;
  bool required = false;
  Status (*set)(const Parameter& self, Node& node, const Value& value) noexcept = nullptr;
  // The node's present value; on a fresh node, the default. Texts may be empty: none.
  Value (*get)(const Parameter& self, const Node& node) noexcept = nullptr;
};

// From text. Numbers may carry the parameter's unit, and ms for s, s for ms, kHz for Hz: "10ms", "16kHz".
// Booleans: true, false, yes, no, on, off, 1, 0. Error: invalid_argument with parameter, value and what is
// allowed.
Result<Value> parse_value(const Parameter& parameter, std::string_view text) noexcept;
// Type, range and choices.
Status check_value(const Parameter& parameter, const Value& value) noexcept;
// "from 0 to 1", "one of a, b, c", "true or false".
Text describe_allowed(const Parameter& parameter) noexcept;
// As written in a graph.
Text describe_value(const Value& value) noexcept;

namespace detail {

template <class>
struct MemberOf;
template <class N, class T>
struct MemberOf<T N::*> {
  using Class = N;
  using Type = T;
};

template <class T>
constexpr ParameterType type_of() noexcept {
  if constexpr (std::is_same_v<T, bool>)
    return ParameterType::boolean;
  else if constexpr (std::is_integral_v<T>)
    return ParameterType::integer;
  else if constexpr (std::is_floating_point_v<T>)
    return ParameterType::real;
  else
    return ParameterType::text;
}

}  // namespace detail

// The entry for a data member of a node: bool, an integer, float, double or std::string_view.
template <auto Member>
constexpr Parameter parameter(std::string_view name, std::string_view unit, double low, double high,
                              std::string_view help) noexcept {
  using N = typename detail::MemberOf<decltype(Member)>::Class;
  using T = typename detail::MemberOf<decltype(Member)>::Type;
  Parameter entry{name, detail::type_of<T>(), unit, low, high, {}, help};
  entry.set = [](const Parameter&, Node& node, const Value& value) noexcept {
    T& member = static_cast<N&>(node).*Member;
    if constexpr (std::is_same_v<T, bool>)
      member = value.boolean;
    else if constexpr (std::is_integral_v<T>)
      member = static_cast<T>(value.integer);
    else if constexpr (std::is_floating_point_v<T>)
      member = static_cast<T>(value.real);
    else
      member = value.text;
    return Status();
  };
  entry.get = [](const Parameter&, const Node& node) noexcept {
    const T& member = static_cast<const N&>(node).*Member;
    Value value;
    value.type = detail::type_of<T>();
    if constexpr (std::is_same_v<T, bool>)
      value.boolean = member;
    else if constexpr (std::is_integral_v<T>)
      value.integer = member;
    else if constexpr (std::is_floating_point_v<T>)
      value.real = member;
    else
      value.text = member;
    return value;
  };
  return entry;
}

// Booleans.
template <auto Member>
constexpr Parameter switch_parameter(std::string_view name, std::string_view help) noexcept {
  return parameter<Member>(name, {}, 0, 1, help);
}

// Texts; `choices` "a|b|c" or empty for any.
template <auto Member>
constexpr Parameter text_parameter(std::string_view name, std::string_view choices, std::string_view help,
                                   bool required = false) noexcept {
  Parameter entry = parameter<Member>(name, {}, 0, 0, help);
  entry.choices = choices;
  entry.required = required;
  return entry;
}

// Required: has no default.
constexpr Parameter required(Parameter entry) noexcept {
  entry.required = true;
  return entry;
}

}  // namespace runnel::pipeline
