// The float front end: float samples in, float frames out.
#include "features/fbank/fbank.h"
#include "features/fbank/fbank_presets.h"
#include "firmware/feature_runner.h"
#include "firmware/startup/image.h"

namespace {

using namespace runnel;
using namespace runnel::features;

alignas(64) std::byte storage[160 * 1024];

struct Kaldi40 {
  static constexpr FbankOptions kOptions =
      changed(constant_preset("kaldi"), [](FbankOptions& o) { o.num_mel_bins = 40; });
};

}  // namespace

int runnel::firmware::image_main() noexcept {
  return feature_image<float, float, FbankOptions>(
      storage, [](std::string_view name) { return preset(name); },
      [](const FbankOptions& options, Memory& memory) { return Fbank::make(options, best_isa(), memory); },
      [](Memory& memory) { return Fbank::make_of<Kaldi40>(best_isa(), memory); },
      [](Fbank& front_end, std::span<float> frames) { return front_end.flush(frames); });
}
