// The fixed-point front end: 16-bit samples in, 16-bit frames out.
#include "features/microfrontend/microfrontend.h"
#include "features/microfrontend/microfrontend_presets.h"
#include "firmware/feature_runner.h"
#include "firmware/startup/image.h"

namespace {

using namespace runnel;
using namespace runnel::features;

alignas(64) std::byte storage[64 * 1024];

}  // namespace

int runnel::firmware::image_main() noexcept {
  return feature_image<std::int16_t, std::uint16_t, MicrofrontendOptions>(
      storage, [](std::string_view name) { return microfrontend_preset(name); },
      [](const MicrofrontendOptions& options, Memory& memory) {
        return Microfrontend::make(options, best_isa(), memory);
      },
      [](Memory& memory) { return Microfrontend::make_of<MicroWakeWordRecipe>(best_isa(), memory); },
      [](Microfrontend&, std::span<std::uint16_t>) { return std::size_t{0}; });
}
