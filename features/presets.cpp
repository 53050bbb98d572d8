#include "features/fbank/fbank_presets.h"

namespace runnel::features {

std::span<const Preset> presets() noexcept { return fbank_table::kPresets; }

Result<FbankOptions> preset(std::string_view name) noexcept { return find_preset(presets(), name); }

}  // namespace runnel::features
