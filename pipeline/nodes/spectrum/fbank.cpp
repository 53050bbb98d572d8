#include "pipeline/nodes/spectrum/fbank.h"

#include "features/fbank/fbank_parameter_table.h"
#include "features/microfrontend/microfrontend_options.h"
#include "pipeline/nodes/spectrum/option_table.h"

namespace runnel::pipeline {
namespace {

struct Traits {
  static constexpr auto& kOptions = features::fbank_table::kParameters;
  static Result<features::FbankOptions> preset(std::string_view name) noexcept {
    for (const features::MicrofrontendPreset& other : features::microfrontend_presets()) {
      if (other.name == name)
        return Status(Code::invalid_argument)
               << "preset=" << name
               << " is one of the node microfrontend: write `microfrontend preset=" << name << '`';
    }
    return features::preset(name);
  }
};
constexpr auto kTable = OptionTable<Fbank, Traits>::make();

}  // namespace

const NodeType Fbank::type = {
    .name = "fbank",
    .help =
        "Mel filter banks, cepstral coefficients (kind=mfcc) or spectrograms, as in training pipelines "
        "(preset).",
    .input = {static_cast<Kinds>(Kind::audio), "float32, 1 channel, at sample_frequency"},
    .output = {static_cast<Kinds>(Kind::frames), "float32"},
    .parameters = kTable,
    .make = make_node<Fbank>,
};

Fbank::Fbank() noexcept {
  if (Result<features::FbankOptions> found = features::preset(preset); found.ok()) options = *found;
}

Status Fbank::prepare(NodeContext& context) noexcept {
  Text who;
  who << context.label << " preset=" << preset;
  return blocks_.prepare(options, who.view(), context);
}

}  // namespace runnel::pipeline
