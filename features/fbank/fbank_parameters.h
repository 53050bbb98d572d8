// The options of the front end by name, for command lines, graph text and help pages; and presets.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "features/fbank/fbank_options.h"
#include "features/parameters.h"

namespace runnel::features {

using Parameter = ParameterOf<FbankOptions>;
std::span<const Parameter> parameters() noexcept;

// Sets one option from text (set_by_name).
Status set(FbankOptions& options, std::string_view name, std::string_view value) noexcept;
// Appends the value of `parameter` as text that set() reads back to the same value.
void append_value(Text& text, const Parameter& parameter, const FbankOptions& options) noexcept;

using Preset = PresetOf<FbankOptions>;
std::span<const Preset> presets() noexcept;
// Errors: not_found with the nearest known name, or all of them.
Result<FbankOptions> preset(std::string_view name) noexcept;

}  // namespace runnel::features
