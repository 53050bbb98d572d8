// The fixed-point front end: 16-bit samples in, 16-bit frames out.
#include <string_view>

#include "features/microfrontend.h"
#include "features/microfrontend_presets.h"
#include "firmware/feature_runner.h"
#include "firmware/startup/image.h"

namespace {

using namespace runnel;
using namespace runnel::firmware;

alignas(64) std::byte storage[64 * 1024];

}  // namespace

int runnel::firmware::image_main() noexcept {
  static Arguments arguments;
  arguments.count = command_line(arguments.text, arguments.words);
  if (arguments.count < 3) return fail("expected INPUT OUTPUT [preset=NAME] [OPTION=VALUE]...");
  features::MicrofrontendOptions options;
  if (const Status status = read_options(arguments, options, [](std::string_view name) { return features::microfrontend_preset(name); }); !status.ok()) return fail(status.text());
  FixedMemory memory(storage);
  start_clock();
  // microWakeWord as it is has its tables in flash memory, made by the compiler; with other options they are made here.
  const bool constant = arguments.count == 4 && std::string_view(arguments.words[3]) == "preset=micro-wake-word";
  Result<features::Microfrontend> made = constant ? features::Microfrontend::make_of<features::MicroWakeWordRecipe>(best_isa(), memory)
                                                  : features::Microfrontend::make(options, best_isa(), memory);
  const std::uint64_t prepared = instructions();
  if (!made.ok()) return fail(made.status().text());
  return run_front_end<std::int16_t, std::uint16_t>(arguments, *made, prepared, memory.used(), [](std::span<std::uint16_t>) { return std::size_t{0}; });
}
