// The parameters of a node whose settings are a struct of options with presets (features/parameters.h), as a
// table that is computed at compile time. The node has the members `preset` and `options`.
#pragma once

#include <array>

#include "features/parameters.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

constexpr ParameterType type_of(features::ParameterFacts::Type type) noexcept {
  switch (type) {
    case features::ParameterFacts::Type::real:
      return ParameterType::real;
    case features::ParameterFacts::Type::integer:
      return ParameterType::integer;
    case features::ParameterFacts::Type::boolean:
      return ParameterType::boolean;
    case features::ParameterFacts::Type::choice:
      break;
  }
  return ParameterType::text;
}

// N: the node. Traits: kOptions, the table of options (constexpr); preset(name), a Result<Options>.
template <class N, class Traits>
struct OptionTable {
  // The preset comes first, so that later options override it; `more`, the parameters of the node itself,
  // come last.
  template <std::size_t kMore>
  static constexpr auto with(const std::array<Parameter, kMore>& more) noexcept {
    std::array<Parameter, 1 + std::size(Traits::kOptions) + kMore> entries{};
    std::size_t count = 0;
    entries[count].name = "preset";
    entries[count].help = "complete recipe that the other parameters change";
    entries[count].set = set_preset;
    entries[count].get = get_preset;
    ++count;
    for (const auto& option : Traits::kOptions) {
      entries[count] = {option.name, type_of(option.type), option.unit, option.least,
                        option.most, option.choices,       option.help};
      entries[count].set = set;
      entries[count].get = get;
      ++count;
    }
    for (const Parameter& parameter : more) entries[count++] = parameter;
    return entries;
  }
  static constexpr auto make() noexcept { return with(std::array<Parameter, 0>{}); }

 private:
  using Option = std::remove_cvref_t<decltype(Traits::kOptions[0])>;

  static Status set_preset(const Parameter&, Node& node, const Value& value) noexcept {
    N& own = static_cast<N&>(node);
    RUNNEL_ASSIGN(own.options, Traits::preset(value.text));
    own.preset = value.text;
    return {};
  }
  static Value get_preset(const Parameter&, const Node& node) noexcept {
    Value value;
    value.text = static_cast<const N&>(node).preset;
    return value;
  }
  // Every entry of this table but the first one is an option of that name. Types, ranges and choices have
  // been checked (check_value).
  static const Option& option_of(const Parameter& self) noexcept {
    return *features::parameter_named(std::span<const Option>(Traits::kOptions), self.name);
  }
  static Status set(const Parameter& self, Node& node, const Value& value) noexcept {
    const Option& option = option_of(self);
    double number = value.real;
    if (self.type == ParameterType::integer) number = static_cast<double>(value.integer);
    if (self.type == ParameterType::boolean) number = value.boolean ? 1 : 0;
    if (self.type == ParameterType::text) number = features::choice_index(option.choices, value.text);
    if (!features::in_range(option, number))
      return features::refuse_value(option, describe_value(value).view());
    option.put(static_cast<N&>(node).options, number);
    return {};
  }
  static Value get(const Parameter& self, const Node& node) noexcept {
    Value value;
    value.type = self.type;
    const Option& option = option_of(self);
    const double number = option.get(static_cast<const N&>(node).options);
    value.integer = static_cast<std::int64_t>(number);
    value.boolean = number != 0;
    value.real = number;
    if (self.type == ParameterType::text)
      value.text = features::choice_at(option.choices, static_cast<std::size_t>(number));
    return value;
  }
};

}  // namespace runnel::pipeline
