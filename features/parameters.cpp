#include "features/parameters.h"

#include <charconv>

#include "base/from_chars.h"
#include "base/number_text.h"

namespace runnel::features {

using Type = ParameterFacts::Type;

std::string_view choice_at(std::string_view choices, std::size_t index) noexcept {
  for (;; --index) {
    const std::size_t bar = choices.find('|');
    if (index == 0) return choices.substr(0, bar);
    if (bar == std::string_view::npos) return {};
    choices.remove_prefix(bar + 1);
  }
}

int choice_index(std::string_view choices, std::string_view name) noexcept {
  for (int i = 0;; ++i) {
    const std::string_view one = choice_at(choices, static_cast<std::size_t>(i));
    if (one.empty()) return -1;
    if (one == name) return i;
  }
}

bool in_range(const ParameterFacts& parameter, double value) noexcept {
  if (parameter.type == Type::choice)
    return value >= 0 && !choice_at(parameter.choices, static_cast<std::size_t>(value)).empty();
  // A limit such as 0.01 has no exact single-precision value: compare in the option's precision.
  return static_cast<float>(value) >= static_cast<float>(parameter.least) &&
         (parameter.type == Type::integer ? value <= parameter.most
                                          : static_cast<float>(value) <= static_cast<float>(parameter.most));
}

bool parse(const ParameterFacts& parameter, std::string_view text, double& value) noexcept {
  if (parameter.type == Type::choice) {
    value = choice_index(parameter.choices, text);
    return value >= 0;
  }
  if (parameter.type == Type::boolean) {
    const bool yes = text == "true" || text == "1" || text == "yes" || text == "on";
    const bool no = text == "false" || text == "0" || text == "no" || text == "off";
    value = yes ? 1 : 0;
    return yes || no;
  }
  const char *first = text.data(), *last = text.data() + text.size();
  if (parameter.type == Type::integer) {
    std::int64_t whole = 0;
    const auto [end, error] = std::from_chars(first, last, whole);
    value = static_cast<double>(whole);
    return error == std::errc() && end == last;
  }
  float number = 0;
  const auto [end, error] = from_chars(first, last, number);
  value = static_cast<double>(number);
  return error == std::errc() && end == last && number - number == 0;
}

Status refuse_value(const ParameterFacts& parameter, std::string_view value) noexcept {
  Text range;
  append_range(range, parameter);
  return Status(Code::invalid_argument) << parameter.name << "=" << value << ": expected " << range.view();
}

void append_value(Text& text, const ParameterFacts& parameter, double value) noexcept {
  switch (parameter.type) {
    case Type::boolean:
      text << (value != 0 ? "true" : "false");
      return;
    case Type::choice:
      text << choice_at(parameter.choices, static_cast<std::size_t>(value));
      return;
    case Type::integer:
      text << static_cast<std::int64_t>(value);
      return;
    case Type::real:
      text << shortest_text(static_cast<float>(value)).view();
      return;
  }
}

void append_range(Text& text, const ParameterFacts& parameter) noexcept {
  switch (parameter.type) {
    case Type::boolean:
      text << "true or false";
      return;
    case Type::choice:
      for (std::size_t i = 0;; ++i) {
        const std::string_view name = choice_at(parameter.choices, i);
        if (name.empty()) return;
        text << (i > 0 ? ", " : "") << name;
      }
    case Type::integer:
    case Type::real:
      text << shortest_text(parameter.least).view();
      text << " to ";
      text << shortest_text(parameter.most).view();
      if (!parameter.unit.empty()) text << ' ' << parameter.unit;
      return;
  }
}

}  // namespace runnel::features
