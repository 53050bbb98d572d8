#include "pipeline/nodes/spectrum/microfrontend.h"

#include "features/microfrontend/microfrontend_parameter_table.h"
#include "pipeline/nodes/spectrum/option_table.h"

namespace runnel::pipeline {
namespace {

struct Traits {
  static constexpr auto& kOptions = features::microfrontend_table::kParameters;
  static Result<features::MicrofrontendOptions> preset(std::string_view name) noexcept {
    return features::microfrontend_preset(name);
  }
};

constexpr auto kTable = OptionTable<Microfrontend, Traits>::with(std::array{
    text_parameter<&Microfrontend::dtype>("dtype", "uint16|int8|float32",
                                          "of the frames: the library's values; (value * 256 + 333) / 666 - "
                                          "128, as models with int8 input take them; value * 10/256"),
    text_parameter<&Microfrontend::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
});

}  // namespace

const NodeType Microfrontend::type = {
    .name = "microfrontend",
    .help = "The fixed-point front end of TensorFlow Lite Micro and microWakeWord, bit for bit.",
    .input = {static_cast<Kinds>(Kind::audio), "float32, 1 channel, at sample_frequency"},
    .output = {static_cast<Kinds>(Kind::frames), "uint16, int8 or float32"},
    .parameters = kTable,
    .make = make_node<Microfrontend>,
};

Microfrontend::Microfrontend() noexcept {
  if (Result<features::MicrofrontendOptions> found = features::microfrontend_preset(preset); found.ok())
    options = *found;
}

Status Microfrontend::prepare(NodeContext& context) noexcept {
  Text who;
  who << context.label << " preset=" << preset;
  const DType gives = dtype == "int8" ? DType::int8 : dtype == "float32" ? DType::float32 : DType::uint16;
  return blocks_.prepare(options, {who.view(), gives, non_finite}, context);
}

}  // namespace runnel::pipeline
