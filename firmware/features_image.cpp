// The float front end: float samples in, float frames out.
#include "features/fbank.h"
#include "features/fbank_parameters.h"
#include "firmware/feature_runner.h"
#include "firmware/startup/image.h"

namespace {

using namespace runnel;
using namespace runnel::firmware;

alignas(64) std::byte storage[160 * 1024];

}  // namespace

int runnel::firmware::image_main() noexcept {
  static Arguments arguments;
  arguments.count = command_line(arguments.text, arguments.words);
  if (arguments.count < 3) return fail("expected INPUT OUTPUT [preset=NAME] [OPTION=VALUE]...");
  features::FbankOptions options;
  if (const Status status = read_options(arguments, options, [](std::string_view name) { return features::preset(name); }); !status.ok()) return fail(status.text());
  FixedMemory memory(storage);
  start_clock();
  Result<features::Fbank> made = features::Fbank::make(options, best_isa(), memory);
  const std::uint64_t prepared = instructions();
  if (!made.ok()) return fail(made.status().text());
  return run_front_end<float, float>(arguments, *made, prepared, memory.used(), [&](std::span<float> frames) { return made->flush(frames); });
}
