#include "pipeline/parameter.h"

#include <cmath>

#include "base/from_chars.h"
#include "base/number_text.h"

namespace runnel::pipeline {
namespace {

// The factor of a unit written after the number of a parameter whose own unit is `expected`; 0: not allowed.
double factor_of(std::string_view unit, std::string_view expected) noexcept {
  if (unit.empty() || unit == expected) return 1;
  if (expected == "s" && unit == "ms") return 1e-3;
  if (expected == "ms" && unit == "s") return 1e3;
  if (expected == "Hz" && unit == "kHz") return 1e3;
  return 0;
}

Status wrong(const Parameter& parameter, std::string_view text) noexcept {
  return Status(Code::invalid_argument)
         << parameter.name << '=' << text << ": expected " << describe_allowed(parameter).view();
}

bool is_choice(std::string_view choices, std::string_view text) noexcept {
  while (!choices.empty()) {
    const std::size_t bar = choices.find('|');
    if (choices.substr(0, bar) == text) return true;
    if (bar == std::string_view::npos) break;
    choices.remove_prefix(bar + 1);
  }
  return false;
}

}  // namespace

std::string_view name_of(ParameterType type) noexcept {
  switch (type) {
    case ParameterType::integer:
      return "integer";
    case ParameterType::real:
      return "number";
    case ParameterType::boolean:
      return "boolean";
    case ParameterType::text:
      return "text";
  }
  return "";
}

Text describe_allowed(const Parameter& parameter) noexcept {
  Text text;
  switch (parameter.type) {
    case ParameterType::boolean:
      text << "true or false";
      break;
    case ParameterType::text:
      if (parameter.choices.empty()) {
        text << "a text";
        break;
      }
      text << "one of ";
      for (const char letter : parameter.choices) {
        if (letter == '|')
          text << ", ";
        else
          text << letter;
      }
      break;
    case ParameterType::integer:
    case ParameterType::real:
      text << (parameter.type == ParameterType::integer ? "a whole number from " : "a number from ")
           << shortest_text(parameter.low).view() << " to " << shortest_text(parameter.high).view();
      if (!parameter.unit.empty()) text << ' ' << parameter.unit;
      break;
  }
  return text;
}

Text describe_value(const Value& value) noexcept {
  Text text;
  switch (value.type) {
    case ParameterType::boolean:
      text << (value.boolean ? "true" : "false");
      break;
    case ParameterType::integer:
      text << value.integer;
      break;
    case ParameterType::real:
      text << shortest_text(value.real).view();
      break;
    case ParameterType::text:
      text << value.text;
      break;
  }
  return text;
}

Status check_value(const Parameter& parameter, const Value& value) noexcept {
  bool good = value.type == parameter.type;
  if (good && value.type == ParameterType::integer) {
    good = static_cast<double>(value.integer) >= parameter.low &&
           static_cast<double>(value.integer) <= parameter.high;
  } else if (good && value.type == ParameterType::real) {
    good = value.real >= parameter.low && value.real <= parameter.high;
  } else if (good && value.type == ParameterType::text) {
    good = parameter.choices.empty() || is_choice(parameter.choices, value.text);
  }
  return good ? Status() : wrong(parameter, describe_value(value).view());
}

Result<Value> parse_value(const Parameter& parameter, std::string_view text) noexcept {
  Value value;
  value.type = parameter.type;
  const char* const end = text.data() + text.size();
  switch (parameter.type) {
    case ParameterType::text:
      value.text = text;
      break;
    case ParameterType::boolean:
      value.boolean = is_choice("true|yes|on|1", text);
      if (!value.boolean && !is_choice("false|no|off|0", text)) return wrong(parameter, text);
      break;
    case ParameterType::integer:
    case ParameterType::real: {
      const auto [rest, error] = from_chars(text.data(), end, value.real);
      if (error != std::errc() || !std::isfinite(value.real)) return wrong(parameter, text);
      const double factor =
          factor_of(std::string_view(rest, static_cast<std::size_t>(end - rest)), parameter.unit);
      if (factor == 0) return wrong(parameter, text);
      // Dividing keeps "10ms" the same double as "0.01".
      value.real = factor < 1 ? value.real / std::round(1 / factor) : value.real * factor;
      if (parameter.type == ParameterType::integer) {
        if (value.real != std::floor(value.real) || std::fabs(value.real) > 9.0e15)
          return wrong(parameter, text);
        value.integer = static_cast<std::int64_t>(value.real);
      }
      break;
    }
  }
  if (const Status status = check_value(parameter, value); !status.ok()) return wrong(parameter, text);
  return value;
}

}  // namespace runnel::pipeline
