// The options of the front end by name, for command lines, graph text and help pages; and presets.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "features/fbank_options.h"

namespace runnel::features {

// One option: its name, what it means, and how it is read and written as text.
struct Parameter {
  enum class Type : std::uint8_t { real, integer, boolean, choice };
  std::string_view name;
  Type type;
  std::string_view unit;        // "Hz", "ms" or empty
  double least = 0, most = 0;   // of numbers
  std::string_view choices;     // of Type::choice: names separated by '|', in the order of the enumeration
  std::string_view help;
  double (*get)(const FbankOptions&) noexcept;         // booleans are 0 and 1, choices count from 0
  void (*put)(FbankOptions&, double) noexcept;
};
std::span<const Parameter> parameters() noexcept;

// Is the value in `options` allowed? invalid_argument with name, value and range otherwise.
Status check(const Parameter& parameter, const FbankOptions& options) noexcept;

// Sets one option from text; booleans are true, false, 1, 0, yes, no, on, off. Errors: not_found for an unknown name, with the nearest
// known one; invalid_argument with name, value and what is allowed. `options` is unchanged then.
Status set(FbankOptions& options, std::string_view name, std::string_view value) noexcept;

// Appends the value of `parameter` as text that set() reads back to the same value.
void append_value(Text& text, const Parameter& parameter, const FbankOptions& options) noexcept;
// Appends what is allowed: "1 to 4096", "10 to 768000 Hz", "true or false", "povey, hamming, ...".
void append_range(Text& text, const Parameter& parameter) noexcept;

// A complete set of options. Its values do not depend on defaults that could change.
struct Preset {
  std::string_view name, help;
  FbankOptions options;
};
std::span<const Preset> presets() noexcept;
// Errors: not_found with the nearest known name, or all of them.
Result<FbankOptions> preset(std::string_view name) noexcept;

}  // namespace runnel::features
