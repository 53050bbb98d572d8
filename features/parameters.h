// Options by name, for command lines, graph text and help pages: the option tables of all front ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "base/suggest.h"

namespace runnel::features {

// One option: name, meaning and allowed values.
struct ParameterFacts {
  enum class Type : std::uint8_t { real, integer, boolean, choice };
  std::string_view name;
  Type type;
  std::string_view unit;       // "Hz", "ms" or empty
  double least = 0, most = 0;  // limits of numbers
  std::string_view choices;    // of Type::choice: names separated by '|', in the order of the enumeration
  std::string_view help;
};

// An option of the struct `Options`, with its getter and setter.
template <class Options>
struct ParameterOf : ParameterFacts {
  double (*get)(const Options&) noexcept;  // booleans are 0 and 1, choices count from 0
  void (*put)(Options&, double) noexcept;
};

// The i-th of names separated by '|', empty beyond the last.
std::string_view choice_at(std::string_view choices, std::size_t index) noexcept;
// The number of `name` among them; -1 when it is none of them.
int choice_index(std::string_view choices, std::string_view name) noexcept;
bool in_range(const ParameterFacts& parameter, double value) noexcept;
// False when the text is not a value of this type; does not check the range.
bool parse(const ParameterFacts& parameter, std::string_view text, double& value) noexcept;
// Appends `value` as text that parse() reads back to the same value.
void append_value(Text& text, const ParameterFacts& parameter, double value) noexcept;
// Appends what is allowed: "1 to 4096", "10 to 768000 Hz", "true or false", "povey, hamming, ...".
void append_range(Text& text, const ParameterFacts& parameter) noexcept;
// invalid_argument with name, value and range.
Status refuse_value(const ParameterFacts& parameter, std::string_view value) noexcept;

// Checks the value in `options`. Error: invalid_argument with name, value and range.
template <class Options>
Status check(const ParameterOf<Options>& parameter, const Options& options) noexcept {
  const double now = parameter.get(options);
  if (in_range(parameter, now)) return Status();
  Text value;
  if (parameter.type == ParameterFacts::Type::choice)
    value << static_cast<std::int64_t>(now);
  else
    append_value(value, parameter, now);
  return refuse_value(parameter, value.view());
}

// The option of that name, nullptr: none.
template <class Options>
constexpr const ParameterOf<Options>* parameter_named(std::span<const ParameterOf<Options>> table,
                                                      std::string_view name) noexcept {
  for (const ParameterOf<Options>& parameter : table) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

// Sets one option from text; booleans are true, false, 1, 0, yes, no, on, off. Errors leave `options`
// unchanged: not_found for an unknown name, with the nearest known one; invalid_argument with name, value and
// what is allowed.
template <class Options>
Status set_by_name(std::span<const ParameterOf<Options>> table, Options& options, std::string_view name,
                   std::string_view value) noexcept {
  if (const ParameterOf<Options>* const parameter = parameter_named(table, name); parameter != nullptr) {
    double parsed = 0;
    if (!parse(*parameter, value, parsed) || !in_range(*parameter, parsed))
      return refuse_value(*parameter, value);
    parameter->put(options, parsed);
    return Status();
  }
  Suggestion suggestion(name);
  for (const ParameterOf<Options>& parameter : table) suggestion.consider(parameter.name);
  Status status = Status(Code::not_found) << "unknown parameter '" << name << "'";
  if (!suggestion.best().empty()) return status << "; did you mean " << suggestion.best() << "?";
  status << "; known are ";
  for (const ParameterOf<Options>& parameter : table)
    status << (&parameter == table.data() ? "" : ", ") << parameter.name;
  return status;
}

// A complete set of options, independent of defaults that could change.
template <class Options>
struct PresetOf {
  std::string_view name, help;
  Options options;
  // The recipe's processing of samples before, and of frames after the front end: nodes of a graph, as
  // text; empty: none.
  std::string_view before = {}, after = {};
};

// The preset of that name, nullptr: none.
template <class Options>
const PresetOf<Options>* preset_named(std::span<const PresetOf<Options>> presets,
                                      std::string_view name) noexcept {
  for (const PresetOf<Options>& one : presets) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

// Errors: not_found with the nearest known name, or all of them.
template <class Options>
Result<Options> find_preset(std::span<const PresetOf<Options>> presets, std::string_view name) noexcept {
  if (const PresetOf<Options>* const one = preset_named(presets, name); one != nullptr) return one->options;
  Suggestion suggestion(name);
  for (const PresetOf<Options>& one : presets) suggestion.consider(one.name);
  Status status = Status(Code::not_found) << "unknown preset '" << name << "'";
  if (!suggestion.best().empty()) return std::move(status) << "; did you mean " << suggestion.best() << "?";
  status << "; known are ";
  for (const PresetOf<Options>& one : presets) status << (&one == presets.data() ? "" : ", ") << one.name;
  return status;
}

// Builders of table entries for the members of a struct of options.
template <class>
struct OptionMember;
template <class O, class T>
struct OptionMember<T O::*> {
  using Options = O;
  using Type = T;
};
template <auto Member>
using OptionsOf = typename OptionMember<decltype(Member)>::Options;

template <auto Member>
constexpr ParameterOf<OptionsOf<Member>> option_entry(ParameterFacts facts) {
  using O = OptionsOf<Member>;
  using T = typename OptionMember<decltype(Member)>::Type;
  return {facts, [](const O& options) noexcept { return static_cast<double>(options.*Member); },
          [](O& options, double value) noexcept {
            if constexpr (std::is_same_v<T, bool>)
              options.*Member = value != 0;
            else if constexpr (std::is_enum_v<T>)
              options.*Member = static_cast<T>(static_cast<int>(value));
            else
              options.*Member = static_cast<T>(value);
          }};
}
template <auto Member>
constexpr auto real(std::string_view name, std::string_view unit, double least, double most,
                    std::string_view help) {
  return option_entry<Member>({name, ParameterFacts::Type::real, unit, least, most, {}, help});
}
template <auto Member>
constexpr auto integer(std::string_view name, double least, double most, std::string_view help) {
  return option_entry<Member>({name, ParameterFacts::Type::integer, {}, least, most, {}, help});
}
template <auto Member>
constexpr auto boolean(std::string_view name, std::string_view help) {
  return option_entry<Member>({name, ParameterFacts::Type::boolean, {}, 0, 1, {}, help});
}
template <auto Member>
constexpr auto choice(std::string_view name, std::string_view choices, std::string_view help) {
  return option_entry<Member>({name, ParameterFacts::Type::choice, {}, 0, 0, choices, help});
}

}  // namespace runnel::features
