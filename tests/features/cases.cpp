#include "tests/features/cases.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "features/fbank/fbank_parameters.h"

namespace runnel::test {
namespace {

// Maps the cases' option names to ours.
std::string_view option_name(std::string_view name) {
  if (name == "num_bins") return "num_mel_bins";
  if (name == "preemph_coeff") return "preemphasis_coefficient";
  if (name == "frame_length_ms") return "frame_length";
  if (name == "frame_shift_ms") return "frame_shift";
  return name;
}

}  // namespace

features::FbankOptions fbank_options_of(const nlohmann::json& one) {
  features::FbankOptions options;
  if (one["kind"] == "mfcc") {
    options.kind = features::FeatureKind::mfcc;
    options.use_energy = true;
  }
  options.sample_frequency = one["sr"].get<float>();
  options.scale =
      one["scale"].get<double>() == 1.0 ? features::SampleScale::int16 : features::SampleScale::unit;
  const nlohmann::json& named = one["cfg"];
  for (auto at = named.begin(); at != named.end(); ++at) {
    const std::string text = at->is_string() ? at->get<std::string>() : at->dump();
    const Status status = set(options, option_name(at.key()), text);
    EXPECT_TRUE(status.ok()) << status.text();
  }
  return options;
}

MicrofrontendCase microfrontend_case_of(const nlohmann::json& one) {
  const std::string config = one["config"];
  if (config == "microwakeword") return {"micro-wake-word", true};
  if (config == "tflm_micro_speech") return {"micro-speech", true};
  return {config == "mf_default32" ? "microfrontend" : "micro-wake-word", false};
}

features::MicrofrontendOptions MicrofrontendCase::options() const {
  features::MicrofrontendOptions options = *features::microfrontend_preset(preset);
  options.enable_pcan = pcan;
  return options;
}

}  // namespace runnel::test
