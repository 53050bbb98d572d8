// The parameters of a node whose settings are a struct of options with presets (features/parameters.h). The node has
// the members `preset` and `options`.
#pragma once

#include <array>

#include "features/parameters.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

constexpr ParameterType type_of(features::ParameterFacts::Type type) noexcept {
  switch (type) {
    case features::ParameterFacts::Type::real: return ParameterType::real;
    case features::ParameterFacts::Type::integer: return ParameterType::integer;
    case features::ParameterFacts::Type::boolean: return ParameterType::boolean;
    case features::ParameterFacts::Type::choice: break;
  }
  return ParameterType::text;
}

// N: the node. Traits: Options; parameters(), the table; preset(name), a Result<Options>.
template <class N, class Traits>
class OptionTable {
 public:
  // `more`: parameters of the node itself. The preset comes first, so that the options behind it change it.
  explicit OptionTable(std::span<const Parameter> more = {}) noexcept {
    Parameter preset;
    preset.name = "preset";
    preset.help = "complete recipe that the other parameters change";
    preset.set = [](const Parameter&, Node& node, const Value& value) noexcept { return set_preset(static_cast<N&>(node), value.text); };
    preset.get = [](const Parameter&, const Node& node) noexcept {
      Value value;
      value.text = static_cast<const N&>(node).preset;
      return value;
    };
    add(preset);
    for (const auto& option : Traits::parameters()) {
      Parameter entry{option.name, type_of(option.type), option.unit, option.least, option.most, option.choices, option.help};
      entry.set = [](const Parameter& self, Node& node, const Value& value) noexcept {
        return features::set_by_name(Traits::parameters(), static_cast<N&>(node).options, self.name, describe_value(value).view());
      };
      entry.get = get;
      add(entry);
    }
    for (const Parameter& parameter : more) add(parameter);
  }
  [[nodiscard]] std::span<const Parameter> entries() const noexcept { return {entries_.data(), count_}; }

 private:
  static constexpr std::size_t kMost = 64;

  void add(const Parameter& parameter) noexcept {
    if (count_ < kMost) entries_[count_++] = parameter;
  }
  static Status set_preset(N& node, std::string_view name) noexcept {
    RUNNEL_ASSIGN(node.options, Traits::preset(name));
    node.preset = name;
    return {};
  }
  static Value get(const Parameter& self, const Node& node) noexcept {
    Value value;
    value.type = self.type;
    for (const auto& option : Traits::parameters()) {
      if (option.name != self.name) continue;
      const double number = option.get(static_cast<const N&>(node).options);
      value.integer = static_cast<std::int64_t>(number);
      value.boolean = number != 0;
      value.real = number;
      if (self.type == ParameterType::text) value.text = features::choice_at(option.choices, static_cast<std::size_t>(number));
    }
    return value;
  }

  std::array<Parameter, kMost> entries_;
  std::size_t count_ = 0;
};

}  // namespace runnel::pipeline
