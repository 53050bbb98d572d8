#include "services/front_ends/recipe.h"

#include <algorithm>

#include "features/fbank/fbank_parameters.h"
#include "features/microfrontend/microfrontend_options.h"
#include "pipeline/host/text.h"

namespace runnel::front_ends {
namespace {

using pipeline::quote_value;

// Presets of the fixed-point front end belong to the node microfrontend.
bool is_fixed_point(const std::string& name) {
  const auto presets = features::microfrontend_presets();
  return std::any_of(presets.begin(), presets.end(),
                     [&](const features::MicrofrontendPreset& preset) { return preset.name == name; });
}

}  // namespace

Result<std::string> recipe_text(const std::string& preset, const std::string& kind,
                                const std::string& settings) {
  if (is_of_windows(kind)) return kind + settings;
  const bool fixed_point = is_fixed_point(preset);
  if (fixed_point && !kind.empty() && kind != "fbank")
    return Status(Code::invalid_argument)
           << "--kind " << kind << " of preset " << preset << ", expected fbank";
  std::string nodes =
      (fixed_point ? "microfrontend" : "fbank") + std::string(" preset=") + quote_value(preset);
  if (!fixed_point && !kind.empty()) nodes += " kind=" + kind;
  nodes += settings;
  // The whole recipe if the preset consists of more than one node.
  if (const features::Preset* recipe =
          fixed_point ? nullptr : features::preset_named(features::presets(), preset);
      recipe != nullptr) {
    if (!recipe->before.empty()) nodes = std::string(recipe->before) + " ! " + nodes;
    if (!recipe->after.empty()) nodes += " ! " + std::string(recipe->after);
  }
  return nodes;
}

}  // namespace runnel::front_ends
